"""`persist`: how a connection finds its member again, as in F5's reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Interpreter, Unknown, split

COOKIE = "cookie"
COOKIE_METHODS = frozenset({"insert", "passive", "rewrite"})
MODES = frozenset({"carp", "dest_addr", "hash", "simple", "source_addr", "sticky", "uie", "universal"})


class PersistRequest(NamedTuple):
    """A rule's request for persistence: a mode of `persist`, a key, and a time-out, None for that of the profile.

    For the mode `cookie` the key is the cookie's name, empty for that of the profile.
    """

    mode: str
    value: str = ""
    timeout_seconds: float | None = None
    method: str = ""
    """Method of the mode `cookie`: one of `COOKIE_METHODS`."""
    expiration: str = ""
    """Expiration of the mode `cookie`, as a profile has it; empty for that of the profile."""


class Member(NamedTuple):
    """A member that a record names."""

    pool: str
    address: str
    port: int


class PersistRecords(Protocol):
    """The device's persistence records."""

    def look_up(self, asked: PersistRequest) -> Member | None: ...

    def add(self, asked: PersistRequest) -> None:
        """Record the member that the connection has."""
        ...

    def delete(self, asked: PersistRequest) -> None: ...


@dataclass(slots=True)
class PersistCommand:
    records: PersistRecords
    choose: Callable[[PersistRequest], None]

    def __call__(self, tcl: Interpreter, words: list[str]) -> str:
        match words:
            case ["none"]:
                self.choose(PersistRequest("none"))
            case ["cookie", *rest]:
                self.choose(_cookie(*rest))
            case ["add", mode, *rest]:
                self.records.add(_request_of(mode, rest))
            case ["delete", mode, *rest]:
                self.records.delete(_request_of(mode, rest))
            case ["lookup", mode, key, *what]:
                return _shown(self.records.look_up(_request_of(mode, [key])), what)
            case [mode, *rest]:
                self.choose(_request_of(mode, rest))
        return ""


def _cookie(method: str = "insert", name: str = "", expiration: str = "", *_: str) -> PersistRequest:
    if method == "hash":
        raise Unknown("persist cookie hash")
    if method not in COOKIE_METHODS:
        raise Failed(f'bad method "{method[:50]}" of persist cookie')
    return PersistRequest(COOKIE, name, None, method, expiration)


def _request_of(mode: str, words: list[str]) -> PersistRequest:
    if mode not in MODES:
        raise Failed(f'bad persistence mode "{mode[:50]}"')
    keyed = mode in ("carp", "hash", "uie", "universal")
    if keyed and not words:
        raise Failed(f"persist {mode} requires a key")
    # a key may come with modifiers, as in {key any virtual}; they are those of the profile here
    value = (split(words[0]) or [""])[0] if keyed and words[0][:1] == "{" else words[0] if keyed else ""
    rest = words[1:] if keyed else [word for word in words if word.isdigit()]
    timeout = float(rest[0]) if rest and rest[0].isdigit() else None
    return PersistRequest("uie" if mode == "universal" else mode, value, timeout)


def _shown(member: Member | None, what: list[str]) -> str:
    if member is None:
        return ""
    known = {"pool": member.pool, "node": member.address, "port": str(member.port)}
    if not what or what == ["all"]:
        return f"{member.pool} {member.address} {member.port}"
    if what[0] not in known:
        raise Failed(f'bad value "{what[0]}" of persist lookup')
    return known[what[0]]
