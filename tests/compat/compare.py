"""What differs between an expected answer and ours."""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from tests.compat.table import Answer

ANY = "{any}"
"""In an expected body: any value."""
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
    if expected == ANY:
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
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(f"{where}[{number}]", key, one, other, extras, failed=failed)
    elif failed and key in TEXTS and isinstance(expected, str) and isinstance(got, str) and expected:
        if not got.startswith(expected):
            yield f"{where} {got!r} does not begin with {expected!r}"
    elif type(expected) is not type(got) or expected != got:
        yield f"{where} is {got!r}, not {expected!r}"
