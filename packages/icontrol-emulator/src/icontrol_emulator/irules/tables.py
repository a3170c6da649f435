"""`table`: the device's session table, with time-outs, lifetimes and subtables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from icontrol_emulator.irules.expressions import Failed, number
from icontrol_emulator.irules.interpreter import Interpreter, joined

ENTRIES_MAX = 100_000
DEFAULT_SECONDS = 180.0
NEVER = float("inf")


@dataclass(slots=True)
class Entry:
    value: str
    timeout_seconds: float
    until: float
    """When the entry ends whatever happens."""
    touched: float


@dataclass(slots=True)
class SessionTable:
    """Entries by subtable and key, shared by all connections of a device."""

    clock: Callable[[], float]
    _entries: dict[tuple[str, str], Entry] = field(default_factory=dict)

    def __call__(self, tcl: Interpreter, words: list[str]) -> str:
        what, *rest = words
        run = getattr(self, f"_do_{what}", None)
        if run is None:
            raise Failed(f'bad option "{what}" of table')
        flags: set[str] = set()
        subtable = ""
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option == "--":
                break
            if option in ("-subtable", "-georedundancy"):
                subtable = rest.pop(0)
            else:
                flags.add(option)
        if what == "keys" and "-subtable" in rest:
            subtable = rest[rest.index("-subtable") + 1]
        result: str = run(flags, subtable, rest)
        return result

    def _live(self, subtable: str, key: str, *, touch: bool) -> Entry | None:
        entry = self._entries.get((subtable, key))
        if entry is None:
            return None
        now = self.clock()
        if now >= entry.until or now >= entry.touched + entry.timeout_seconds:
            del self._entries[subtable, key]
            return None
        if touch:
            entry.touched = now
        return entry

    def _put(self, subtable: str, words: list[str]) -> str:
        key, value = words[:2]
        while len(self._entries) >= ENTRIES_MAX:
            del self._entries[next(iter(self._entries))]
        now = self.clock()
        lifetime = _seconds(words[3:4], NEVER)
        self._entries[subtable, key] = Entry(value, _seconds(words[2:3], DEFAULT_SECONDS), now + lifetime, now)
        return value

    def _do_set(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch="-notouch" not in flags)
        if known is not None and "-excl" in flags:
            return known.value
        if known is None and "-mustexist" in flags:
            return ""
        return self._put(subtable, words)

    def _do_add(self, flags: set[str], subtable: str, words: list[str]) -> str:
        return self._do_set(flags | {"-excl"}, subtable, words)

    def _do_replace(self, flags: set[str], subtable: str, words: list[str]) -> str:
        return self._do_set(flags | {"-mustexist"}, subtable, words)

    def _do_lookup(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch="-notouch" not in flags)
        return known.value if known is not None else ""

    def _do_incr(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch="-notouch" not in flags)
        if known is None:
            if "-mustexist" in flags:
                return ""
            self._put(subtable, [words[0], "0"])
            known = self._entries[subtable, words[0]]
        before, step = number(known.value), number(words[1]) if len(words) > 1 else 1
        known.value = str((before if isinstance(before, int) else 0) + int(step or 0))
        return known.value

    def _do_append(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch="-notouch" not in flags)
        if known is None:
            return "" if "-mustexist" in flags else self._put(subtable, words)
        known.value += words[1]
        return known.value

    def _do_delete(self, flags: set[str], subtable: str, words: list[str]) -> str:
        if "-all" in flags:
            for place in [place for place in self._entries if place[0] == subtable]:
                del self._entries[place]
        else:
            self._entries.pop((subtable, words[0]), None)
        return ""

    def _do_timeout(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch="-notouch" not in flags and "-remaining" not in flags)
        if known is None:
            return "-1"
        if len(words) > 1:
            known.timeout_seconds = _seconds(words[1:2], DEFAULT_SECONDS)
        left = known.touched + known.timeout_seconds - self.clock() if "-remaining" in flags else known.timeout_seconds
        return "indefinite" if left == NEVER else str(int(left))

    def _do_lifetime(self, flags: set[str], subtable: str, words: list[str]) -> str:
        known = self._live(subtable, words[0], touch=False)
        if known is None:
            return "-1"
        if len(words) > 1:
            known.until = self.clock() + _seconds(words[1:2], NEVER)
        return "indefinite" if known.until == NEVER else str(int(known.until - self.clock()))

    def _do_keys(self, flags: set[str], subtable: str, words: list[str]) -> str:
        keys = [key for place, key in list(self._entries) if place == subtable]
        live = [key for key in keys if self._live(subtable, key, touch=False) is not None]
        return str(len(live)) if "-count" in {*flags, *words} else joined(live)


def _seconds(words: list[str], default: float) -> float:
    if not words:
        return default
    if words[0] in ("indefinite", "indef", "0"):
        return NEVER
    if not words[0].isdigit():
        raise Failed(f"invalid timeout {words[0][:50]}")
    return float(words[0])
