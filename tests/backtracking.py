"""Finds regular expressions that Python's backtracking matcher can take quadratic time or more for.

The analysis is of syntax and errs on the side of caution. A pattern is ambiguous if two repeats without a useful bound
can match the same text: one after the other with nothing between them that only one of them could match, one inside the
other, or, where the pattern is searched for, a repeat that may begin at each position of the text. An ambiguity costs
time only where something after it can fail. Possessive repeats and atomic groups (Python 3.11) give nothing back, so
they are never ambiguous. Alternatives that overlap inside a repeated group, and
a repeated group beside another repeat, are not looked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _constants as c  # type: ignore[attr-defined]  # the only parser of this syntax
from re import _parser  # type: ignore[attr-defined]
from typing import Any

LONG = 300
"""Repeats of at most so many characters are cheap even if another one follows."""

_SAMPLE = frozenset(map(chr, range(128))) | {"\x85", "é", "\u2028", "中"}
"""Characters that stand for all: each class of characters in the patterns differs from others in one of these."""


@dataclass(frozen=True)
class Piece:
    """A part of a sequence: the characters that it can match, and whether it may match nothing, or is a long repeat."""

    chars: frozenset[str]
    is_optional: bool = False
    is_repeat: bool = False


def problem_of(pattern: "re.Pattern[Any]", *, is_searched: bool, is_whole: bool) -> str:
    """What makes the pattern expensive; empty: nothing. ``is_searched``: it may begin anywhere; ``is_whole``: the match
    must reach the end of the text, as with ``fullmatch``.
    """
    tree = _parsed(pattern)
    for sequence in _sequences(tree, pattern.flags):
        if found := _ambiguous(sequence, is_whole=is_whole):
            return found
    if is_searched and not _is_anchored(tree):
        anything = Piece(_SAMPLE, is_optional=True, is_repeat=True)
        for pieces in _flat(tree, pattern.flags):
            if found := _ambiguous([anything, *pieces], is_whole=is_whole):
                return f"searched for: {found}"
    return ""


def repeats_group_possessively(pattern: "re.Pattern[Any]") -> bool:
    """Whether the pattern has an atomic group, or a possessive repeat of more than one character: up to Python 3.11.4,
    Debian 12's among them, these do not match what they should (CPython's issue 106052).
    """
    return any(
        op is c.ATOMIC_GROUP or (op is c.POSSESSIVE_REPEAT and not _is_single(arguments[2]))
        for op, arguments in _operations(_parsed(pattern))
    )


def _is_single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in (c.ANY, c.IN, c.LITERAL, c.NOT_LITERAL)


def _operations(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All operations of a pattern with their arguments, those inside of others too."""
    if isinstance(tree, tuple) and len(tree) == 2 and tree[0] in c.OPCODES:
        yield tree
    if isinstance(tree, tuple | list | _parser.SubPattern):
        for each in tree:
            yield from _operations(each)


def _parsed(pattern: "re.Pattern[Any]") -> Any:
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return _parser.parse(text, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)


def _is_anchored(tree: Any) -> bool:
    return bool(len(tree)) and tree[0][0] is c.AT and tree[0][1] in (c.AT_BEGINNING, c.AT_BEGINNING_STRING)


def _ambiguous(pieces: Sequence[Piece], *, is_whole: bool) -> str:
    for first, one in enumerate(pieces):
        if not one.is_repeat:
            continue
        common = one.chars
        for second in range(first + 1, len(pieces)):
            other = pieces[second]
            can_fail = is_whole or any(not later.is_optional for later in pieces[second + 1 :])
            if can_fail and other.is_repeat and common & other.chars and _between_fits(pieces, first, second):
                return f"repeats {first + 1} and {second + 1} can both match {sorted(common & other.chars)[:3]}"
            if not other.is_optional and not other.chars & common:
                break  # whatever follows cannot be reached by text of the first repeat alone
    return ""


def _between_fits(pieces: Sequence[Piece], first: int, second: int) -> bool:
    """True if text of one repeated character class can run through all that is between."""
    common = pieces[first].chars & pieces[second].chars
    return all(piece.is_optional or piece.chars & common for piece in pieces[first + 1 : second])


