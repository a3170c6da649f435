"""A recorded table: stories of requests, and the answer that the compared API gives to each.

A table is a file of JSON, one request a line, in order; the requests of one story need each other. Ids that a story
makes have names: the request that makes an object says ``save``, and later ones have ``{name}`` in path and body.
Recorded answers have the same ``{name}``, and ``{uuid}``, ``{time}`` and ``{url}`` for what differs from run to run.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Of either API."""

    status: int
    type: str = ""
    """Media type, without parameters; empty without a body."""
    body: Any = None
    """Decoded JSON."""


@dataclass(frozen=True)
class Line:
    """A request, and what is expected."""

    story: str
    method: str
    path: str
    body: Any = None
    who: str = "member"
    """A persona of the kit."""
    headers: dict[str, str] = field(default_factory=dict)
    save: str = ""
    """The name of the id in the answer; later requests have it in braces."""
    outcome: str = "ACTIVE"
    """What the device makes of the change: ACTIVE, ERROR or PENDING (it says nothing before the next request)."""
    on_purpose: str = ""
    """Empty: we answer the same. Else the row of ``docs/reference/differences.md`` (first cell) with the reason."""
    expected: Answer | None = None
    """The compared API's answer; None: not recorded yet."""
    ours: Answer | None = None
    """Our answer, where it differs on purpose."""

    def __str__(self) -> str:
        return f"{self.story}: {self.method} {self.path} {'' if self.body is None else json.dumps(self.body)}"[:300]


def read(file: Path) -> list[Line]:
    """The lines of a table."""
    return [_line(json.loads(text)) for text in file.read_text().splitlines()]


def write(file: Path, lines: Iterable[Line]) -> None:
    """Replace a table. What has its default is left out."""
    file.write_text("".join(json.dumps(_without_defaults(line), ensure_ascii=False) + "\n" for line in lines))


def stories(lines: Iterable[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Lines by story, in order."""
    for name, group in groupby(lines, key=lambda line: line.story):
        yield name, list(group)


def request_of(line: Line) -> Line:
    """The request alone, to be compared with another one."""
    return replace(line, expected=None, ours=None)


def _line(values: dict[str, Any]) -> Line:
    answers = {name: Answer(**values.pop(name)) for name in ("expected", "ours") if name in values}
    return Line(**values, **answers)


def _without_defaults(line: Line) -> dict[str, Any]:
    empty = asdict(Line(story="", method="", path=""))
    return {name: value for name, value in asdict(line).items() if value != empty[name]}
