"""State on which commands of rules work: messages, the connection's unchanging facts, and decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from icontrol_emulator.irules.persistence import PersistRequest


@dataclass(slots=True)
class Message:
    """A request or response: the three parts of its start line, and its headers in order."""

    start: list[str]
    headers: list[tuple[str, str]]

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each.lower() == name.lower()]

    def remove(self, name: str) -> None:
        self.headers = [pair for pair in self.headers if pair[0].lower() != name.lower()]

    def insert(self, name: str, value: str) -> None:
        # a device sends line breaks unchanged; here they are replaced, against header injection
        self.headers.append((one_line(name), one_line(value)))

    def replace(self, name: str, value: str) -> None:
        self.remove(name)
        self.insert(name, value)


def one_line(text: str) -> str:
    return " ".join(text.split()) if any(sign in text for sign in "\r\n\0") else text


def cookies(message: Message) -> list[tuple[str, str]]:
    """The names and values of a request's cookies."""
    pairs = (pair.strip().partition("=") for value in message.values("Cookie") for pair in value.split(";"))
    return [(name.strip(), value) for name, mark, value in pairs if mark]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that a rule sends in place of a member's."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    closes: bool = False


@dataclass(slots=True)
class Decision:
    """The decision of policies and rules for a request, or for the connection."""

    pool: str = ""
    node: tuple[str, int] | None = None
    """A server chosen without a pool: path or address of a node and a port, 0 for that of the virtual server."""
    virtual: str = ""
    """A virtual server that the connection is passed to."""
    answer: Answer | None = None
    rejected: bool = False
    server_tls: bool = True
    """Whether a server-ssl profile applies."""
    persist: PersistRequest | None = None
    """How the connection finds its member again, None for the profiles' way."""

    def forward(self, kind: str, name: str, port: int = 0) -> None:
        """Choose a `pool`, `node` or `virtual`; the last choice counts."""
        self.pool, self.node, self.virtual = "", None, ""
        if kind == "node":
            self.node = (name, port)
        elif kind == "virtual":
            self.virtual = name
        else:
            self.pool = name

    @property
    def place(self) -> object:
        """The pool, node or member that was chosen, for comparisons."""
        return self.pool, self.node, self.virtual, self.server_tls, self.persist

    def on_the_connection(self) -> Decision:
        """The part that later requests start from."""
        return Decision(
            pool=self.pool, node=self.node, virtual=self.virtual, server_tls=self.server_tls, persist=self.persist
        )


@dataclass(frozen=True, slots=True)
class DataGroup:
    kind: str
    """`string`, `ip` or `integer`."""
    records: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Facts of a client's connection that never change."""

    client: tuple[str, int]
    local: tuple[str, int]
    virtual: str
    secure: bool = False
    chain: tuple[bytes, ...] = ()
    """The certificates that the client sent, in DER, leaf first."""
    verdict: int = 0
    server_name: str = ""
    application_protocol: str = ""
    cipher: Mapping[str, str] = field(default_factory=dict)
    carried_bytes: Callable[[str], int] = lambda direction: 0
    """The client's bytes so far, `in` or `out`."""
    group: Callable[[str], DataGroup | None] = lambda name: None
    """A data group by name, None if there is none."""
    pool_members: Callable[[str], int | None] = lambda name: None
    """The number of usable members of a pool, None if there is no such pool."""
    send_log: Callable[[str, str, bytes], bool] = lambda protocol, pool, data: False
    """Sends a message by `UDP` or `TCP` to a member of a pool; returns whether there is one."""
