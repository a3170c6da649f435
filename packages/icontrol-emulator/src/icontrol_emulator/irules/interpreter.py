"""Runs scripts: variables with the lifetime of the connection, and the Tcl commands that rules use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping

from icontrol_emulator.irules import patterns
from icontrol_emulator.irules.expressions import Failed, parsed, truth
from icontrol_emulator.irules.syntax import (
    Nested,
    Procedure,
    SyntaxFault,
    Variable,
    Word,
    block_end,
    commands,
    escaped,
    parts,
)
from icontrol_emulator.irules.variables import Variables

STEPS_MAX = 20_000
DEPTH_MAX = 40
TEXT_MAX = 1_048_576


class Unknown(Exception):
    """A command that this interpreter does not support."""


class Exhausted(Failed):
    """The script exceeded its limit of steps; `catch` does not catch this."""


class Stop(Exception):
    """`return`: the event's script or the procedure ends, without an error; the text is its result."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


Do = Callable[["Interpreter", list[str]], str]


class Interpreter:
    """The interpreter of one connection; `own` are the commands bound to the connection."""

    def __init__(self, own: Mapping[str, Do], static: MutableMapping[str, str] | None = None) -> None:
        self.variables = Variables(static)
        self.procedures: dict[str, Procedure] = {}
        self.current_event = ""
        self._own = own
        self.steps = 0
        self._depth = 0

    def event(self, script: str, name: str = "") -> None:
        """Run a handler of an event. Raises `Failed`, `Unknown`."""
        self.steps = 0
        self.current_event = name
        try:
            self.run(script)
        except Stop:
            return
        except (SyntaxFault, RecursionError, patterns.BadPattern) as error:
            raise Failed(str(error)) from error
        except (_Break, _Continue) as error:
            raise Failed("break or continue outside of a loop") from error

    def run(self, script: str) -> str:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise Failed("too many nested evaluations")
        try:
            result = ""
            for command in commands(script):
                result = self._call([self.expand(word) for word in command])
            return result
        finally:
            self._depth -= 1

    def expand(self, word: Word) -> str:
        if len(word) == 1 and isinstance(word[0], str):
            return word[0]
        text = "".join(self._part(part) for part in word)
        if len(text) > TEXT_MAX:
            raise Failed("a text is too long")
        return text

    def evaluate(self, expression: str) -> str:
        return parsed(expression)(self)

    def _part(self, part: str | Variable | Nested) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, Nested):
            return self.run(part.script)
        name = f"{part.name}({self.expand(part.index)})" if part.index else part.name
        if name not in self.variables:
            raise Failed(f'can\'t read "{name}": no such variable')
        return self.variables[name]

    def step(self) -> None:
        """Count a step; loops without a body count too."""
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise Exhausted("too many steps")

    def _call(self, words: list[str]) -> str:
        self.step()
        name, *rest = words
        found = self._own.get(name) or TCL.get(name)
        if found is None:
            raise Unknown(name)
        try:
            return found(self, rest)
        except (IndexError, KeyError, OverflowError, ValueError) as error:
            raise Failed(f'wrong # args or value: "{" ".join(words)[:200]}"') from error


# -- control


def _if(tcl: Interpreter, words: list[str]) -> str:
    rest = list(words)
    while rest:
        condition = rest.pop(0)
        if rest and rest[0] == "then":
            rest.pop(0)
        body = rest.pop(0)
        if truth(tcl.evaluate(condition)):
            return tcl.run(body)
        if rest and rest[0] == "elseif":
            rest.pop(0)
            continue
        if rest:
            return tcl.run(rest[1] if rest[0] == "else" else rest[0])
    return ""


def _while(tcl: Interpreter, words: list[str]) -> str:
    while truth(tcl.evaluate(words[0])):
        if not _run_once(tcl, words[1]):
            break
    return ""


def _for(tcl: Interpreter, words: list[str]) -> str:
    begin, condition, after, body = words
    tcl.run(begin)
    while truth(tcl.evaluate(condition)):
        if not _run_once(tcl, body):
            break
        tcl.run(after)
    return ""


def _foreach(tcl: Interpreter, words: list[str]) -> str:
    names, values, body = split(words[0]), split(words[1]), words[2]
    for start in range(0, len(values), len(names)):
        for offset, name in enumerate(names):
            tcl.variables[name] = values[start + offset] if start + offset < len(values) else ""
        if not _run_once(tcl, body):
            break
    return ""


