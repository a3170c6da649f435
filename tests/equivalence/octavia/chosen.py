"""The load balancers that are compared."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from evenkeel.api.usecases.tls_rules import DEFAULT_ALPN
from evenkeel.core.devices.service import ServiceDefinition, ServicePool
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.core.tls.tls import TlsRules
from tests.equivalence.history import draw
from tests.equivalence.host import HAPROXY

DEFINITIONS = 60
PROGRAM_OF_THE_AMPHORA = "PING"
"""The type of monitors for which an amphora has a program of its own."""
NOT_COMPARED = ("PROMETHEUS",)
"""Protocols of listeners whose answers are numbers."""


def definitions(first: int = 1) -> Iterator[tuple[int, ServiceDefinition]]:
    """Seed and load balancer, without end."""
    seed = first
    while True:
        tree = _patient(settled(next(iter(draw(str(seed), HAPROXY, steps=0).first.values()))))
        monitors = [pool.monitor.type for pool in tree.pools if pool.monitor is not None]
        compared = [one for one in tree.listeners if one.protocol not in NOT_COMPARED]
        if PROGRAM_OF_THE_AMPHORA not in monitors and compared and len(compared) == len(tree.listeners):
            yield seed, tree
        seed += 1


def _patient(tree: ServiceDefinition) -> ServiceDefinition:
    """The load balancer with checks so seldom that a slow handshake on a busy machine is no dead member."""

    def patient(pool: ServicePool) -> ServicePool:
        monitor = pool.monitor
        return pool if monitor is None else replace(pool, monitor=replace(monitor, delay=5, max_retries_down=2))

    return replace(tree, pools=tuple(map(patient, tree.pools)))


def settled(tree: ServiceDefinition) -> ServiceDefinition:
    """The load balancer with the defaults of TLS that the API gives."""
    return replace(
        tree,
        listeners=tuple(_settled(one, one.protocol == TLS_PROTOCOL) for one in tree.listeners),
        pools=tuple(_settled(one, one.tls_enabled) for one in tree.pools),
    )


def _settled(one: Any, over_tls: bool) -> Any:
    """A listener or pool with the API's defaults."""
    if not over_tls:
        return one
    rules = TlsRules()
    return replace(
        one,
        tls_ciphers=one.tls_ciphers or rules.default_ciphers,
        tls_versions=one.tls_versions or rules.default_versions,
        alpn_protocols=one.alpn_protocols or DEFAULT_ALPN,
    )
