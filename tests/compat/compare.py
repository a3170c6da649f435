"""What differs between an expected answer and ours."""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from tests.compat.table import Answer

ANY = "{any}"
"""In an expected body: any value."""
_ID = re.compile(r"\{\w+\}")
UNORDERED = frozenset({"tags"})
TEXTS = frozenset({"faultstring", "message", "description"})
"""Of errors: hints of ours may follow after the expected text."""


def differences(expected: Answer, got: Answer, extras: Mapping[str, Set[str]] | None = None) -> list[str]:
    """Each in words; none if they are equal. ``extras``: attributes that only we have, by the object's key."""
    found = [f"status {got.status}, not {expected.status}"] if got.status != expected.status else []
    if got.type != expected.type:
        found.append(f"type {got.type!r}, not {expected.type!r}")
    failed = expected.status >= 400
    return found + list(_differences("", "", expected.body, got.body, extras or {}, failed=failed))


def _differences(
    where: str, key: str, expected: Any, got: Any, extras: Mapping[str, Set[str]], *, failed: bool
) -> Iterator[str]:
    if expected == ANY or (expected == "{uuid}" and isinstance(got, str) and _ID.fullmatch(got)):
        return
    if isinstance(expected, dict) and isinstance(got, dict):
        allowed = extras.get(key, frozenset())
        for name in expected.keys() | got.keys():
            if name not in got:
                yield f"{where}.{name} lacks"
            elif name in expected:
                yield from _differences(f"{where}.{name}", name, expected[name], got[name], extras, failed=failed)
            elif name not in allowed:
                yield f"{where}.{name} is too many"
    elif key in UNORDERED and isinstance(expected, list) and isinstance(got, list):
        if sorted(expected) != sorted(got):
            yield f"{where} is {got!r}, not {expected!r}"
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{where}[{number}]", key, one, other, extras, failed=failed)
    elif failed and key in TEXTS and isinstance(got, str):
        if expected and not _plain(got).startswith(_plain(expected)):
            yield f"{where} {got!r} does not begin with {expected!r}"
    elif type(expected) is not type(got) or expected != got:
        yield f"{where} is {got!r}, not {expected!r}"


def _plain(text: str) -> str:
    """Without what says nothing: how far a long value is repeated, and the order of choices."""
    text = re.sub(r"x{100,}…?", "x…", text)
    return re.sub(r"(?<=one of: )[\w .,-]+?(?=\.? *$)", lambda found: ", ".join(sorted(found[0].split(", "))), text)
