"""Sends the requests of a story to an API and tells its answers in the words of a table."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import httpx

from tests.compat.table import Answer, Line

OUTCOME = "X-Compat-Outcome"
"""The header that says what the device makes of a change; see :attr:`Line.outcome`."""
_NAME = re.compile(r"\{(\w+)\}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
_STATEMENT = re.compile(r"\n\[SQL: .*", re.DOTALL)
"""What SQLAlchemy says after the database's own error: it differs by version and by what the parameters are."""


class Replay:
    """One story. ``known``: ids that are the same on both sides, by name."""

    def __init__(
        self, client: httpx.AsyncClient, personas: Mapping[str, Mapping[str, str]], known: Mapping[str, str]
    ) -> None:
        self._client = client
        self._personas = personas
        self._ids = dict(known)

    async def answers(self, lines: Iterable[Line]) -> list[Answer]:
        """The answer to each."""
        return [await self.answer(line) for line in lines]

    async def answer(self, line: Line) -> Answer:
        """Send one request; remember the id that it makes."""
        headers = {**self._personas[line.who], OUTCOME: line.outcome, **line.headers}
        content = None
        if line.body is not None:
            # a text is sent as it is: it may be no JSON
            content = self._filled(line.body if isinstance(line.body, str) else json.dumps(line.body))
            headers.setdefault("Content-Type", "application/json")
        got = await self._client.request(line.method, self._filled(line.path), content=content, headers=headers)
        body = decoded(got)
        if line.save:
            self._save(line.save, body)
        return Answer(got.status_code, got.headers.get("content-type", "").partition(";")[0], self._told(body))

    def _filled(self, text: str) -> str:
        return _NAME.sub(lambda found: self._ids.get(found[1], found[0]), text)

    def _save(self, name: str, body: Any) -> None:
        if isinstance(body, dict):
            made = next(iter(body.values()))
            if isinstance(made, dict) and isinstance(made.get("id"), str):
                self._ids[name] = made["id"]

    def _told(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._told(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._told(item) for item in value]
        return self._told_text(value) if isinstance(value, str) else value

    def _told_text(self, text: str) -> str:
        text = _TIME.sub("{time}", _STATEMENT.sub("", text)).replace(str(self._client.base_url).rstrip("/"), "{url}")
        for name, id_ in self._ids.items():
            text = text.replace(id_, f"{{{name}}}")
        return _UUID.sub("{uuid}", text)


def decoded(answer: httpx.Response) -> Any:
    """The body: JSON if it is any."""
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        return answer.text
