"""Connections to servers that rules and policies chose: a pool's member, a node alone, another virtual server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.names import split_endpoint, split_path, strip_domain
from icontrol_emulator.config.rules.virtual import ADDRESS
from icontrol_emulator.dataplane import streams
from icontrol_emulator.dataplane.rules import Rules
from icontrol_emulator.dataplane.session import ServerSide, Session, Upstream
from icontrol_emulator.irules.state import Decision

HOPS_MAX = 8
HANDED_MAX = 20_000


class Handed(NamedTuple):
    """A connection that one virtual server passed to another: its real client, and how often it was passed on."""

    client: tuple[str, int]
    hops: int


@dataclass(slots=True)
class Handovers:
    """Connections between virtual servers, by the address and port of their client's end."""

    _handed: dict[tuple[str, int], Handed] = field(default_factory=dict)

    def note(self, end: tuple[str, int], handed: Handed) -> None:
        while len(self._handed) >= HANDED_MAX:
            del self._handed[next(iter(self._handed))]
        self._handed[end] = handed

    def take(self, end: tuple[str, int]) -> Handed:
        return self._handed.pop(end, Handed(end, 0))


@dataclass(slots=True)
class Chooser:
    """Opens the server side of one client connection as it was decided."""

    session: Session
    handovers: Handovers
    rules: Rules
    came: Handed
    local_port: int

    async def connect(self, decision: Decision, cookies: str = "") -> Upstream | None:
        """None if no server accepts."""
        if decision.node is not None:
            return await self._direct(decision, *self._node(*decision.node))
        if decision.virtual:
            place = self._virtual(decision.virtual)
            return await self._direct(decision, *place, handed=True) if place is not None else None
        return await self._session(decision).connect(cookies, decision.pool, self.rules.persist_key(decision))

    def _session(self, decision: Decision) -> Session:
        return self.session if decision.server_tls else replace(self.session, tls_to_members=None)

    def _node(self, name: str, port: int) -> tuple[str, int]:
        store = self.session.engine.store
        path = name if name.startswith("/") else f"/{self.session.virtual.partition}/{name}"
        known = store.get(Key("ltm/node", "", path)) or store.get(Key("ltm/node", "", f"/Common/{name}"))
        host = str(known.props.get("address")) if known is not None else name
        return strip_domain(host), port or self.local_port

    def _virtual(self, path: str) -> tuple[str, int] | None:
        store = self.session.engine.store
        virtual = store.get(Key("ltm/virtual", "", path))
        parts = split_path(str(virtual.props.get("destination", ""))) if virtual is not None else None
        endpoint = split_endpoint(parts.name) if parts is not None else None
        if virtual is None or parts is None or endpoint is None or virtual.props.get("disabled"):
            return None
        address = store.get(Key(ADDRESS, "", f"{parts.folder}/{endpoint.host}"))
        host = str(address.props.get("address", endpoint.host)) if address is not None else endpoint.host
        return strip_domain(host), endpoint.port or self.local_port

    async def _direct(self, decision: Decision, host: str, port: int, *, handed: bool = False) -> Upstream | None:
        if handed and self.came.hops >= HOPS_MAX:
            return None
        leaving = self._hand_over if handed else None
        try:
            sock = await streams.dial(host, port, network=self.session.network(), leaving=leaving)
        except (OSError, TimeoutError):
            return None
        near, far = sock.getsockname()[:2], sock.getpeername()[:2]
        place = Obj(key=Key("ltm/node", "", host), name=host, props={"address": host})
        return Upstream(None, await self._session(decision).talk(sock, ServerSide(place, near, far), ()), ())

    def _hand_over(self, end: tuple[str, int]) -> None:
        self.handovers.note(end, Handed(self.came.client, self.came.hops + 1))
