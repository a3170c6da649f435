"""Compatibility with agents of the first message version, which cannot read messages with unknown enumeration values.

Such agents do not send ``takes_parts``. They may have BIG-IPs, for which the API now accepts some of these values.
"""

from collections.abc import Iterator

from evenkeel.core.devices.service import ServiceDefinition, rejected_definition

NEW_WORDS: dict[str, frozenset[str]] = {
    "ServiceListener.protocol": frozenset({"TERMINATED_HTTPS", "UDP", "SCTP", "PROMETHEUS"}),
    "ServicePool.protocol": frozenset({"PROXY", "PROXYV2", "UDP", "SCTP"}),
    "ServicePool.lb_algorithm": frozenset({"SOURCE_IP_PORT"}),
    "ServiceMonitor.type": frozenset({"HTTPS", "TLS-HELLO", "UDP-CONNECT", "SCTP"}),
    "SessionPersistence.type": frozenset({"APP_COOKIE"}),
}
"""Values in service definitions that were added later, by field."""


def readable_by_former(service: ServiceDefinition) -> ServiceDefinition:
    """Return the definition; if it has a value unknown to such agents, a rejected definition that names the value."""
    found = next((word for field, word in _words(service) if word in NEW_WORDS[field]), "")
    if not found:
        return service
    return rejected_definition(service, f"its agent is of a version that does not know {found}; upgrade the agent")


def _words(service: ServiceDefinition) -> Iterator[tuple[str, str]]:
    for listener in service.listeners:
        yield "ServiceListener.protocol", listener.protocol
    for pool in service.pools:
        yield "ServicePool.protocol", pool.protocol
        yield "ServicePool.lb_algorithm", pool.lb_algorithm
        if pool.monitor is not None:
            yield "ServiceMonitor.type", pool.monitor.type
        if pool.session_persistence is not None:
            yield "SessionPersistence.type", pool.session_persistence.type
