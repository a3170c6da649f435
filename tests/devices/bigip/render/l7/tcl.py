"""Runs a generated iRule in a real Tcl, with stand-ins for the commands of iRules that it uses."""

import tkinter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

_SET_UP = """
proc when {event body} { set ::handlers($event) $body }
proc handle {event} {
    proc run {} "global {*}[info globals l7_*]\n$::handlers($event)"
    run
}
"""


class Outcome:
    """What the iRule decided about a request."""

    def __init__(self) -> None:
        self.pool = ""
        self.status = 0
        self.location = ""
        self.content = ""
        self.persist: tuple[str, ...] = ()


class Rule:
    """A rule, with the data groups that it reads by path."""

    def __init__(self, code: str, groups: Mapping[str, Mapping[str, str]]) -> None:
        self._tcl = tkinter.Tcl()
        self._groups = groups
        self._commands: dict[str, Any] = {
            "HTTP::uri": lambda: self._target,
            "HTTP::header": self._header,
            "HTTP::respond": self._respond,
            "pool": self._pool,
            "persist": self._persist,
            "class": lambda _lookup, item, group: self._groups[group].get(item, ""),
            "URI::decode": lambda text: unquote_to_bytes(text).decode("latin-1"),
            "getfield": lambda text, sign, number: (text.split(sign) + [""] * int(number))[int(number) - 1],
            "SSL::cert": lambda what: len(self._subjects) if what == "count" else self._subjects[int(what)],
            "SSL::verify_result": lambda: self._verdict,
            "X509::subject": lambda subject: subject,
            "LB::detach": lambda: "",
            "IP::client_addr": lambda: "192.0.2.1",
            "TCP::client_port": lambda: "5000",
        }
        for name, do in self._commands.items():
            self._tcl.createcommand(name, do)
        self._tcl.eval(_SET_UP)
        self._tcl.eval(code)

    def request(
        self,
        target: str = "/",
        headers: tuple[tuple[str, str], ...] = (("Host", "www.example.org"),),
        *,
        subject: str | None = None,
        verdict: int = 0,
    ) -> Outcome:
        """One request; ``subject``: of the client's certificate."""
        self._target, self._headers = target, headers
        self._subjects, self._verdict = [] if subject is None else [subject], verdict
        self.outcome = Outcome()
        self._tcl.eval("handle HTTP_REQUEST")
        return self.outcome

    def _header(self, what: str, name: str) -> Any:
        found = tuple(value for each, value in self._headers if each.lower() == name.lower())
        if what == "count":
            return len(found)
        return found[-1] if what == "value" and found else self._tcl.call("list", *found)

    def _respond(self, status: str, *rest: str) -> str:
        self.outcome.status = int(status)
        self.outcome.content = rest[rest.index("content") + 1] if "content" in rest else ""
        self.outcome.location = rest[rest.index("Location") + 1] if "Location" in rest else ""
        return ""

    def _pool(self, name: str) -> str:
        self.outcome.pool = name
        return ""

    def _persist(self, *words: str) -> str:
        self.outcome.persist = words
        return ""
