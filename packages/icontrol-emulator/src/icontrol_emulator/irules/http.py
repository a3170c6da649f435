"""`HTTP::…`: commands for the message at hand, as in F5's reference."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import quote

from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Do, Interpreter, Unknown, joined, split
from icontrol_emulator.irules.state import Answer, Message, cookies, one_line

if TYPE_CHECKING:
    from icontrol_emulator.irules.commands import DeviceCommands

SERVER = ("Server", "BigIP")
_SAFE = "/?#[]@!$&'()*+,;=:%-._~"
RESPONDED_TWICE = "Multiple redirect/respond invocations not allowed"


def redirection(code: int, location: str) -> Answer:
    return Answer(code, (("Location", one_line(location)), SERVER), b"")


def set_query(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def write_cookie(message: Message, name: str, value: str | None) -> None:
    """Set a request's cookie, or remove it if there is no value."""
    kept = [pair for pair in cookies(message) if pair[0] != name]
    kept += [] if value is None else [(name, value)]
    message.remove("Cookie")
    if kept:
        message.insert("Cookie", "; ".join(f"{each}={text}" for each, text in kept))


class HttpCommands:
    """Bound to one connection: `device.message` is the request, or in response events the response."""

    def __init__(self, device: DeviceCommands) -> None:
        self._device = device

    def table(self) -> dict[str, Do]:
        names = (
            "header", "host", "uri", "path", "query", "method", "version", "status", "cookie", "redirect", "respond",
            "close", "has_responded", "is_keepalive", "is_redirect", "request", "request_num", "username", "password",
            "collect", "release", "payload",
        )  # fmt: skip
        return {f"HTTP::{name}": getattr(self, name) for name in names}

    def _head(self) -> Message:
        if self._device.message is None:
            raise Failed("Operation not supported: there is no HTTP message in this event")
        return self._device.message

    def _request(self) -> Message:
        if self._device.request is None:
            raise Failed("Operation not supported: there is no HTTP request in this event")
        return self._device.request

    @property
    def _is_response(self) -> bool:
        return self._device.message is not self._device.request

    # -- headers

    def header(self, tcl: Interpreter, words: list[str]) -> str:
        head, what, rest = self._head(), words[0], words[1:]
        if what in ("insert", "replace"):
            return self._write_headers(head, what, rest)
        if what in ("remove", "sanitize"):
            self._drop_headers(head, what, rest)
            return ""
        if what == "count":
            return str(len(head.values(rest[0]) if rest else head.headers))
        if what == "exists":
            return str(int(bool(head.values(rest[0]))))
        if what == "names":
            return joined([name for name, _ in head.headers])
        if what == "values":
            return joined(head.values(rest[0]))
        if what == "at":
            at = int(rest[0])
            return head.headers[at][0] if 0 <= at < len(head.headers) else ""
        if what == "is_keepalive":
            return self.is_keepalive(tcl, [])
        if what == "is_redirect":
            return self.is_redirect(tcl, [])
        # of several values, the last one counts
        return (head.values(rest[0] if what == "value" else what) or [""])[-1]

    def _write_headers(self, head: Message, what: str, words: list[str]) -> str:
        rest = words[1:] if words[:1] == ["lws"] else words
        rest = split(rest[0]) if len(rest) == 1 else rest
        if len(rest) == 1 and what == "replace":
            rest = [*rest, ""]
        for name, value in zip(rest[::2], rest[1::2], strict=True):
            if what == "replace":
                head.remove(name)
            head.insert(name, value)
        return ""

    def _drop_headers(self, head: Message, what: str, names: list[str]) -> None:
        if what == "sanitize":
            kept = {name.lower() for name in names} | {"host", "content-length", "transfer-encoding", "connection"}
            head.headers = [pair for pair in head.headers if pair[0].lower() in kept]
            return
        for name in names:
            head.remove(name)

    def host(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        if words:
            head.replace("Host", words[-1])
        return (head.values("Host") or [""])[-1]

    def close(self, tcl: Interpreter, words: list[str]) -> str:
        self._head().replace("Connection", "close")
        return ""

    def is_keepalive(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        connection = ",".join(head.values("Connection")).lower()
        old = "HTTP/1.0" in head.start
        return str(int("keep-alive" in connection if old else "close" not in connection))

    def is_redirect(self, tcl: Interpreter, words: list[str]) -> str:
        code = self.status(tcl, [])
        return str(int(code in ("301", "302", "303", "305", "307", "308")))

    # -- the start line

    def uri(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        if words:
            head.start[1] = quote(words[-1], safe=_SAFE)
        return head.start[1]

    def path(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        path, mark, query = head.start[1].partition("?")
        if words and words != ["-normalized"]:
            head.start[1] = f"{quote(words[-1], safe=_SAFE)}{mark}{query}"
            return words[-1]
        return path

    def query(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        path, _, query = head.start[1].partition("?")
        if words and words != ["-normalized"]:
            head.start[1] = set_query(path, quote(words[-1], safe=_SAFE))
            return words[-1]
        return query

    def method(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        if words:
            head.start[0] = "".join(words[-1].split())
        return head.start[0]

    def version(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._head()
        at = 0 if self._is_response else 2
        if words:
            head.start[at] = f"HTTP/{''.join(words[-1].split())}"
        return head.start[at].partition("/")[2]

    def status(self, tcl: Interpreter, words: list[str]) -> str:
        if not self._is_response:
            raise Failed("HTTP::status is not valid in a request")
        return self._head().start[1]

    def request(self, tcl: Interpreter, words: list[str]) -> str:
        head = self._request()
        lines = [" ".join(head.start), *(f"{name}: {value}" for name, value in head.headers)]
        return "\r\n".join([*lines, "", ""])

    def request_num(self, tcl: Interpreter, words: list[str]) -> str:
        return str(self._device.requests)

    def username(self, tcl: Interpreter, words: list[str]) -> str:
        return self._credentials()[0]

    def password(self, tcl: Interpreter, words: list[str]) -> str:
        return self._credentials()[1]

    def _credentials(self) -> tuple[str, str]:
        scheme, _, text = (self._request().values("Authorization") or [""])[-1].partition(" ")
        if scheme.lower() != "basic":
            return "", ""
        user, _, password = base64.b64decode(text).decode("latin-1").partition(":")
        return user, password

    # -- cookies

    def cookie(self, tcl: Interpreter, words: list[str]) -> str:
        found = self._cookies()
        known = ("exists", "value", "remove", "names", "count", "insert", "sanitize", "path", "domain", "expires",
                 "maxage", "secure", "httponly", "version")  # fmt: skip
        what, rest = (words[0], words[1:]) if words[0] in known else ("value", words)
        if what == "names":
            return joined(list(found))
        if what == "count":
            return str(len(found))
        if what == "exists":
            return str(int(rest[0] in found))
        if what == "insert":
            return self._insert_cookie(rest)
        if what == "remove":
            self._write(rest[0], None)
            return ""
        if what == "sanitize":
            for name in [name for name in found if name not in rest]:
                self._write(name, None)
            return ""
        if what == "value":
            if len(rest) > 1:
                self._write(rest[0], rest[1])
            return rest[1] if len(rest) > 1 else found.get(rest[0], "")
        return self._attribute(what, rest)

    def _cookies(self) -> dict[str, str]:
        if not self._is_response:
            return dict(cookies(self._head()))
        pairs = (value.partition(";")[0].partition("=") for value in self._head().values("Set-Cookie"))
        return {name.strip(): value for name, _, value in pairs}

    def _write(self, name: str, value: str | None) -> None:
        if not self._is_response:
            write_cookie(self._head(), name, value)
            return
        head = self._head()
        headers: list[tuple[str, str]] = []
        for each, text in head.headers:
            first, mark, attributes = text.partition(";")
            if each.lower() != "set-cookie" or first.partition("=")[0].strip() != name:
                headers.append((each, text))
            elif value is not None:
                headers.append((each, f"{name}={one_line(value)}{mark}{attributes}"))
        head.headers = headers

    def _insert_cookie(self, words: list[str]) -> str:
        given = dict(zip(words[::2], words[1::2], strict=True))
        name, value = given["name"], given.get("value", "")
        if not self._is_response:
            write_cookie(self._head(), name, value)
            return ""
        parts = [f"{name}={value}"]
        parts += [f"{word}={given[word]}" for word in ("path", "domain") if word in given]
        self._head().insert("Set-Cookie", "; ".join(parts))
        return ""

    def _attribute(self, what: str, words: list[str]) -> str:
        """Read or set an attribute of a cookie of a response."""
        if not self._is_response:
            raise Failed(f"HTTP::cookie {what} is not valid in a request")
        name = {"maxage": "Max-Age"}.get(what, what)
        words = [word for word in words if word not in ("relative", "absolute")]
        for at, (each, text) in enumerate(self._head().headers):
            first, *rest = [part.strip() for part in text.split(";")]
            if each.lower() != "set-cookie" or first.partition("=")[0] != words[0]:
                continue
            known = {part.partition("=")[0].lower(): part.partition("=")[2] for part in rest}
            if len(words) == 1:
                return known.get(name.lower(), "")
            kept = [part for part in rest if part.partition("=")[0].lower() != name.lower()]
            if what in ("secure", "httponly"):
                kept += [what.capitalize()] if words[1].startswith("enable") else []
            else:
                kept.append(f"{name}={one_line(words[1])}")
            self._head().headers[at] = (each, "; ".join([first, *kept]))
            return words[1]
        return ""

    # -- answers

    def redirect(self, tcl: Interpreter, words: list[str]) -> str:
        self._say(redirection(302, words[0]))
        return ""

    def respond(self, tcl: Interpreter, words: list[str]) -> str:
        status, rest = int(words[0]), words[1:]
        if not 100 <= status <= 999:
            raise Failed(f"invalid status code {status}")
        headers: list[tuple[str, str]] = [SERVER]
        body = b""
        while rest:
            name = rest.pop(0)
            if name in ("noserver", "-noserver", "-reset"):
                headers = [pair for pair in headers if pair != SERVER or name == "-reset"]
            elif name == "content":
                body = _bytes(rest.pop(0))
            elif name in ("version", "-version"):
                rest.pop(0)
            elif name == "ifile":
                raise Unknown("HTTP::respond ifile")
            else:
                headers.append((one_line(name), one_line(rest.pop(0))))
        closes = any(name.lower() == "connection" and "close" in value.lower() for name, value in headers)
        self._say(Answer(status, tuple(headers), body, closes))
        return ""

    def _say(self, answer: Answer) -> None:
        if self._device.decision.answer is not None:
            raise Failed(RESPONDED_TWICE)
        self._device.decision.answer = answer

    def has_responded(self, tcl: Interpreter, words: list[str]) -> str:
        return str(int(self._device.decision.answer is not None))

    # -- bodies

    def collect(self, tcl: Interpreter, words: list[str]) -> str:
        if self._is_response:
            raise Unknown("HTTP::collect in a response")
        self._head()
        self._device.body.wanted = int(words[0]) if words else 2**31
        return ""

    def release(self, tcl: Interpreter, words: list[str]) -> str:
        self._device.body.wanted = 0
        return ""

    def payload(self, tcl: Interpreter, words: list[str]) -> str:
        return self._device.body.command(words)


def _bytes(text: str) -> bytes:
    """Data of the device is held as text with a character per byte; other text is sent as UTF-8."""
    try:
        return text.encode("latin-1") if any("\x80" <= sign <= "\xff" for sign in text) else text.encode()
    except UnicodeEncodeError:
        return text.encode()
