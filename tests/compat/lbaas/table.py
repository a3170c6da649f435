"""The recorded table: one file of JSON lines a resource, in ``data``.

The first line of a file tells where its facts come from. Each other line is a request, with the answer of Neutron's
LBaaS; requests of one file are made one after the other, and may name what earlier ones made.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evenkeel.core.kit.values import Value

DATA = Path(__file__).parent / "data"


class Source(Value):
    """The first line of a file."""

    about: str
    source: str
    """Where the facts come from."""


class ChallengesAnswered(Value, omit_defaults=True):
    """What identifies an answer to a client."""

    status: int
    type: str = ""
    """Of an error."""
    keys: str = ""
    """Of the body, and of the object in it, or of the first of a list: ``listeners: admin_state_up …``. Which one
    is the first goes by random ids: a list is of objects that have the same keys."""


class Line(Value, omit_defaults=True):
    """One request."""

    ask: str
    """Method and path below ``/v2.0``; ``{name}`` stands for the id of what was kept under that name."""
    by: str = "member"
    """Who asks: a name of :data:`evenkeel's personas`, or nobody."""
    send: Any = None
    """The body; a text is sent as it is."""
    headers: dict[str, str] = {}
    keep: str = ""
    """The name under which to keep the id of what is in the answer."""
    answer: ChallengesAnswered | None = None
    """None: not recorded yet."""
    holds: dict[str, Any] = {}
    """Values in the object of the answer that must be the same."""
    message: str = ""
    """Of the error, as Neutron has it; for reading."""
    ours: ChallengesAnswered | None = None
    """Our answer, where it differs on purpose."""
    why: str = ""
    """The row of ``docs/reference/differences.md`` that has the reason, by the text of its first cell."""

    @property
    def tag(self) -> str:
        """``equal``, or ``on purpose``."""
        return "on purpose" if self.why else "equal"


class Table(Value):
    """One file."""

    name: str
    source: Source
    lines: tuple[Line, ...]


_source = msgspec.json.Decoder(Source)
_line = msgspec.json.Decoder(Line)


def read(path: Path) -> Table:
    """A file of the table. Raises :class:`msgspec.DecodeError`."""
    first, *rest = path.read_bytes().splitlines()
    return Table(name=path.stem, source=_source.decode(first), lines=tuple(_line.decode(each) for each in rest))


def write(table: Table) -> None:
    """Write the file anew."""
    lines = (msgspec.json.encode(each) for each in (table.source, *table.lines))
    (DATA / f"{table.name}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def tables() -> Iterator[Table]:
    """All files, by name."""
    for path in sorted(DATA.glob("*.jsonl")):
        yield read(path)
