"""The source address of connections to members: the client's own, or a translation of it (SNAT).

An address is used if this host can bind it (any `127.x.y.z`, and addresses of its interfaces); otherwise the host
chooses one, so that traffic flows where a device would own the address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.names import is_v6, strip_domain
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.rules.network import interface_of
from icontrol_emulator.dataplane.counters import CounterBook, Counters

SNATPOOL = "ltm/snatpool"
TRANSLATION = "ltm/snat-translation"
SELF = "net/self"


class Source(NamedTuple):
    """The address to connect from, None for one of the host's choice, and the counters of its use."""

    host: str | None = None
    counters: tuple[Counters, ...] = ()


class NoTranslation(OSError):
    """Every address of the SNAT pool is disabled or at its connection limit."""


@dataclass(frozen=True, slots=True)
class SourceAddresses:
    engine: Engine
    counters: CounterBook

    def choose(self, virtual: Obj, member: Obj, client: str) -> Source:
        """The source for a connection to a member. NoTranslation if the SNAT pool is exhausted."""
        given = virtual.props.get("sourceAddressTranslation")
        settings: Mapping[str, str] = given if isinstance(given, Mapping) else {}
        kind = settings.get("type", "none")
        owner = self.engine.store.get(Key("ltm/pool", "", member.key.parent))
        if owner is not None and owner.props.get("allowSnat") == "no":
            kind = "none"
        text = str(member.props["address"])
        target = _Target(strip_domain(text), domains.domain_of(self.engine, member.partition, text))
        if kind == "snat":
            return self._translation(str(settings.get("pool", "")), target)
        if kind == "automap":
            return Source(self._self_address(target))
        return Source(client if is_v6(client) == is_v6(target.host) else None)

    def _translation(self, pool: str, target: _Target) -> Source:
        found = self.engine.store.get(Key(SNATPOOL, "", pool))
        paths = found.props.get("members") or () if found is not None else ()
        known = (self.engine.store.get(Key(TRANSLATION, "", path)) for path in paths)
        fitting = [each for each in known if each is not None and self._fits(each, target)]
        if not fitting:
            return Source()
        free = [each for each in fitting if self._has_room(each)]
        if not free:
            raise NoTranslation(f"no address of {pool} is free")
        near = self._networks_with(target)

        def rank(each: Obj) -> tuple[bool, int]:
            inside = any(_address(each) in network for network in near)
            return not inside, self.counters.peek("snat", each.key.path).current

        chosen = min(free, key=rank)
        return Source(strip_domain(str(chosen.props["address"])), (self.counters.of("snat", chosen.key.path),))

    def _has_room(self, translation: Obj) -> bool:
        limit = int(translation.props.get("connectionLimit", 0))
        full = 0 < limit <= self.counters.peek("snat", translation.key.path).current
        return not full and not translation.props.get("disabled")

    def _self_address(self, target: _Target) -> str | None:
        """One in the member's own network if there is one, and then a floating one, as devices prefer them."""
        near = self._networks_with(target)
        found = sorted(
            (not any(_address(each) in network for network in near), each.props.get("floating") != "enabled",
             str(_address(each)))
            for each in self.engine.store.top(SELF) if self._fits(each, target)
        )  # fmt: skip
        return next((address for *_, address in found if _is_unicast(address)), None)

    def _fits(self, owner: Obj, target: _Target) -> bool:
        """Whether its address is of the target's family and in its route domain."""
        text = str(owner.props["address"])
        same = domains.domain_of(self.engine, owner.partition, text) == target.domain
        return same and is_v6(text.partition("/")[0]) == is_v6(target.host)

    def _networks_with(self, target: _Target) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """The networks of the device's self IPs that the target is in."""
        found = (
            interface_of(str(each.props["address"])) for each in self.engine.store.top(SELF) if self._fits(each, target)
        )
        return [
            each.network for each in found if each is not None and ipaddress.ip_address(target.host) in each.network
        ]


class _Target(NamedTuple):
    """A member's address, and its route domain."""

    host: str
    domain: str


def _address(owner: Obj) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(strip_domain(str(owner.props["address"]).partition("/")[0]))


def _is_unicast(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_multicast
    except ValueError:
        return False
