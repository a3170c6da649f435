"""Parser of Tcl scripts as a device reads them: commands, words, and the substitutions in words.

Two differences from Tcl, measured on devices by the authors of bitwisecook/tcl-lsp: after a closing brace or quote the
next word begins even without a space, and a line that begins with a brace continues the command above it; so does one
that begins with `else` or `elseif` after `if`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OCTAL = re.compile(r"[0-7]{1,3}")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
CLOSING = {"{": "}", "[": "]"}


class SyntaxFault(Exception):
    """The script cannot be parsed; the text names what is missing or superfluous."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    index: tuple[Part, ...] = ()
    """The index of an array element."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A nested script in brackets, replaced by its result."""

    script: str


Part = str | Variable | Nested
Word = tuple[Part, ...]
Command = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """A command with its place in the script: of its first character, of its end, and of its words."""

    at: int
    end: int
    words: Command
    starts: tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def commands(text: str) -> tuple[Command, ...]:
    """The commands of a script, in order. Raises `SyntaxFault`."""
    return tuple(each.words for each in located(text))


def located(text: str) -> Iterator[Located]:
    """The commands of a script with their places. Raises `SyntaxFault`."""
    at = 0
    while at < len(text):
        at = _skip(text, at, " \t\r\n;")
        if at < len(text) and text[at] == "#":
            at = _comment_end(text, at)
            continue
        start = at
        words, starts, at = _command(text, at)
        if words:
            yield Located(start, at - 1, tuple(words), tuple(starts))


@functools.lru_cache(maxsize=4096)
def parts(text: str) -> Word:
    """A text with its substitutions."""
    return _substituted(text, 0, "")[0]


def escaped(text: str, at: int) -> tuple[str, int]:
    """The character for which the backslash at `at` and what follows stand, and the position behind."""
    octal = _OCTAL.match(text, at + 1)
    if octal is not None:
        return chr(int(octal[0], 8) & 0xFF), octal.end()
    after = text[at + 1]
    return ESCAPES.get(after, after), at + 2


def block_end(text: str, at: int) -> int:
    """The position where the brace or bracket that opens at `at` is closed."""
    opening = text[at]
    closing, depth, here = CLOSING[opening], 0, at
    while here < len(text):
        sign = text[here]
        if sign == "\\":
            here += 1
        elif sign == opening:
            depth += 1
        elif sign == closing:
            depth -= 1
            if depth == 0:
                return here
        here += 1
    raise SyntaxFault(f"missing close-{'brace' if opening == '{' else 'bracket'}")


def substituted(text: str, at: int, ends: str) -> tuple[Word, int]:
    """The parts from `at` up to one of `ends`, and the position of that end."""
    return _substituted(text, at, ends)


def variable(text: str, at: int) -> tuple[Variable | None, int]:
    """The variable whose dollar sign is at `at`, None if the dollar sign is literal, and the position of its end."""
    here = at + 1
    if text[here : here + 1] == "{":
        end = text.find("}", here)
        if end < 0:
            raise SyntaxFault("missing close-brace for variable name")
        return Variable(text[here + 1 : end]), end + 1
    while here < len(text) and (text[here].isalnum() or text[here] == "_" or text[here : here + 2] == "::"):
        here += 2 if text[here] == ":" else 1
    name = text[at + 1 : here]
    if not name:
        return None, at + 1
    if text[here : here + 1] == "(":
        index, end = _substituted(text, here + 1, ")")
        return Variable(name, index), end + 1
    return Variable(name), here


def _skip(text: str, at: int, signs: str) -> int:
    while at < len(text):
        if text[at : at + 2] == "\\\n":
            at += 2
        elif text[at] in signs:
            at += 1
        else:
            break
    return at


def _comment_end(text: str, at: int) -> int:
    while at < len(text) and text[at] != "\n":
        at += 2 if text[at] == "\\" else 1
    return at


def _command(text: str, at: int) -> tuple[list[Word], list[int], int]:
    words: list[Word] = []
    starts: list[int] = []
    while True:
        at = _skip(text, at, " \t\r")
        if text[at : at + 1] == "\n" and words:
            at = _continued(text, at, is_if=words[0] == ("if",))
        if at >= len(text) or text[at] in "\n;":
            return words, starts, at + 1
        starts.append(at)
        word, at = _word(text, at)
        words.append(word)


def _continued(text: str, at: int, *, is_if: bool) -> int:
    """The position at which the next line continues the command, else the line's end."""
    following = _skip(text, at + 1, " \t\r")
    if text[following : following + 1] == "{":
        return following
    return following if is_if and re.match(r"else(if)?[\s{]", text[following : following + 8]) else at


def _word(text: str, at: int) -> tuple[Word, int]:
    if text[at] == "{":
        end = block_end(text, at)
        return (text[at + 1 : end].replace("\\\n", " "),), end + 1
    if text[at] == '"':
        word, end = _substituted(text, at + 1, '"')
        if end >= len(text):
            raise SyntaxFault('missing "')
        return word, end + 1
    return _substituted(text, at, " \t\r\n;")


def _substituted(text: str, at: int, ends: str) -> tuple[Word, int]:
    found: list[Part] = []
    plain: list[str] = []

    def keep(part: Part) -> None:
        if plain:
            found.append("".join(plain))
            plain.clear()
        found.append(part)

    while at < len(text) and text[at] not in ends:
        if text[at] == "\\" and at + 1 < len(text):
            sign, at = (" ", at + 2) if text[at + 1] == "\n" else escaped(text, at)
            plain.append(sign)
        elif text[at] == "[":
            end = block_end(text, at)
            keep(Nested(text[at + 1 : end]))
            at = end + 1
        elif text[at] == "$":
            named, at = variable(text, at)
            if named is None:
                plain.append("$")
            else:
                keep(named)
        else:
            plain.append(text[at])
            at += 1
    if plain or not found:
        found.append("".join(plain))
    return tuple(found), at


@dataclass(frozen=True, slots=True)
class Handler:
    """The handler of an event."""

    event: str
    script: str
    priority: int = 500


@dataclass(frozen=True, slots=True)
class Procedure:
    name: str
    parameters: str
    script: str


@functools.lru_cache(maxsize=1024)
def handlers(rule: str) -> tuple[Handler, ...]:
    """The `when EVENT [priority N] { ... }` handlers of a rule. Raises `SyntaxFault`."""
    found: list[Handler] = []
    default = 500
    for command in commands(rule):
        words = literals(command)
        if words[0] == "priority" and len(words) == 2:
            default = int(words[1]) if words[1].isdigit() else 500
        if words[0] in ("timing", "priority", "proc"):
            continue
        if words[0] != "when" or len(words) < 3:
            raise SyntaxFault("command is not valid in the current scope")
        given = words[words.index("priority") + 1] if "priority" in words[2:-1] else ""
        commands(words[-1])
        found.append(Handler(words[1], words[-1], int(given) if given.isdigit() else default))
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def procedures(rule: str) -> tuple[Procedure, ...]:
    """The `proc NAME {PARAMETERS} { ... }` definitions of a rule. Raises `SyntaxFault`."""
    listed = (literals(command) for command in commands(rule))
    return tuple(Procedure(*words[1:4]) for words in listed if words[0] == "proc" and len(words) == 4)


def literals(command: Command) -> list[str]:
    """The words of a command, those with substitutions as empty texts."""
    return [word[0] if len(word) == 1 and isinstance(word[0], str) else "" for word in command]
