"""Checks that a device makes when it loads a rule: syntax, events, commands and the events they are valid in, and
names.

Texts are those of devices where known (bitwisecook/tcl-lsp's document; the form of 01070151 as F5's editors parse it).
Words with substitutions are known only when the rule runs, and are not checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from icontrol_emulator.irules.catalogue import (
    COMMANDS,
    DISABLED,
    EVENT_PREFIXES_NOT_EMULATED,
    EVENTS,
    is_foreign,
)
from icontrol_emulator.irules.expressions import nested, parsed
from icontrol_emulator.irules.interpreter import split
from icontrol_emulator.irules.syntax import Located, Nested, SyntaxFault, Word, literals, located

SOURCE_CHARACTERS = 200
DEPTH_MAX = 40
PRIORITY_MAX = 1000


class BadRule(Exception):
    """A device refuses the rule: the line, the reason, and the command."""

    def __init__(self, line: int, reason: str, source: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.source = source


class Reference(NamedTuple):
    """An object that a rule names by a literal: `pool`, `value_list`, `virtual` or `snatpool`."""

    kind: str
    name: str
    line: int
    source: str


@dataclass(slots=True)
class Examined:
    """The parts of a rule."""

    events: list[str] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


@functools.lru_cache(maxsize=1024)
def examine(rule: str) -> Examined:
    """Check a whole rule. Raises `BadRule`."""
    checker = _Checker(rule)
    checker.run()
    return checker.found


class _Place(NamedTuple):
    """The event, empty inside a procedure; the line on which the script begins; how deep scripts are nested."""

    event: str
    line: int
    depth: int = 0

    def below(self, line: int) -> _Place:
        return _Place(self.event, line, self.depth + 1)


class _Checker:
    def __init__(self, rule: str) -> None:
        self._rule = rule
        self.found = Examined()
        self._procedures: set[str] = set()

    def run(self) -> None:
        for line, source, command, words in self._commands(self._rule, 1):
            if words[0] == "when":
                self._handler(line, source, command, words)
            elif words[0] == "proc":
                if len(words) != 4:
                    raise BadRule(line, 'wrong # args: should be "proc name args body"', source)
                self._script(words[3], _Place("", line + self._rule[command.at : command.starts[3]].count("\n")))
            elif words[0] not in ("timing", "priority"):
                raise BadRule(line, "command is not valid in the current scope", source)

    def _commands(self, text: str, line: int) -> Iterator[tuple[int, str, Located, list[str]]]:
        """Line, source, words with places, and literal words of each command."""
        at = 0
        try:
            for command in located(text):
                at = command.end
                source = " ".join(text[command.at : command.end].split())[:SOURCE_CHARACTERS]
                yield line + text.count("\n", 0, command.at), source, command, literals(command.words)
        except SyntaxFault as error:
            raise BadRule(line + text.count("\n", 0, at), f"parse error: {error}") from error

    def _handler(self, line: int, source: str, command: Located, words: list[str]) -> None:
        event = words[1] if len(words) > 1 else ""
        source = f"when {event}"
        if event not in EVENTS:
            if event.startswith(EVENT_PREFIXES_NOT_EMULATED):
                raise BadRule(line, f"event {event} is not supported by this emulator", source)
            raise BadRule(line, f"unknown event ({event})", source)
        if event in self.found.events:
            raise BadRule(line, "Duplicate event", source)
        options = words[2:-1]
        while options:
            name = options.pop(0)
            value = options.pop(0) if options else ""
            is_priority = name == "priority" and value.isdigit() and int(value) <= PRIORITY_MAX
            if not is_priority and not (name == "timing" and value in ("on", "off")):
                raise BadRule(line, f'unexpected extra argument "{value or name}"', source)
        if len(words) < 3:
            raise BadRule(line, f'missing a script after "{event}"', source)
        self.found.events.append(event)
        self._script(words[-1], _Place(event, line + self._rule[command.at : command.starts[-1]].count("\n")))

    # -- scripts

    def _script(self, text: str, place: _Place) -> None:
        if place.depth > DEPTH_MAX:
            raise BadRule(place.line, "too many nested scripts")
        for line, source, command, words in self._commands(text, place.line):
            here = _Place(place.event, line, place.depth)
            self._name(words[0], line, source, place.event, is_literal=_is_literal(command.words[0]))
            for word in command.words:
                self._word(word, here)
            lines = [line + text.count("\n", command.at, start) for start in command.starts]
            look = BODIES.get(words[0])
            if look is not None:
                look(self, words, lines, here, source)
            self._reference(words, line, source)

    def _name(self, name: str, line: int, source: str, event: str, *, is_literal: bool) -> None:
        if not is_literal:
            return
        name = name.removeprefix("::") if name.count("::") == 1 else name
        events = COMMANDS.get(name)
        if name in DISABLED:
            raise BadRule(line, f'command is disabled: "{name}"', source)
        if name in ("when", "timing"):
            raise BadRule(line, "command is not valid in the current scope", source)
        if events is None and is_foreign(name):
            raise BadRule(line, f"{name} is not supported by this emulator", source)
        if events is None:
            raise BadRule(line, f"undefined procedure: {name}", source)
        if event and event not in events:
            raise BadRule(line, f"command is not valid in current event context ({event})", source)

    def _word(self, word: Word, place: _Place) -> None:
        for part in word:
            if isinstance(part, Nested):
                self._script(part.script, place.below(place.line))
            elif not isinstance(part, str):
                self._word(part.index, place)

    def _expression(self, text: str, place: _Place, source: str) -> None:
        if not text:
            return
        try:
            parsed(text)
            scripts = nested(text)
        except SyntaxFault as error:
            raise BadRule(place.line, f"parse error: {error}", source) from error
        for script in scripts:
            self._script(script, place.below(place.line))

    # -- commands with scripts and expressions in them

    def _if(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        at = 1
        while True:
            if at >= len(words):
                raise BadRule(place.line, f'missing an expression after "{words[at - 1]}"', source)
            self._expression(words[at], place.below(lines[at]), source)
            at += 1
            if words[at : at + 1] == ["then"]:
                at += 1
            if at >= len(words):
                raise BadRule(place.line, f'missing a script after "{"if" if at == 2 else words[at - 1]}"', source)
            self._script(words[at], place.below(lines[at]))
            at += 1
            if words[at : at + 1] != ["elseif"]:
                break
            at += 1
        if words[at : at + 1] == ["else"]:
            at += 1
            if at >= len(words):
                raise BadRule(place.line, 'missing a script after "else"', source)
        if at < len(words):
            self._script(words[at], place.below(lines[at]))
        if at + 1 < len(words):
            raise BadRule(place.line, f'unexpected extra argument "{words[at + 1]}"', source)

    def _while(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        self._count(words, 3, "while test command", place, source)
        self._expression(words[1], place, source)
        self._script(words[2], place.below(lines[2]))

    def _for(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        self._count(words, 5, "for start test next command", place, source)
        self._expression(words[2], place, source)
        for at in (1, 3, 4):
            self._script(words[at], place.below(lines[at]))

    def _foreach(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        if len(words) < 4 or len(words) % 2:
            raise BadRule(
                place.line, 'wrong # args: should be "foreach varList list ?varList list ...? command"', source
            )
        self._script(words[-1], place.below(lines[-1]))

    def _switch(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 1
            if words[at - 1] == "--":
                break
        cases, base = words[at + 1 :], lines[at + 1 :]
        if not cases:
            raise BadRule(place.line, 'wrong # args: should be "switch ?options? string pattern body"', source)
        if len(cases) == 1:
            try:
                cases = split(cases[0])
            except SyntaxFault as error:
                raise BadRule(place.line, f"parse error: {error}", source) from error
            base = base * max(1, len(cases))
        if len(cases) % 2:
            raise BadRule(place.line, "extra switch pattern with no body", source)
        for script, line in zip(cases[1::2], base[1::2] or base, strict=False):
            if script != "-":
                self._script(script, place.below(line))

    def _catch(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        if len(words) not in (2, 3):
            raise BadRule(place.line, 'wrong # args: should be "catch command ?varName?"', source)
        self._script(words[1], place.below(lines[1]))

    def _expr(self, words: list[str], lines: list[int], place: _Place, source: str) -> None:
        if len(words) == 2:
            self._expression(words[1], place, source)

    def _count(self, words: list[str], count: int, usage: str, place: _Place, source: str) -> None:
        if len(words) != count:
            raise BadRule(place.line, f'wrong # args: should be "{usage}"', source)

    # -- names of objects

    def _reference(self, words: list[str], line: int, source: str) -> None:
        for kind, name in _named(words):
            if name:
                self.found.references.append(Reference(kind, name, line, source))


def _named(words: list[str]) -> Iterator[tuple[str, str]]:
    """The kinds and names of objects in a command; names that are not literal are empty."""
    match words:
        case ["pool", name, *_]:
            yield "pool", name
        case ["active_members", *_, name]:
            yield "pool", name
        case ["virtual", name] if name != "name":
            yield "virtual", name
        case ["class", "exists", *_]:
            return
        case ["class", what, *rest] if rest:
            plain = [word for word in rest if not word.startswith("-")]
            at = {"match": -1, "lookup": -1, "element": -1}.get(what, 0)
            if what not in ("nextelement", "anymore", "donesearch") and plain:
                yield "value_list", plain[at]


def _is_literal(word: Word) -> bool:
    return len(word) == 1 and isinstance(word[0], str)


Look = Callable[[_Checker, list[str], list[int], _Place, str], None]
BODIES: Mapping[str, Look] = {
    "if": _Checker._if, "while": _Checker._while, "for": _Checker._for, "foreach": _Checker._foreach,
    "switch": _Checker._switch, "catch": _Checker._catch, "expr": _Checker._expr,
}  # fmt: skip
"""Commands with scripts or expressions among their words."""
