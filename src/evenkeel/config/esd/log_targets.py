"""Allowed targets of enhanced services' access logs: only networks that the operator names. Pure.

A device sends log lines from inside the operator's network, with content that a tenant influences; so no address is
reachable unless it is allowed, and addresses that no member may have are refused as well.
"""

from collections.abc import Iterable
from ipaddress import ip_address

from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import NO_PARTS
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import AddressRules, Network, parsed_networks

OPTION_NAME = "access_log_networks"
"""The agent's option with the networks."""


class LogTargets(Value):
    """Rules for the targets of access logs. ``rules``: rules for members' addresses, which apply, too; None: the device
    applies its own.
    """

    networks: tuple[Network, ...] = ()
    rules: AddressRules | None = None

    def problem(self, address: str) -> str:
        """Return the reason why no access log may go to the address; empty if one may."""
        if not any(ip_address(address) in network for network in self.networks):
            allowed = ", ".join(map(str, self.networks)) or "none"
            return f"it is in no network of the agent's {OPTION_NAME}; allowed: {allowed}"
        return "" if self.rules is None else self.rules.member_problem(address)


NO_TARGETS = LogTargets()


def parse_targets(networks: Iterable[str], rules: AddressRules | None = None) -> LogTargets:
    """Parse the networks in which access logs may have targets; ``rules``: see :class:`LogTargets`. Raises
    :class:`ValueError` naming the option for a text that is no network.
    """
    try:
        return LogTargets(networks=parsed_networks(networks), rules=rules)
    except ValueError as error:
        raise ValueError(f"{OPTION_NAME}: {error}") from None


def drop_refused_target(definition: Definition, targets: LogTargets) -> Definition:
    """Return the definition; if its access log's target is not allowed, without tags and parts, and with the
    reason as its problem.
    """
    log = definition.parts.access_log
    if definition.problem or log is None or not (reason := targets.problem(log.address)):
        return definition
    where = f"{definition.file}: enhanced service {definition.name!r}: access_log: target {log.target!r}"
    return replace(definition, tags={}, types={}, parts=NO_PARTS, problem=f"{where}: {reason}")