def _sequences(tree: Any, flags: int) -> Iterator[Sequence[Piece]]:
    """The flat sequences of the pattern, and for each long repeat of a group two rounds of it."""
    yield from _flat(tree, flags)
    for body in _repeated_groups(tree):
        for pieces in _flat(body, flags):
            if any(piece.is_repeat for piece in pieces):
                yield [*pieces, *pieces, Piece(frozenset("\0"))]


def _repeated_groups(tree: Any) -> Iterator[Any]:
    for op, argument in tree:
        if op in (c.MAX_REPEAT, c.MIN_REPEAT):
            _, most, body = argument
            if most > LONG:
                yield body
            yield from _repeated_groups(body)
        elif op is c.SUBPATTERN:
            yield from _repeated_groups(argument[3])
        elif op is c.BRANCH:
            for branch in argument[1]:
                yield from _repeated_groups(branch)


def _flat(tree: Any, flags: int) -> Iterator[list[Piece]]:
    """Sequences of pieces, one for each way through the alternatives (at most 200)."""
    ways: list[list[Piece]] = [[]]
    for op, argument in tree:
        ways = [[*way, *more] for way in ways for more in _ways(op, argument, flags)][:200]
    yield from ways


def _ways(op: Any, argument: Any, flags: int) -> list[list[Piece]]:
    if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        return _ways_of_repeat(op, argument, flags)
    if op is c.SUBPATTERN:
        return list(_flat(argument[3], flags))
    if op is c.ATOMIC_GROUP:
        return [[Piece(_chars_of(argument, flags), is_optional=False)]]
    if op is c.BRANCH:
        return [way for branch in argument[1] for way in _flat(branch, flags)]
    if op in (c.ASSERT, c.ASSERT_NOT, c.AT):
        # an end or a look-ahead may fail, and matches no character
        return [[Piece(frozenset())]] if op is not c.AT or argument in _ENDS else [[]]
    return [[Piece(_chars(op, argument, flags))]]


_ENDS = (c.AT_END, c.AT_END_STRING)


def _ways_of_repeat(op: Any, argument: Any, flags: int) -> list[list[Piece]]:
    least, most, body = argument
    if op is c.POSSESSIVE_REPEAT:
        return [[Piece(_chars_of(body, flags), is_optional=least == 0)]]
    absent: list[list[Piece]] = [] if least else [[]]
    inner = list(_flat(body, flags))
    if most <= LONG:
        return absent + inner
    if all(len(way) == 1 for way in inner):
        chars = frozenset[str]().union(*(way[0].chars for way in inner))
        return [[*([Piece(chars)] if least else []), Piece(chars, is_optional=True, is_repeat=True)]]
    # one round of a repeated group; two rounds of it are a sequence of their own
    return absent + inner


def _chars_of(body: Any, flags: int) -> frozenset[str]:
    return frozenset[str]().union(*(piece.chars for way in _flat(body, flags) for piece in way))


def _chars(op: Any, argument: Any, flags: int) -> frozenset[str]:
    """The characters of the sample that one position matches, found by the matcher itself."""
    if op is c.LITERAL:
        return frozenset({chr(argument)}) | (
            frozenset({chr(argument).swapcase()}) if flags & re.IGNORECASE else frozenset()
        )
    if op is c.NOT_LITERAL:
        return _SAMPLE - {chr(argument)}
    if op is c.ANY:
        return _SAMPLE if flags & re.DOTALL else _SAMPLE - {"\n"}
    if op is c.IN:
        return _class(argument, flags)
    if op is c.GROUPREF:
        return _SAMPLE
    raise NotImplementedError(f"{op} is not known to this analysis")


def _class(items: Any, flags: int) -> frozenset[str]:
    found: set[str] = set()
    negated = False
    for op, argument in items:
        if op is c.NEGATE:
            negated = True
        elif op is c.LITERAL:
            found.add(chr(argument))
        elif op is c.RANGE:
            found |= {char for char in _SAMPLE if argument[0] <= ord(char) <= argument[1]}
        elif op is c.CATEGORY:
            found |= {char for char in _SAMPLE if _is_of(argument, char, flags)}
        else:
            raise NotImplementedError(f"{op} in a class is not known to this analysis")
    return _SAMPLE - found if negated else frozenset(found)


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d",
    c.CATEGORY_NOT_DIGIT: r"\D",
    c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w",
    c.CATEGORY_NOT_WORD: r"\W",
}


def _is_of(category: Any, char: str, flags: int) -> bool:
    return re.fullmatch(_CATEGORIES[category], char, flags & re.ASCII) is not None
