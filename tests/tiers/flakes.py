"""``tests/flakes.toml``: tests that failed among others and passed alone.

A test may be there once: a second failure before its entry expires makes the run fail, until someone mends the test."""

import json
import tomllib
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import msgspec

EXPIRY = timedelta(days=14)
HEADER = """\
# Tests that failed in a full run and passed alone, on the quiet machine; written by scripts/test.
# A second failure of a test before its entry expires makes the run fail. Mend the test, then remove its entry.
"""


class Flake(msgspec.Struct, frozen=True):
    """One test that failed and then passed."""

    name: str
    """Its node id."""
    date: date
    seed: int
    """PYTHONHASHSEED of the run."""
    expires: date
    failed: tuple[str, ...]
    """The end of the failure's report."""
    passed: tuple[str, ...]
    """The end of the output of the run in which it passed."""


class UnreadableFlakes(Exception):
    """The file of flakes is not as ``scripts/test`` writes it."""


def new_flake(name: str, today: date, seed: int, failed: Iterable[str], passed: Iterable[str]) -> Flake:
    """An entry that expires after :data:`EXPIRY`."""
    return Flake(name, today, seed, today + EXPIRY, tuple(failed), tuple(passed))


def read(path: Path) -> list[Flake]:
    """All entries, expired ones too. Raises UnreadableFlakes."""
    if not path.exists():
        return []
    try:
        tables = tomllib.loads(path.read_text()).get("flake", [])
        return msgspec.convert(tables, list[Flake])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UnreadableFlakes(f"{path}: {error}") from error


def repeated(entries: Iterable[Flake], names: Iterable[str], today: date) -> list[str]:
    """Those of the names that have an entry which has not expired."""
    held = {entry.name for entry in entries if entry.expires > today}
    return [name for name in names if name in held]


def write(path: Path, entries: Iterable[Flake], today: date) -> None:
    """Write all entries that have not expired; of a name, the last."""
    kept = {entry.name: entry for entry in entries if entry.expires > today}
    path.write_text("\n".join([HEADER, *(_table(kept[name]) for name in sorted(kept))]))


def _table(flake: Flake) -> str:
    lines = [
        "[[flake]]",
        f"name = {_quoted(flake.name)}",
        f"date = {flake.date.isoformat()}",
        f"seed = {flake.seed}",
        f"expires = {flake.expires.isoformat()}",
        f"failed = {_quoted_lines(flake.failed)}",
        f"passed = {_quoted_lines(flake.passed)}",
    ]
    return "\n".join(lines) + "\n"


def _quoted_lines(lines: Iterable[str]) -> str:
    return "[\n" + "".join(f"  {_quoted(line)},\n" for line in lines) + "]"


def _quoted(text: str) -> str:
    # JSON's strings are TOML's but for DEL, which TOML has escaped, and lone surrogates, which it does not have
    clean = text.encode(errors="replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
