"""What a trial has shown, as people read it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from tests.equivalence.history import History


class Verdict(NamedTuple):
    """``differences``: between the device with a history and the new one; none: they are equal."""

    history: History
    differences: tuple[str, ...]

    def __str__(self) -> str:
        """The history, and what was different at its end."""
        lines = [f"  first: {shown(tree)}" for tree in self.history.first.values()]
        lines += [f"  step {number}: {shown(step)}" for number, step in enumerate(self.history.steps, start=1)]
        lines += [f"  different: {text}" for text in self.differences]
        return "\n".join(lines)


def shown(one: Any) -> str:
    """A value without its defaults."""
    if isinstance(one, msgspec.Struct):
        return f"{type(one).__name__.removeprefix('Service')}({', '.join(_fields(one))})"
    if isinstance(one, tuple) and hasattr(one, "_fields"):
        return f"{type(one).__name__}({', '.join(f'{name} {shown(value)}' for name, value in one._asdict().items())})"
    if isinstance(one, tuple):
        return f"({', '.join(map(shown, one))})"
    return repr(one)


def _fields(one: msgspec.Struct) -> Iterator[str]:
    for field in msgspec.structs.fields(one):
        value = getattr(one, field.name)
        if value != field.default and value not in ((), {}):
            yield f"{field.name} {shown(value)}"
