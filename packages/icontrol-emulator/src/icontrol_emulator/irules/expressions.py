"""Expressions of `if` and `expr`, with F5's additional operators: `contains`, `starts_with`, `and`, …"""

from __future__ import annotations

import fnmatch
import functools
import math
import operator
import random
import re
from collections.abc import Callable
from typing import Any, Protocol

from icontrol_emulator.irules import patterns
from icontrol_emulator.irules.syntax import Nested, SyntaxFault, Word, block_end, substituted, variable

TEXT_MAX = 65_536
DIGITS_MAX = 1_000


class Surroundings(Protocol):
    """The environment in which an expression is evaluated."""

    def expand(self, word: Word) -> str:
        """The word with variables and nested scripts substituted."""


Node = Callable[[Surroundings], str]
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_OPERATOR = re.compile(r"\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%<>!?:()&|^~,]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
LEVELS: tuple[dict[str, str], ...] = (
    {"||": "or", "or": "or"},
    {"&&": "and", "and": "and"},
    {"|": "|"},
    {"^": "^"},
    {"&": "&"},
    {"==": "==", "!=": "!=", "eq": "eq", "ne": "ne", "equals": "eq", "contains": "contains", "starts_with":
     "starts_with", "ends_with": "ends_with", "matches": "matches_glob", "matches_glob": "matches_glob",
     "matches_regex": "matches_regex"},
    {"<": "<", ">": ">", "<=": "<=", ">=": ">="},
    {"<<": "<<", ">>": ">>"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "%": "%"},
)  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def matches_regex(text: str, pattern: str) -> bool:
    return patterns.search(pattern, text[:TEXT_MAX]) is not None


BITS: dict[str, Callable[[int, int], int]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
TEXTS: dict[str, Callable[[str, str], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "contains": lambda left, right: right in left,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "matches_glob": fnmatch.fnmatchcase,
    "matches_regex": matches_regex,
}
WORDS = frozenset(word for level in LEVELS for word in level if word.isidentifier()) | {"not"}


FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "abs": abs, "ceil": lambda value: float(math.ceil(value)), "double": float,
    "floor": lambda value: float(math.floor(value)), "fmod": math.fmod, "int": int,
    "pow": lambda base, power: math.pow(base, power), "rand": random.random, "round": round, "sqrt": math.sqrt,
    "wide": int,
}  # fmt: skip


class Failed(Exception):
    """An error that ends a script."""


def number(text: str) -> int | float | None:
    if len(text) > DIGITS_MAX:
        return None
    try:
        return int(text, 0) if text.strip().lower().startswith(("0x", "-0x")) else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def truth(text: str) -> bool:
    lower = text.strip().lower()
    if lower in ("true", "yes", "on"):
        return True
    if lower in ("false", "no", "off"):
        return False
    value = number(lower)
    if value is None:
        raise Failed(f'expected boolean value but got "{text[:100]}"')
    return bool(value)


@functools.lru_cache(maxsize=4096)
def parsed(text: str) -> Node:
    """The parsed expression. Raises `SyntaxFault`."""
    reader = _Reader(_tokens(text))
    node = reader.ternary()
    if reader.rest():
        raise SyntaxFault(f"syntax error in expression: {text[:100]}")
    return node


def nested(text: str) -> list[str]:
    """The scripts in brackets of an expression. Raises `SyntaxFault`."""
    words = [word for kind, word in _tokens(text) if kind == "value" and not isinstance(word, str)]
    return [part.script for word in words for part in word if isinstance(part, Nested)]


Token = tuple[str, Word | str]


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign.isspace() or text[at : at + 2] == "\\\n":
            at += 2 if sign == "\\" else 1
        elif sign == '"':
            word, end = substituted(text, at + 1, '"')
            found.append(("value", word))
            at = end + 1
        elif sign == "{":
            end = block_end(text, at)
            found.append(("value", (text[at + 1 : end],)))
            at = end + 1
        elif sign == "[":
            end = block_end(text, at)
            found.append(("value", (Nested(text[at + 1 : end]),)))
            at = end + 1
        elif sign == "$":
            named, at = variable(text, at)
            if named is None:
                raise SyntaxFault("a dollar sign without a name")
            found.append(("value", (named,)))
        else:
            token, at = _plain(text, at)
            found.append(token)
    return found


def _plain(text: str, at: int) -> tuple[Token, int]:
    for pattern, kind in ((_NUMBER, "value"), (_OPERATOR, "sign"), (_NAME, "name")):
        match = pattern.match(text, at)
        if match is None:
            continue
        if kind == "value":
            return ("value", (match.group(),)), match.end()
        word = match.group()
        is_sign = kind == "sign" or word in WORDS
        return (("sign", word) if is_sign else ("value", (word,))), match.end()
    raise SyntaxFault(f"syntax error in expression at: {text[at : at + 50]}")


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def rest(self) -> bool:
        return self._at < len(self._tokens)

    def _sign(self) -> str:
        kind, word = self._tokens[self._at] if self.rest() else ("", "")
        return word if kind == "sign" and isinstance(word, str) else ""

    def _take(self, sign: str) -> None:
        if self._sign() != sign:
            raise SyntaxFault(f"expected {sign} in expression")
        self._at += 1

    def ternary(self) -> Node:
        condition = self._level(0)
        if self._sign() != "?":
            return condition
        self._take("?")
        yes = self.ternary()
        self._take(":")
        no = self.ternary()
        return lambda scope: yes(scope) if truth(condition(scope)) else no(scope)

    def _level(self, depth: int) -> Node:
        if depth == len(LEVELS):
            return self._unary()
        left = self._level(depth + 1)
        while (name := LEVELS[depth].get(self._sign())) is not None:
            self._at += 1
            left = _binary(name, left, self._level(depth + 1))
        return left

    def _unary(self) -> Node:
        sign = self._sign()
        if sign in ("!", "not"):
            self._at += 1
            inner = self._unary()
            return lambda scope: "0" if truth(inner(scope)) else "1"
        if sign == "-":
            self._at += 1
            inner = self._unary()
            return lambda scope: _calculated("-", "0", inner(scope))
        if sign == "~":
            self._at += 1
            inner = self._unary()
            return lambda scope: str(~_integer(inner(scope)))
        if sign == "(":
            self._at += 1
            node = self.ternary()
            self._take(")")
            return node
        kind, word = self._tokens[self._at] if self.rest() else ("", "")
        if kind != "value" or isinstance(word, str):
            raise SyntaxFault("syntax error in expression: premature end")
        self._at += 1
        if self._sign() == "(" and len(word) == 1 and isinstance(word[0], str) and _NAME.fullmatch(word[0]):
            return self._function(word[0])
        return lambda scope: scope.expand(word)

    def _function(self, name: str) -> Node:
        function = FUNCTIONS.get(name)
        if function is None:
            raise SyntaxFault(f'unknown math function "{name}"')
        self._take("(")
        inner: list[Node] = []
        while self._sign() != ")":
            inner.append(self.ternary())
            if self._sign() == ",":
                self._take(",")
        self._take(")")
        return lambda scope: _applied(name, function, [node(scope) for node in inner])


def _binary(name: str, left: Node, right: Node) -> Node:
    if name == "or":
        return lambda scope: "1" if truth(left(scope)) or truth(right(scope)) else "0"
    if name == "and":
        return lambda scope: "1" if truth(left(scope)) and truth(right(scope)) else "0"
    if name in TEXTS:
        compare = TEXTS[name]
        return lambda scope: "1" if compare(left(scope)[:TEXT_MAX], right(scope)[:TEXT_MAX]) else "0"
    if name in COMPARE:
        return lambda scope: _compared(name, left(scope), right(scope))
    return lambda scope: _calculated(name, left(scope), right(scope))


def _compared(name: str, left: str, right: str) -> str:
    first, second = number(left), number(right)
    if first is None or second is None:
        return "1" if COMPARE[name](left, right) else "0"
    return "1" if COMPARE[name](first, second) else "0"


def _integer(text: str) -> int:
    value = number(text)
    if not isinstance(value, int):
        raise Failed(f'can\'t use "{text[:100]}" as an integer operand')
    return value


def _applied(name: str, function: Callable[..., int | float], values: list[str]) -> str:
    numbers = [number(value) for value in values]
    if None in numbers:
        raise Failed(f"argument to math function {name} is not a number")
    try:
        return str(function(*numbers))
    except (ValueError, TypeError, OverflowError) as error:
        raise Failed(f"bad argument to math function {name}") from error


def _calculated(name: str, left: str, right: str) -> str:
    first, second = number(left), number(right)
    if first is None or second is None:
        raise Failed(f'can\'t use non-numeric string as operand of "{name}"')
    if name in "/%" and not second:
        raise Failed("divide by zero")
    if name in BITS:
        shift = name in ("<<", ">>") and not 0 <= _integer(right) < 64
        if shift:
            raise Failed("bad shift")
        return str(BITS[name](_integer(left), _integer(right)))
    if name == "+":
        return str(first + second)
    if name == "-":
        return str(first - second)
    if name == "*":
        return str(first * second)
    whole = isinstance(first, int) and isinstance(second, int)
    if name == "/":
        return str(first // second if whole else first / second)
    return str(first % second)
