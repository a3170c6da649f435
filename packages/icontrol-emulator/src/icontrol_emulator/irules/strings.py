"""Tcl's commands for strings and regular expressions, beyond comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable

from icontrol_emulator.irules import patterns
from icontrol_emulator.irules.expressions import Failed, number, truth
from icontrol_emulator.irules.interpreter import TEXT_MAX, Do, Interpreter, index_of, joined, split, string

FIELD_MAX = 10_000
_FORMAT = re.compile(r"%(?:(\d+)\$)?([-+ 0#]*)(\d*)(?:\.(\d+))?[hl]?([a-zA-Z%])")


def _regexp(tcl: Interpreter, words: list[str]) -> str:
    """`regexp [-nocase] [-all] [-inline] [-indices] [-start N] EXPRESSION TEXT [NAME...]`."""
    options, (pattern, text, *names) = _options(words)
    at = index_of(options.get("-start", "0"), len(text))
    found = patterns.find_all(pattern, text, nocase="-nocase" in options, at=max(0, at))
    matches = list(found) if "-all" in options else [each for each in [next(found, None)] if each is not None]

    def shown(span: tuple[int, int]) -> str:
        if "-indices" in options:
            return f"{span[0]} {span[1] - 1 if span[0] >= 0 else -1}"
        return text[span[0] : span[1]] if span[0] >= 0 else ""

    if "-inline" in options:
        return joined([shown(span) for match in matches for span in match])
    if matches:
        for name, span in zip(names, [*matches[-1], *[(-1, -1)] * len(names)], strict=False):
            tcl.variables[name] = shown(span)
    return str(len(matches))


def _regsub(tcl: Interpreter, words: list[str]) -> str:
    """`regsub [-nocase] [-all] [-start N] EXPRESSION TEXT REPLACEMENT [NAME]`."""
    options, (pattern, text, by, *name) = _options(words)
    at = max(0, index_of(options.get("-start", "0"), len(text)))
    pieces: list[str] = []
    count = last = size = 0
    for match in patterns.find_all(pattern, text, nocase="-nocase" in options, at=at):
        first, end = match[0]
        piece = text[last:first] + _replaced(by, text, match)
        size += len(piece)
        if size > TEXT_MAX:
            raise Failed("a text is too long")
        pieces.append(piece)
        last, count = end, count + 1
        if "-all" not in options:
            break
    done = "".join([*pieces, text[last:]])
    if not name:
        return done
    tcl.variables[name[0]] = done
    return str(count)


def _replaced(by: str, text: str, match: patterns.Spans) -> str:
    def group(number: int) -> str:
        first, last = match[number] if number < len(match) else (-1, -1)
        return text[first:last] if first >= 0 else ""

    def one(found: re.Match[str]) -> str:
        sign = found.group()
        if sign == "&":
            return group(0)
        return group(int(sign[1])) if sign[1].isdigit() else sign[1]

    return re.sub(r"\\[0-9\\&]|&", one, by)


def _options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    rest, found = list(words), {}
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option not in ("-nocase", "-all", "-inline", "-indices", "-start", "-line", "-lineanchor", "-linestop",
                          "-expanded", "-about"):  # fmt: skip
            raise Failed(f'bad switch "{option}"')
        found[option] = rest.pop(0) if option == "-start" else ""
    return found, rest


def _format(tcl: Interpreter, words: list[str]) -> str:
    template, *values = words
    left = iter(values)

    def one(match: re.Match[str]) -> str:
        place, flags, width, precision, kind = match.groups()
        if kind == "%":
            return "%"
        if int(width or 0) > FIELD_MAX or int(precision or 0) > FIELD_MAX:
            raise Failed("a field is too wide")
        value = values[int(place) - 1] if place else next(left, None)
        if value is None:
            raise Failed("not enough arguments for all format specifiers")
        return _field(f"%{flags}{width}{f'.{precision}' if precision else ''}", kind, value)

    return _FORMAT.sub(one, template)


def _field(form: str, kind: str, value: str) -> str:
    if kind == "s":
        return (form + "s") % value
    given = number(value)
    if given is None:
        raise Failed(f'expected number but got "{value[:100]}"')
    if kind == "c":
        return (form + "s") % chr(int(given) % 0x110000)
    if kind in "dioxXu":
        whole = int(given)
        if kind in "xXou" and whole < 0:
            whole %= 2**64
        return (form + {"u": "d", "i": "d"}.get(kind, kind)) % whole
    if kind in "feEgG":
        return (form + kind) % float(given)
    raise Failed(f'bad field specifier "{kind}"')


_IS: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha, "alnum": str.isalnum, "digit": str.isdigit, "space": str.isspace, "upper": str.isupper,
    "lower": str.islower, "ascii": str.isascii, "print": str.isprintable,
    "integer": lambda text: isinstance(number(text), int), "double": lambda text: number(text) is not None,
    "xdigit": lambda text: re.fullmatch(r"[0-9a-fA-F]+", text) is not None,
    "wordchar": lambda text: re.fullmatch(r"\w+", text) is not None,
    "boolean": lambda text: _is_truth(text), "true": lambda text: _is_truth(text) and truth(text),
    "false": lambda text: _is_truth(text) and not truth(text),
    "control": lambda text: all(ord(sign) < 32 or ord(sign) == 127 for sign in text),
    "punct": lambda text: all(not sign.isalnum() and sign.isprintable() and sign != " " for sign in text),
}  # fmt: skip


def _is_truth(text: str) -> bool:
    return text.lower() in ("true", "yes", "on", "false", "no", "off", "0", "1")


def _string(tcl: Interpreter, words: list[str]) -> str:
    match words:
        case ["is", kind, *options, text]:
            if kind not in _IS:
                raise Failed(f'bad class "{kind}"')
            return str(int(_IS[kind](text) if text else "-strict" not in options))
        case ["repeat", text, count]:
            if len(text) * int(count) > TEXT_MAX:
                raise Failed("a text is too long")
            return text * int(count)
        case ["replace", text, first, last, *new]:
            start, end = max(0, index_of(first, len(text))), index_of(last, len(text))
            if start > end:
                return text
            return text[:start] + "".join(new) + text[end + 1 :]
        case ["totitle", text]:
            return text[:1].upper() + text[1:].lower()
        case ["bytelength", text]:
            return str(len(text.encode()))
        case ["first" | "last" as what, sought, text, start]:
            at = index_of(start, len(text))
            return str(text.find(sought, at) if what == "first" else text.rfind(sought, 0, at + len(sought)))
        case ["map", "-nocase", table, text]:
            return _mapped(table, text)
    return string(tcl, words)


def _mapped(table: str, text: str) -> str:
    pairs = split(table)
    by = {key.lower(): value for key, value in zip(pairs[::2], pairs[1::2], strict=True)}
    keys = "|".join(re.escape(key) for key in by)
    return re.sub(keys, lambda match: by[match.group().lower()], text, flags=re.IGNORECASE) if by else text


COMMANDS: dict[str, Do] = {"regexp": _regexp, "regsub": _regsub, "format": _format, "string": _string}
