"""Commands bound to a connection, as in F5's reference: `HTTP::…`, `SSL::…`, `IP::…`, `pool`, `reject`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from icontrol_emulator.irules import certificates
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Do, Interpreter, Unknown, glob, joined


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
        if any(sign in name + value for sign in "\r\n\0"):
            # a device sends line breaks unchanged; here they are replaced, against header injection
            value = " ".join(value.split())
        self.headers.append((name, value))


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that a rule sends in place of a member's."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    closes: bool = False


@dataclass(slots=True)
class Decision:
    """What the rules decided for a request."""

    pool: str = ""
    answer: Answer | None = None
    rejected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What stays the same for a client connection."""

    client: tuple[str, int]
    local: tuple[str, int]
    virtual: str
    secure: bool = False
    chain: tuple[bytes, ...] = ()
    """The certificates that the client sent, in DER, leaf first."""
    verdict: int = 0
    server_name: str = ""
    cipher: Mapping[str, str] = field(default_factory=dict)
    records: Callable[[str], Mapping[str, str] | None] = lambda path: None
    """The records of a data group, None if there is none."""


class DeviceCommands:
    """Bound to one connection; `message` is the request, or in HTTP_RESPONSE the response."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.message: Message | None = None
        self.request: Message | None = None
        self.decision = Decision()
        self.asked_name = ""
        """The server name that a rule put into the ClientHello to a member."""
        self.table: dict[str, Do] = {**certificates.COMMANDS, **TEXTS}
        for name in (
            "header", "host", "uri", "path", "query", "method", "version", "status", "cookie", "redirect", "respond",
            "close",
        ):  # fmt: skip
            self.table[f"HTTP::{name}"] = getattr(self, f"_http_{name}")
        self.table |= {
            "SSL::cert": self._ssl_cert, "SSL::verify_result": lambda tcl, words: str(flow.verdict),
            "SSL::extensions": self._ssl_extensions, "SSL::sni": lambda tcl, words: flow.server_name,
            "SSL::cipher": lambda tcl, words: flow.cipher.get(words[0], ""),
            "IP::client_addr": lambda tcl, words: flow.client[0],
            "IP::remote_addr": lambda tcl, words: flow.client[0],
            "IP::local_addr": lambda tcl, words: flow.local[0],
            "TCP::client_port": lambda tcl, words: str(flow.client[1]),
            "TCP::remote_port": lambda tcl, words: str(flow.client[1]),
            "TCP::local_port": lambda tcl, words: str(flow.local[1]),
            "virtual": lambda tcl, words: flow.virtual, "PROFILE::exists": self._profile, "class": self._class,
            "pool": self._pool, "reject": self._reject, "drop": self._reject, "discard": self._reject,
            "log": lambda tcl, words: "", "event": lambda tcl, words: "",
        }  # fmt: skip

    def _head(self) -> Message:
        if self.message is None:
            raise Failed("HTTP commands are not valid in this event")
        return self.message

    # -- HTTP

    def _http_header(self, tcl: Interpreter, words: list[str]) -> str:
        head, what, rest = self._head(), words[0], words[1:]
        if what in ("insert", "replace"):
            rest = rest[1:] if rest[:1] == ["lws"] else rest
            for name, value in zip(rest[::2], rest[1::2], strict=True):
                if what == "replace":
                    head.remove(name)
                head.insert(name, value)
            return ""
        if what in ("remove", "sanitize"):
            for name in rest:
                head.remove(name)
            return ""
        if what in ("exists", "count") and rest:
            found = len(head.values(rest[0]))
            return str(found if what == "count" else int(found > 0))
        if what == "names":
            return joined([name for name, _ in head.headers])
        if what == "values":
            return joined(head.values(rest[0]))
        # of several values, the last one counts
        return (head.values(rest[0] if what == "value" else what) or [""])[-1]

    def _http_host(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        if words:
            head.remove("Host")
            head.insert("Host", words[-1])
        return (head.values("Host") or [""])[-1]

    def _http_uri(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._asked()
        if words:
            head.start[1] = quote(words[-1], safe="/?#[]@!$&'()*+,;=:%-._~")
        return head.start[1]

    def _http_path(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._asked()
        path, mark, query = head.start[1].partition("?")
        if words:
            head.start[1] = f"{words[-1]}{mark}{query}"
        return words[-1] if words else path

    def _http_query(self, tcl: Interpreter, words: list[str]) -> str:
        return self._asked().start[1].partition("?")[2]

    def _http_method(self, tcl: Interpreter, words: list[str]) -> str:
        return self._asked().start[0]

    def _http_version(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        return head.start[0 if head is not self.request else 2].partition("/")[2]

    def _http_status(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        if head is self.request:
            raise Failed("HTTP::status is not valid in a request")
        return head.start[1]

    def _asked(self) -> Message:
        if self.request is None:
            raise Failed("HTTP commands are not valid in this event")
        return self.request

    def _http_cookie(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        pairs = [pair.strip().partition("=") for value in head.values("Cookie") for pair in value.split(";")]
        cookies = {name: value for name, mark, value in pairs if mark}
        what, rest = (words[0], words[1:]) if words[0] in ("exists", "value", "remove", "names") else ("value", words)
        if what == "names":
            return joined(list(cookies))
        if what == "exists":
            return "1" if rest[0] in cookies else "0"
        if what == "remove":
            kept = "; ".join(f"{name}={value}" for name, value in cookies.items() if name != rest[0])
            head.remove("Cookie")
            if kept:
                head.insert("Cookie", kept)
            return ""
        return cookies.get(rest[0], "")

    def _http_redirect(self, tcl: Interpreter, words: list[str]) -> str:
        headers = (("Location", " ".join(words[0].split())), ("Server", "BigIP"))
        self.decision.answer = Answer(302, headers, b"")
        return ""

    def _http_respond(self, tcl: Interpreter, words: list[str]) -> str:
        status, rest = int(words[0]), words[1:]
        headers: list[tuple[str, str]] = [("Server", "BigIP")]
        body = b""
        while rest:
            name = rest.pop(0)
            if name == "noserver":
                headers = [pair for pair in headers if pair[0] != "Server"]
            elif name == "content":
                body = rest.pop(0).encode()
            elif name in ("version", "-version"):
                rest.pop(0)
            else:
                headers.append((name, " ".join(rest.pop(0).split())))
        self.decision.answer = Answer(status, tuple(headers), body)
        return ""

    def _http_close(self, tcl: Interpreter, words: list[str]) -> str:
        self._head().remove("Connection")
        self._head().insert("Connection", "close")
        return ""

    # -- TLS

    def _ssl_cert(self, tcl: Interpreter, words: list[str]) -> str:
        chain = self._flow.chain
        if words[0] == "count":
            return str(len(chain))
        at = int(words[1]) + 1 if words[0] == "issuer" else int(words[0])
        return certificates.as_text(chain[at]) if 0 <= at < len(chain) else ""

    def _ssl_extensions(self, tcl: Interpreter, words: list[str]) -> str:
        """Of all extensions, only the server name (type 0) is supported, as in the ClientHello."""
        known = server_name_extension(self._flow.server_name) if self._flow.server_name else b""
        what = words[0]
        if what == "insert":
            self.asked_name = name_in_extension(certificates.as_bytes(words[1]))
            return ""
        if what == "count":
            return "1" if known else "0"
        if words[-2] != "-type":
            raise Unknown("SSL::extensions " + " ".join(words))
        found = known if words[-1] == "0" else b""
        return ("1" if found else "0") if what == "exists" else certificates.as_text(found)

    # -- the connection

    def _profile(self, tcl: Interpreter, words: list[str]) -> str:
        return "1" if words[0] == "clientssl" and self._flow.secure else "0"

    def _pool(self, tcl: Interpreter, words: list[str]) -> str:
        if len(words) != 1:
            raise Unknown("pool NAME member")
        self.decision.pool = words[0]
        return ""

    def _reject(self, tcl: Interpreter, words: list[str]) -> str:
        self.decision.rejected = True
        return ""

    def _class(self, tcl: Interpreter, words: list[str]) -> str:
        """`class match ITEM OPERATOR GROUP`, `class lookup ITEM GROUP`, with `-value` or `-name`."""
        what, *rest = words
        options = [word for word in rest if word in ("-value", "-name", "-element", "--", "-all")]
        rest = [word for word in rest if word not in options]
        if what not in ("match", "lookup") or len(rest) != (3 if what == "match" else 2):
            raise Unknown(f"class {what}")
        item, group = rest[0], rest[-1]
        records = self._flow.records(group)
        if records is None:
            raise Failed(f"no such class {group}")
        compare = COMPARISONS[rest[1] if what == "match" else "equals"]
        hit = next((name for name in records if compare(item, name)), None)
        if what == "lookup" or "-value" in options:
            return records[hit] if hit is not None else ""
        if "-name" in options:
            return hit or ""
        return "1" if hit is not None else "0"


def server_name_extension(name: str) -> bytes:
    """The server_name extension (RFC 6066, section 3), including type and length."""
    host = name.encode("ascii", "replace")
    entry = b"\0" + len(host).to_bytes(2, "big") + host
    listed = len(entry).to_bytes(2, "big") + entry
    return b"\0\0" + len(listed).to_bytes(2, "big") + listed


def name_in_extension(data: bytes) -> str:
    """The server name in such an extension, empty for other extensions."""
    if len(data) < 9 or data[:2] != b"\0\0":
        return ""
    return data[9 : 9 + int.from_bytes(data[7:9], "big")].decode("ascii", "replace")


COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "equals": lambda item, name: item == name, "contains": lambda item, name: name in item,
    "starts_with": str.startswith, "ends_with": str.endswith, "matches": lambda item, name: glob(name, item),
}  # fmt: skip


def _findstr(tcl: Interpreter, words: list[str]) -> str:
    """`findstr TEXT SOUGHT [SKIP [LENGTH|TERMINATOR]]`."""
    text, sought = words[:2]
    at = text.find(sought)
    if at < 0:
        return ""
    rest = text[at + (int(words[2]) if len(words) > 2 else 0) :]
    if len(words) < 4:
        return rest
    return rest[: int(words[3])] if words[3].isdigit() else rest.partition(words[3])[0]


def _getfield(tcl: Interpreter, words: list[str]) -> str:
    """`getfield TEXT SEPARATOR NUMBER`, counted from 1."""
    found = words[0].split(words[1])
    return found[int(words[2]) - 1] if 0 < int(words[2]) <= len(found) else ""


def _substr(tcl: Interpreter, words: list[str]) -> str:
    """`substr TEXT SKIP [LENGTH|TERMINATOR]`."""
    rest = words[0][int(words[1]) :]
    if len(words) < 3:
        return rest
    return rest[: int(words[2])] if words[2].isdigit() else rest.partition(words[2])[0]


TEXTS: dict[str, Do] = {
    "findstr": _findstr, "getfield": _getfield, "substr": _substr,
    "URI::encode": lambda tcl, words: quote(words[0], safe=""),
    "URI::decode": lambda tcl, words: unquote(words[0]),
}  # fmt: skip
