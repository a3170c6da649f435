"""Ends or keeps the connections of a member that its monitors find down (`serviceDownAction` of its pool)."""

from __future__ import annotations

from typing import Protocol

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key

NONE, RESET, DROP, RESELECT = "none", "reset", "drop", "reselect"


class ServerConnection(Protocol):
    """The server side of a connection or flow."""

    def member_down(self, action: str) -> None: ...


class MemberConnections:
    """The open connections of a device to each member."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[Key, set[ServerConnection]] = {}

    def add(self, member: Key, connection: ServerConnection) -> None:
        self._open.setdefault(member, set()).add(connection)

    def remove(self, member: Key, connection: ServerConnection) -> None:
        known = self._open.get(member, set())
        known.discard(connection)
        if not known:
            self._open.pop(member, None)

    def went_down(self, member: Key) -> None:
        """Apply the pool's action; connections of members that users set down or removed are left alone."""
        pool = self._engine.store.get(Key("ltm/pool", "", member.parent))
        action = str(self._engine.props(pool)["serviceDownAction"]) if pool is not None else NONE
        if action == NONE:
            return
        for connection in list(self._open.get(member, ())):
            connection.member_down(action)