def _run_once(tcl: Interpreter, body: str) -> bool:
    tcl.step()
    try:
        tcl.run(body)
    except _Break:
        return False
    except _Continue:
        return True
    return True


def _switch(tcl: Interpreter, words: list[str]) -> str:
    options, rest = set(), list(words)
    while rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        options.add(option)
    value, *cases = rest
    listed = split(cases[0]) if len(cases) == 1 else cases
    hit = False
    for pattern, body in zip(listed[::2], listed[1::2], strict=False):
        hit = hit or pattern == "default" or _fits(options, pattern, value)
        if hit and body != "-":
            return tcl.run(body)
    return ""


def _fits(options: set[str], pattern: str, value: str) -> bool:
    if "-glob" in options:
        return glob(pattern, value)
    if "-regexp" in options:
        return patterns.search(pattern, value) is not None
    return pattern == value


def _catch(tcl: Interpreter, words: list[str]) -> str:
    try:
        result, code = tcl.run(words[0]), "0"
    except Exhausted:
        raise
    except (Failed, SyntaxFault, patterns.BadPattern) as error:
        result, code = str(error), "1"
    if len(words) > 1:
        tcl.variables[words[1]] = result
    return code


def _raise(error: type[Exception]) -> Do:
    def do(tcl: Interpreter, words: list[str]) -> str:
        raise error

    return do


def _return(tcl: Interpreter, words: list[str]) -> str:
    raise Stop(words[-1] if words else "")


def _call(tcl: Interpreter, words: list[str]) -> str:
    """`call [RULE::]PROCEDURE ARGUMENT...`: runs a procedure with variables of its own."""
    procedure = tcl.procedures.get(words[0]) or tcl.procedures.get(words[0].rpartition("::")[2])
    if procedure is None:
        raise Failed(f'can\'t find proc "{words[0][:100]}"')
    variables = tcl.variables.frame()
    given = words[1:]
    for parameter in split(procedure.parameters):
        name, *default = split(parameter)
        if name == "args":
            variables[name], given = joined(given), []
        elif given or default:
            variables[name] = given.pop(0) if given else default[0]
        else:
            raise Failed(f'no value given for parameter "{name}" to "{words[0]}"')
    if given:
        raise Failed(f'called "{words[0]}" with too many arguments')
    outer, tcl.variables = tcl.variables, variables
    try:
        return tcl.run(procedure.script)
    except Stop as stop:
        return str(stop)
    finally:
        tcl.variables = outer


# -- variables, lists, strings


def split(text: str) -> list[str]:
    """The elements of a list."""
    found: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign.isspace():
            at += 1
        elif sign == "{":
            end = block_end(text, at)
            found.append(text[at + 1 : end])
            at = end + 1
        else:
            value, at = _element(text, at + 1, '"') if sign == '"' else _element(text, at, " \t\r\n")
            found.append(value)
    return found


def _element(text: str, at: int, ends: str) -> tuple[str, int]:
    value: list[str] = []
    while at < len(text) and text[at] not in ends:
        if text[at] == "\\" and at + 1 < len(text):
            sign, at = escaped(text, at)
            value.append(sign)
        else:
            value.append(text[at])
            at += 1
    return "".join(value), at + 1


def joined(values: list[str]) -> str:
    return " ".join(map(_listed, values))


def _listed(value: str) -> str:
    """The text as an element of a list: in braces, or with backslashes where braces would not be balanced."""
    if value and not _SPECIAL.search(value):
        return value
    depth = 0
    for sign in value:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            break
    if depth or "\\" in value:
        return _SPECIAL.sub(lambda found: _SPELT.get(found[0], f"\\{found[0]}"), value)
    return f"{{{value}}}"


_SPECIAL = re.compile(r'[\s{}\[\]$;"\\]')
_SPELT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def glob(pattern: str, text: str) -> bool:
    ready = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(ready, text, re.DOTALL) is not None


def _set(tcl: Interpreter, words: list[str]) -> str:
    if len(words) == 1:
        return tcl.expand((Variable(words[0]),))
    tcl.variables[words[0]] = words[1]
    return words[1]


def _unset(tcl: Interpreter, words: list[str]) -> str:
    for name in words:
        if not name.startswith("-"):
            tcl.variables.pop(name, None)
    return ""


def _incr(tcl: Interpreter, words: list[str]) -> str:
    step = int(words[1]) if len(words) > 1 else 1
    return _set(tcl, [words[0], str(int(tcl.variables.get(words[0], "0")) + step)])


