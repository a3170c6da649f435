"""Upper bound of the steps of a backtracking matcher for the worst request.

The bound follows from the syntax tree alone. A repetition of a set of characters *chooses* its length if what
follows it may begin with one of the set: then every length has to be tried. Otherwise only one length is
possible, which PCRE detects, too; and of several such repetitions each scans characters that no other does.
The ways of a sequence multiply, the ways of alternatives add.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import NamedTuple

from evenkeel.core.resources.patterns.tree import (
    ANY,
    END,
    Alternation,
    Assertion,
    CharacterClass,
    Lookahead,
    Node,
    PatternRefused,
    Quantifier,
    Sequence,
)

SUBJECT_BYTES = 16_384
"""Length of the longest line or header of a request in bytes: HAProxy's ``tune.bufsize``."""
WAYS_MAX = 500_000
"""Maximum number of ways to match a request. PCRE aborts at 10,000,000 steps, and a way may be several steps long."""
SIZE_MAX = 5_000
"""Maximum number of characters of an expression, with all counted repetitions expanded."""


class FollowingParts(NamedTuple):
    """Parts of an expression that may follow a node in it. ``first``: bit mask of the characters with which
    they may begin.
    """

    first: int
    may_end: bool
    """True: nothing has to follow the node, so that the match cannot fail any more."""
    at_end: bool = False
    """True: only the end of the text has to follow, which ``.*`` always reaches: no text of a request contains a
    newline, the only character that the dot does not match.
    """


class PrecedingParts(NamedTuple):
    """Parts of an expression that may precede a node in it. ``last``: bit mask of the characters with which
    they may end.
    """

    last: int
    chosen: bool
    """True: a part of the text before the node may be matched in several ways."""


def check_costs(tree: Node) -> None:
    """Check that the size and the cost of an expression are below :data:`SIZE_MAX` and :data:`WAYS_MAX`.
    Raises :class:`PatternRefused`.
    """
    if expanded_size(tree) > SIZE_MAX:
        raise PatternRefused(f"with its repetitions written out it has more than {SIZE_MAX} characters")
    if count_ways(tree) > WAYS_MAX:
        raise PatternRefused("a request can be made for which it has too many ways to match")


def count_ways(tree: Node, subject_bytes: int = SUBJECT_BYTES) -> int:
    """Return an upper bound of the number of ways to match a request of ``subject_bytes`` bytes, from one
    starting position; large bounds are cut.
    """
    return _WayCounter(subject_bytes).of(tree, PrecedingParts(0, chosen=False), FollowingParts(0, may_end=True))


def expanded_size(node: Node) -> int:
    """Return the number of characters and assertions of the node, with all counted repetitions expanded; a
    repetition without limit counts its minimum, at least once.
    """
    match node:
        case Quantifier():
            return expanded_size(node.body) * max(1, node.minimum, node.maximum or 0)
        case Sequence():
            return sum(map(expanded_size, node.items))
        case Alternation():
            return sum(map(expanded_size, node.branches))
        case Lookahead():
            return expanded_size(node.body)
    return 1


def may_match_empty(node: Node) -> bool:
    """Whether the node may match the empty text. False for assertions and look-aheads, which hold only at
    some positions.
    """
    match node:
        case Quantifier():
            return node.minimum == 0 or may_match_empty(node.body)
        case Sequence():
            return all(map(may_match_empty, node.items))
        case Alternation():
            return any(map(may_match_empty, node.branches))
    return False


def first_characters(node: Node) -> int:
    """Return the characters, as a bit mask, with which a match of the node may begin; for an assertion those
    that may come next, for a look-ahead all.
    """
    match node:
        case CharacterClass() | Assertion():
            return node.mask
        case Quantifier():
            return first_characters(node.body)
        case Sequence():
            return _first_characters_of_sequence(node.items)
        case Alternation():
            return _union_of_masks(first_characters(branch) for branch in node.branches)
    return ANY | END


def _first_characters_of_sequence(items: tuple[Node, ...]) -> int:
    found = 0
    for item in items:
        found |= first_characters(item)
        if not may_match_empty(item):
            break
    return found


def last_characters(node: Node) -> int:
    """Return the characters, as a bit mask, with which a match of the node may end; all for a lone assertion
    or look-ahead.
    """
    match node:
        case CharacterClass():
            return node.mask
        case Quantifier():
            return last_characters(node.body)
        case Sequence():
            return _last_characters_of_sequence(node.items, 0)
        case Alternation():
            return _union_of_masks(last_characters(branch) for branch in node.branches)
    return ANY


