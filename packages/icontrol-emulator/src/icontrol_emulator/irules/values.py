"""Tcl's commands `scan` and `clock`, and `crc32`."""

from __future__ import annotations

import re
import time
import zlib
from datetime import UTC, datetime

from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Do, Interpreter, joined

_CONVERSION = re.compile(r"%(\*?)(\d*)(?:l?)([dxouscf]|\[\^?\]?[^\]]*\])")
_PATTERNS = {"d": r"[-+]?\d", "x": r"[0-9a-fA-F]", "o": r"[0-7]", "u": r"\d", "s": r"\S", "f": r"[-+.eE\d]"}
_BASES = {"d": 10, "x": 16, "o": 8, "u": 10}


def _scan(tcl: Interpreter, words: list[str]) -> str:
    """`scan TEXT FORMAT [NAME...]`: the number of conversions, or without names the list of values."""
    text, form, *names = words
    values = _converted(text, form)
    if not names:
        return joined(values)
    for name, value in zip(names, values, strict=False):
        tcl.variables[name] = value
    return str(len(values)) if values or text else "-1"


def _converted(text: str, form: str) -> list[str]:
    values: list[str] = []
    at = here = 0
    while here < len(form):
        match = _CONVERSION.match(form, here)
        if match is None:
            if form[here].isspace():
                at += len(text[at:]) - len(text[at:].lstrip())
            elif text[at : at + 1] == form[here]:
                at += 1
            else:
                break
            here += 1
            continue
        here = match.end()
        skipped, width, kind = match.groups()
        if kind not in "c" and kind[0] != "[":
            at += len(text[at:]) - len(text[at:].lstrip())
        found = _taken(text[at:], kind, int(width or 0))
        if not found:
            break
        at += len(found)
        if not skipped:
            values.append(_value(found, kind))
    return values


def _taken(text: str, kind: str, width: int) -> str:
    if kind == "c":
        return text[:1]
    sign = r"[-+]?" if kind == "d" else ""
    one = kind if kind[0] == "[" else _PATTERNS[kind].removeprefix("[-+]?")
    match = re.match(f"{sign}(?:{one}){{1,{width or 1000}}}", text)
    return match.group() if match else ""


def _value(text: str, kind: str) -> str:
    if kind == "c":
        return str(ord(text))
    return str(int(text, _BASES[kind])) if kind in _BASES else text


def _clock(tcl: Interpreter, words: list[str]) -> str:
    match words:
        case ["seconds"]:
            return str(int(time.time()))
        case ["clicks", "-milliseconds"]:
            return str(int(time.time() * 1000))
        case ["clicks", *_]:
            return str(int(time.time() * 1_000_000))
        case ["format", seconds, *options]:
            given = dict(zip(options[::2], options[1::2], strict=False))
            moment = datetime.fromtimestamp(int(seconds), UTC)
            return moment.strftime(given.get("-format", "%a %b %d %H:%M:%S GMT %Y"))
    raise Failed(f"clock {' '.join(words)[:50]} is not supported by this emulator")


COMMANDS: dict[str, Do] = {
    "scan": _scan, "clock": _clock,
    "crc32": lambda tcl, words: str(zlib.crc32(words[0].encode("latin-1", "replace"))),
}  # fmt: skip
