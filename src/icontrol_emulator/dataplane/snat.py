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

    def choose(self, virtual: Obj, pool: str, client: str, member_host: str) -> Source:
        """The source for a connection to a member of the pool. NoTranslation if the SNAT pool is exhausted."""
        given = virtual.props.get("sourceAddressTranslation")
        settings: Mapping[str, str] = given if isinstance(given, Mapping) else {}
        kind = settings.get("type", "none")
        owner = self.engine.store.get(Key("ltm/pool", "", pool))
        if owner is not None and owner.props.get("allowSnat") == "no":
            kind = "none"
        six = is_v6(member_host)
        if kind == "snat":
            return self._translation(str(settings.get("pool", "")), six)
        if kind == "automap":
            return Source(self._self_address(six))
        return Source(client if is_v6(client) == six else None)

    def _translation(self, pool: str, six: bool) -> Source:
        found = self.engine.store.get(Key(SNATPOOL, "", pool))
        paths = found.props.get("members") or () if found is not None else ()
        known = (self.engine.store.get(Key(TRANSLATION, "", path)) for path in paths)
        fitting = [each for each in known if each is not None and is_v6(str(each.props["address"])) == six]
        if not fitting:
            return Source()
        free = [each for each in fitting if self._has_room(each)]
        if not free:
            raise NoTranslation(f"no address of {pool} is free")
        chosen = min(free, key=lambda each: self.counters.peek("snat", each.key.path).current)
        return Source(strip_domain(str(chosen.props["address"])), (self.counters.of("snat", chosen.key.path),))

    def _has_room(self, translation: Obj) -> bool:
        limit = int(translation.props.get("connectionLimit", 0))
        full = 0 < limit <= self.counters.peek("snat", translation.key.path).current
        return not full and not translation.props.get("disabled")

    def _self_address(self, six: bool) -> str | None:
        """A floating self IP address if there is one, as devices prefer them."""
        found = [
            (each.props.get("floating") != "enabled", str(each.props.get("address", "")).partition("/")[0])
            for each in self.engine.store.top(SELF)
        ]
        fitting = sorted((fixed, strip_domain(address)) for fixed, address in found if is_v6(address) == six)
        return next((address for _, address in fitting if _is_unicast(address)), None)


def _is_unicast(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_multicast
    except ValueError:
        return False
