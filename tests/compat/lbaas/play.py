"""Plays a file of the table against a server, and tells what it answered."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from evenkeel.core.kit.values import Value
from tests.api.personas import ADMIN, ANONYMOUS, MEMBER, STRANGER
from tests.compat.lbaas.table import ChallengesAnswered, Line, Table

PERSONAS = {persona.name: persona for persona in (MEMBER, STRANGER, ADMIN)} | {"nobody": ANONYMOUS}


class Outcome(Value):
    """What a server answered to a line."""

    line: Line
    answer: ChallengesAnswered
    holds: dict[str, Any]
    """The line's values, as the server has them."""
    message: str
    body: str


class Player:
    """Plays lines. ``known``: names for what the server has already."""

    def __init__(self, http: httpx.AsyncClient, base: str, known: Mapping[str, str]) -> None:
        self._http = http
        self._base = base
        self._known = dict(known)

    async def play(self, table: Table) -> list[Outcome]:
        """All lines in their order."""
        return [await self._played(line) for line in table.lines]

    async def _played(self, line: Line) -> Outcome:
        method, _, path = self._filled(line.ask).partition(" ")
        headers = {**PERSONAS[line.by].headers}
        content: bytes | None = None
        if line.send is not None:
            headers["Content-Type"] = "application/json"
            filled = self._filled(line.send)
            content = (filled if isinstance(filled, str) else json.dumps(filled)).encode()
        headers |= line.headers
        sent = {name: value for name, value in headers.items() if value}
        got = await self._http.request(method, f"{self._base}{path}", headers=sent, content=content)
        body = _decoded(got)
        inner = _inner(body)
        if line.keep and got.status_code < 300 and "id" in inner:
            self._known[line.keep] = str(inner["id"])
        answer = ChallengesAnswered(status=got.status_code, type=_error(body, "type"), keys=_keys(body))
        holds = {name: inner.get(name) for name in line.holds}
        return Outcome(
            line=line, answer=answer, holds=holds, message=self._unfilled(_error(body, "message")), body=got.text[:2000]
        )

    def _filled(self, value: Any) -> Any:
        """The value with names of kept objects replaced by their ids."""
        if isinstance(value, str):
            for name, kept in self._known.items():
                value = value.replace(f"{{{name}}}", kept)
            return value
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, dict):
            return {self._filled(name): self._filled(each) for name, each in value.items()}
        return value

    def _unfilled(self, text: str) -> str:
        for name, kept in self._known.items():
            text = text.replace(kept, f"{{{name}}}") if len(kept) == 36 else text
        return text


def _decoded(got: httpx.Response) -> Any:
    try:
        return got.json() if got.content else None
    except ValueError:
        return got.text


def _error(body: Any, name: str) -> str:
    error = body.get("NeutronError") if isinstance(body, dict) else None
    return str(error.get(name, "")) if isinstance(error, dict) else ""


def _inner(body: Any) -> dict[str, Any]:
    """The object in the body, or the first of its list."""
    if not isinstance(body, dict):
        return {}
    for value in body.values():
        found = value[0] if isinstance(value, list) and value else value
        if isinstance(found, dict):
            return found
    return {}


def _keys(body: Any) -> str:
    if not isinstance(body, dict) or "NeutronError" in body:
        return "" if body is None or isinstance(body, dict) else type(body).__name__
    return "; ".join(_described(body))


def _described(body: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(body):
        inner = sorted(_inner({name: body[name]}))
        yield f"{name}: {' '.join(inner)}" if inner else name
