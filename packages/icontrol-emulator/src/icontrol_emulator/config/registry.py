"""The object types of a device, by path.

Every subcollection that a type names is registered itself, and the organising collections (`/ltm`, `/ltm/profile`) are
exactly the proper prefixes of types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from icontrol_emulator.config.releases import USUAL, Release
from icontrol_emulator.config.schema import TypeSpec


class Registry:
    def __init__(self, specs: Iterable[TypeSpec], release: Release = USUAL) -> None:
        self.release = release
        self._specs = {spec.path: spec for spec in specs}
        self._organising: dict[str, list[str]] = {}
        self._words: dict[str, str] = {}
        for spec in self._specs.values():
            self._words.setdefault(spec.name_space, spec.word)
            missing = [sub for sub in spec.subs if f"{spec.path}/{sub}" not in self._specs]
            if missing:
                raise ValueError(f"{spec.path}: subcollections without a type: {missing}")
            if not spec.owner:
                self._enter_prefixes(spec.path)

    def _enter_prefixes(self, path: str) -> None:
        above, _, last = path.rpartition("/")
        if not above:
            return
        below = self._organising.setdefault(above, [])
        if last not in below:
            below.append(last)
            below.sort()
        self._enter_prefixes(above)

    def __iter__(self) -> Iterator[TypeSpec]:
        return iter(self._specs.values())

    def get(self, path: str) -> TypeSpec | None:
        return self._specs.get(path)

    def __getitem__(self, path: str) -> TypeSpec:
        return self._specs[path]

    def family(self, path: str) -> str:
        return self._specs[path].name_space

    def word(self, family: str) -> str:
        return self._words.get(family, family)

    def organised(self, path: str) -> list[str] | None:
        """Names below an organising collection, or None if the path is not one."""
        return self._organising.get(path)