def _last_characters_of_sequence(items: tuple[Node, ...], before: int) -> int:
    found = 0
    for item in reversed(items):
        if isinstance(item, (Assertion, Lookahead)):
            continue  # consumes no character: the last one is that of an earlier item
        found |= last_characters(item)
        if not may_match_empty(item):
            return found
    return found | before


def _union_of_masks(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


class _WayCounter:
    """Counts the ways to match a node, for requests of ``subject_bytes`` bytes; counts above a limit are cut."""

    def __init__(self, subject_bytes: int) -> None:
        self._subject_bytes = subject_bytes
        self._enough = max(WAYS_MAX, subject_bytes**3) + 1

    def of(self, node: Node, before: PrecedingParts, after: FollowingParts) -> int:
        match node:
            case Sequence():
                return self._ways_of_sequence(node.items, before, after)
            case Alternation():
                return self._ways_of_alternation(node.branches, before, after)
            case Quantifier(body=CharacterClass()):
                return self._ways_of_repeated_characters(node, before, after)
            case Quantifier():
                return self._ways_of_repeated_group(node, before, after)
            case Lookahead():
                return self.of(node.body, PrecedingParts(ANY, chosen=before.chosen), FollowingParts(0, may_end=True))
        return 1

    def _ways_of_sequence(self, items: tuple[Node, ...], before: PrecedingParts, after: FollowingParts) -> int:
        ways = 1
        for index, item in enumerate(items):
            rest = items[index + 1 :]
            done = items[:index]
            near = PrecedingParts(_last_characters_of_sequence(done, before.last), chosen=before.chosen or ways > 1)
            ways *= self.of(item, near, _following_parts(rest, after))
            # Cut, because the exact product of many repetitions has thousands of digits.
            ways = min(ways, self._enough)
        return ways

    def _ways_of_alternation(self, branches: tuple[Node, ...], before: PrecedingParts, after: FollowingParts) -> int:
        each = [self.of(branch, before, after) for branch in branches]
        taken, apart = 0, True
        for branch in branches:
            # Branches that begin with different characters exclude each other: only one of them can be tried.
            first = first_characters(branch) | (after.first if may_match_empty(branch) else 0)
            apart = apart and not taken & first and not (may_match_empty(branch) and after.may_end)
            taken |= first
        return max(each) if apart else min(sum(each), self._enough)

    def _ways_of_repeated_characters(self, node: Quantifier, before: PrecedingParts, after: FollowingParts) -> int:
        mask = first_characters(node.body)
        lengths = self._subject_bytes if node.maximum is None else node.maximum - node.minimum + 1
        if after.may_end or (after.at_end and node.maximum is None and mask == ANY):
            return 1
        chooses = bool(mask & after.first)
        scanned_again = before.chosen and bool(mask & before.last)
        return lengths if chooses or scanned_again else 1

    def _ways_of_repeated_group(self, node: Quantifier, before: PrecedingParts, after: FollowingParts) -> int:
        if node.maximum is None:
            raise ValueError("a group that is repeated without a limit: the parser refuses it")
        body_first = first_characters(node.body)
        again = node.maximum > 1
        inner = FollowingParts(
            after.first | (body_first if again else 0),
            may_end=after.may_end and not again,
            at_end=after.at_end and not again,
        )
        near = PrecedingParts(before.last | (last_characters(node.body) if again else 0), chosen=before.chosen)
        once = self.of(node.body, near, inner)
        counts = range(max(1, node.minimum), node.maximum + 1)
        chooses = bool(body_first & after.first) or may_match_empty(node.body)
        ways: int = sum(once**count for count in counts) + 1 if chooses else once ** max(node.maximum, 1)
        return min(ways, self._enough)


def _following_parts(rest: tuple[Node, ...], after: FollowingParts) -> FollowingParts:
    first = _first_characters_of_sequence(rest)
    at_end = (after.may_end or after.at_end) and all(item == _PATTERN_END for item in rest)
    if not all(map(may_match_empty, rest)):
        return FollowingParts(first, may_end=False, at_end=at_end)
    return FollowingParts(first | after.first, may_end=after.may_end, at_end=at_end and not after.may_end)


_PATTERN_END = Assertion(mask=END)
