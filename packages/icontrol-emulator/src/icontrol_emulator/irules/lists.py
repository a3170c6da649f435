"""Tcl's commands for lists and arrays beyond the basic ones."""

from __future__ import annotations

from functools import cmp_to_key

from icontrol_emulator.irules.expressions import Failed, number
from icontrol_emulator.irules.interpreter import Do, Interpreter, glob, index_of, joined, split


def _lrange(tcl: Interpreter, words: list[str]) -> str:
    values = split(words[0])
    first, last = max(0, index_of(words[1], len(values))), index_of(words[2], len(values))
    return joined(values[first : last + 1])


def _linsert(tcl: Interpreter, words: list[str]) -> str:
    values = split(words[0])
    at = len(values) if words[1] == "end" else max(0, index_of(words[1], len(values)))
    return joined([*values[:at], *words[2:], *values[at:]])


def _lreplace(tcl: Interpreter, words: list[str]) -> str:
    values = split(words[0])
    first, last = max(0, index_of(words[1], len(values))), index_of(words[2], len(values))
    return joined([*values[:first], *words[3:], *values[max(first, last + 1) :]])


def _lset(tcl: Interpreter, words: list[str]) -> str:
    name, at, value = words
    values = split(tcl.variables[name])
    place = index_of(at, len(values))
    if not 0 <= place < len(values):
        raise Failed("list index out of range")
    values[place] = value
    tcl.variables[name] = joined(values)
    return tcl.variables[name]


def _lsort(tcl: Interpreter, words: list[str]) -> str:
    *options, text = words
    values, at = split(text), options.index("-index") if "-index" in options else -1

    def key(value: str) -> str:
        return split(value)[int(options[at + 1])] if at >= 0 else value

    def compare(left: str, right: str) -> int:
        first, second = key(left), key(right)
        if "-integer" in options or "-real" in options:
            low, high = number(first), number(second)
            if low is None or high is None:
                raise Failed(f'expected number but got "{(first if low is None else second)[:100]}"')
            return (low > high) - (low < high)
        if "-dictionary" in options:
            first, second = first.lower(), second.lower()
        return (first > second) - (first < second)

    if "-unique" in options:
        values = list({key(value): value for value in values}.values())
    return joined(sorted(values, key=cmp_to_key(compare), reverse="-decreasing" in options))


def _array(tcl: Interpreter, words: list[str]) -> str:
    what, name, *rest = words
    found = {
        key[len(name) + 1 : -1]: value
        for key, value in tcl.variables.items()
        if key.startswith(f"{name}(") and key.endswith(")")
    }
    if what == "set":
        pairs = split(rest[0])
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            tcl.variables[f"{name}({key})"] = value
        return ""
    pattern = rest[0] if rest else "*"
    chosen = {key: value for key, value in found.items() if glob(pattern, key)}
    if what == "unset":
        for key in chosen:
            del tcl.variables[f"{name}({key})"]
        return ""
    if what == "get":
        return joined([text for pair in chosen.items() for text in pair])
    shown = {"exists": str(int(bool(found))), "size": str(len(found)), "names": joined(list(chosen))}
    if what not in shown:
        raise Failed(f'bad option "{what}" of array')
    return shown[what]


COMMANDS: dict[str, Do] = {
    "array": _array, "linsert": _linsert, "lrange": _lrange, "lreplace": _lreplace, "lset": _lset, "lsort": _lsort,
}  # fmt: skip
