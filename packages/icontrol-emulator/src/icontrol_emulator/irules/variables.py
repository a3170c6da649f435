"""Variables of rules: those of a connection, and `static::` ones, which all connections of a device share."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

VARIABLES_MAX = 1000
STATIC = "static::"


class Variables(MutableMapping[str, str]):
    """Variables by name, elements of arrays as `name(index)`."""

    def __init__(self, static: MutableMapping[str, str] | None = None) -> None:
        self._own: dict[str, str] = {}
        self.static: MutableMapping[str, str] = static if static is not None else {}

    def frame(self) -> Variables:
        """The variables of a procedure: only static ones are shared."""
        return Variables(self.static)

    def _place(self, name: str) -> MutableMapping[str, str]:
        return self.static if name.removeprefix("::").startswith(STATIC) else self._own

    def __getitem__(self, name: str) -> str:
        return self._place(name)[name.removeprefix("::")]

    def __setitem__(self, name: str, value: str) -> None:
        place = self._place(name)
        if len(place) >= VARIABLES_MAX and name not in place:
            raise OverflowError("too many variables")
        place[name.removeprefix("::")] = value

    def __delitem__(self, name: str) -> None:
        del self._place(name)[name.removeprefix("::")]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self.static])

    def __len__(self) -> int:
        return len(self._own) + len(self.static)