def _append(tcl: Interpreter, words: list[str]) -> str:
    return _set(tcl, [words[0], tcl.variables.get(words[0], "") + "".join(words[1:])])


def _lappend(tcl: Interpreter, words: list[str]) -> str:
    return _set(tcl, [words[0], joined([*split(tcl.variables.get(words[0], "")), *words[1:]])])


def index_of(text: str, length: int) -> int:
    """The position that an index such as `2`, `end` or `end-1` means."""
    if text.startswith("end"):
        return length - 1 + int(text[3:] or 0)
    return int(text)


def _lindex(tcl: Interpreter, words: list[str]) -> str:
    values = split(words[0])
    at = index_of(words[1], len(values))
    return values[at] if 0 <= at < len(values) else ""


def _lsearch(tcl: Interpreter, words: list[str]) -> str:
    *options, values, wanted = words
    exact = "-exact" in options
    found = (at for at, value in enumerate(split(values)) if (value == wanted if exact else glob(wanted, value)))
    return str(next(found, -1))


def _split(tcl: Interpreter, words: list[str]) -> str:
    signs = words[1] if len(words) > 1 else " \t\n\r"
    return joined(re.split(f"[{re.escape(signs)}]", words[0]) if signs else list(words[0]))


def string(tcl: Interpreter, words: list[str]) -> str:
    """The parts of `string` that most rules use."""
    what, *rest = words
    if what == "map":
        return _mapped(rest)
    if what in ("equal", "compare", "match"):
        return _like(what, rest)
    text = rest[0]
    trims = rest[1] if len(rest) > 1 else None
    if what in ("range", "index"):
        first = max(0, index_of(rest[1], len(text)))
        last = first if what == "index" else index_of(rest[2], len(text))
        return text[first : last + 1]
    if what in ("first", "last"):
        return str(rest[1].find(text) if what == "first" else rest[1].rfind(text))
    simple: dict[str, Callable[[], str]] = {
        "tolower": text.lower, "toupper": text.upper, "length": lambda: str(len(text)),
        "trim": lambda: text.strip(trims), "trimleft": lambda: text.lstrip(trims),
        "trimright": lambda: text.rstrip(trims),
    }  # fmt: skip
    if what not in simple:
        raise Unknown(f"string {what}")
    return simple[what]()


def _like(what: str, words: list[str]) -> str:
    *options, left, right = words
    if "-nocase" in options:
        left, right = left.lower(), right.lower()
    if what == "compare":
        return str((left > right) - (left < right))
    return "1" if (glob(left, right) if what == "match" else left == right) else "0"


def _mapped(words: list[str]) -> str:
    *_, table, text = words
    pairs = split(table)
    by = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if not by:
        return text
    return re.sub("|".join(re.escape(key) for key in by), lambda match: by[match.group()], text)


def _info(tcl: Interpreter, words: list[str]) -> str:
    match words:
        case ["exists", name]:
            known = name in tcl.variables or any(each.startswith(f"{name}(") for each in tcl.variables)
            return str(int(known))
        case ["vars" | "locals", *pattern]:
            return joined([name for name in tcl.variables if not pattern or glob(pattern[0], name)])
        case ["patchlevel"]:
            return "8.4.6"
        case ["tclversion"]:
            return "8.4"
    raise Unknown(f"info {' '.join(words)[:50]}")


def _subst(tcl: Interpreter, words: list[str]) -> str:
    return tcl.expand(parts(words[-1]))


TCL: dict[str, Do] = {
    "if": _if, "while": _while, "for": _for, "foreach": _foreach, "switch": _switch, "catch": _catch,
    "break": _raise(_Break), "continue": _raise(_Continue), "return": _return, "call": _call,
    "set": _set, "unset": _unset, "incr": _incr, "append": _append, "lappend": _lappend, "info": _info,
    "list": lambda tcl, words: joined(words), "lindex": _lindex, "lsearch": _lsearch,
    "llength": lambda tcl, w: str(len(split(w[0]))),
    "split": _split, "join": lambda tcl, w: (w[1] if len(w) > 1 else " ").join(split(w[0])),
    "concat": lambda tcl, w: " ".join(word.strip() for word in w), "string": string,
    "expr": lambda tcl, w: tcl.evaluate(" ".join(w)), "eval": lambda tcl, w: tcl.run(" ".join(w)),
    "subst": _subst,
}  # fmt: skip
