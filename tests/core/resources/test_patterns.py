"""Regular expressions that no request makes dear are taken; others are refused, and why is said."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.resources.patterns import PatternRefused, check_pattern
from evenkeel.core.resources.patterns.costs import count_ways, expanded_size
from evenkeel.core.resources.patterns.limits import PatternLimits, limit_problems
from evenkeel.core.resources.patterns.parser import parse
from evenkeel.core.resources.patterns.tree import (
    END,
    Alternation,
    Assertion,
    CharacterClass,
    Lookahead,
    Node,
    Quantifier,
    Sequence,
)

TAKEN = (
    r"^/api/.*/users/.*$",
    r"^/static/.*\.(css|js)(\?.*)?$",
    "a",
    r"^/api/v[0-9]+/.*",
    r".*\.php.*",
    r"^/admin.*delete",
    r"^(www\.)?example\.(com|net)$",
    r"^([a-z0-9-]+\.){1,10}example\.com$",
    r"\.(jpg|png|gif)$",
    r"^/[^/]*/[^/]*/x$",
    r"^/(?!public/)[^/]+$",
    r"(?i)^mozilla.*bot",
    r"^/a b/(\d+|[#'\"$]{2,3})\.html$",
    r"[A-Za-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}",
    r"^\s*$",
    r"\{\}\[\]\\\/",
    "é+",
    "a??b*?",
    "()|",
)
REFUSED = {
    "": "0 characters",
    "a" * 256: "256 characters",
    r"(a+)+$": "without limit",
    r"(a|a)*$": "without limit",
    r"(a|b)*$": "without limit",
    r"^(/[a-z]+)+$": "without limit",
    r"(.*a){12}": "too many ways",
    r".*a.*b": "too many ways",
    r"^/a/.*/b/.*/c$": "too many ways",
    r".*a[a-z]*$": "too many ways",
    r"^a*a*a*$": "too many ways",
    r"(a|aa){20}$": "too many ways",
    r"(a?){20}a{20}": "too many ways",
    r"(?=.*a.*b)x": "too many ways",
    r"((a{20}){20}){20}": "written out",
    r"a{1001}": "repeated 1001 times",
    r"(ab){21}": "repeated 21 times",
    r"(.)\1": r"'\1' is not allowed",
    r"\Qa\E": r"'\Q' is not allowed",
    r"\x41": r"'\x' is not allowed",
    r"[[:alpha:]]+": "'[' or ']'",
    "[]a]": "'[' or ']'",
    "[a": "'[' or ']'",
    "[z-a]": "range",
    r"[a-\d]": "range",
    "(?<=a)b": "is not allowed",
    "(?P<x>a)": "is not allowed",
    "(?R)": "is not allowed",
    "(?>a)": "is not allowed",
    "(*UTF)a": "is not allowed",
    "(?s).": "is not allowed",
    "a**": "repeated already",
    "a++": "repeated already",
    "*a": "repeats nothing",
    "^*": "takes no character",
    "(?=a)*": "takes no character",
    "{": "repeats nothing",
    "a{,3}": "begins no count",
    "a{3,2}": "ends before it begins",
    "(a": "no ')'",
    "a)": "no '('",
    "(" * 12 + "a" + ")" * 12: "deeper than",
    "\\": "is not allowed",
}


@pytest.mark.parametrize("text", TAKEN)
def test_cheap_pattern_is_accepted(text: str) -> None:
    check_pattern(text)


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_expensive_or_ambiguous_pattern_is_refused(text: str, words: str) -> None:
    with pytest.raises(PatternRefused) as refused:
        check_pattern(text)
    assert words in str(refused.value)


@given(st.text(alphabet="ab.*+?{}[]()|^$\\d-,12:=!/é", max_size=40))
def test_any_text_is_taken_or_refused_with_a_reason(text: str) -> None:
    try:
        check_pattern(text)
    except PatternRefused as refused:
        assert str(refused)


class Matcher:
    """Tries one way after the other, as backtracking matchers do, and counts its steps."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self.steps = 0

    def ends(self, node: Node, at: int) -> Iterator[int]:
        """Where a match may end that begins there, best first."""
        self.steps += 1
        match node:
            case CharacterClass():
                if at < len(self._subject) and node.mask >> ord(self._subject[at]) & 1:
                    yield at + 1
            case Assertion():
                if node.mask != END or at == len(self._subject):
                    yield at
            case Alternation():
                for branch in node.branches:
                    yield from self.ends(branch, at)
            case Sequence():
                yield from self._row(node.items, at)
            case Quantifier():
                yield from self._repeated(node, 0, at)
            case Lookahead():
                if next(self.ends(node.body, at), None) is not None:
                    yield at

    def _row(self, items: tuple[Node, ...], at: int) -> Iterator[int]:
        if not items:
            yield at
            return
        for end in self.ends(items[0], at):
            yield from self._row(items[1:], end)

    def _repeated(self, node: Quantifier, count: int, at: int) -> Iterator[int]:
        if node.maximum is None or count < node.maximum:
            for end in self.ends(node.body, at):
                if end > at or count < node.minimum:
                    yield from self._repeated(node, count + 1, end)
        if count >= node.minimum:
            yield at


atoms = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "$", "(?=a)", "\\b"])
counts = st.sampled_from(["", "", "*", "+", "?", "{0,3}", "{2}", "{2,}"])


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.lists(inner, min_size=1, max_size=3).map("".join)
    choices = st.lists(row, min_size=1, max_size=3).map("|".join)
    return st.builds("({}){}".format, choices, st.sampled_from(["", "?", "{0,2}", "{2}", "{1,3}"]))


repeated = st.builds("{}{}".format, atoms, counts)
expressions = st.lists(st.recursive(repeated, grouped, max_leaves=5), min_size=1, max_size=5).map("".join)
subjects = st.one_of(
    st.text(alphabet="abc", max_size=14),
    st.builds(lambda text, tail: text * 30 + tail, st.sampled_from(["a", "b", "ab", "aab"]), st.sampled_from("abcd")),
)


@settings(max_examples=300, deadline=None)
@given(expressions, subjects)
def test_no_subject_takes_more_ways_than_were_told(text: str, subject: str) -> None:
    try:
        tree = parse(text)
    except PatternRefused:
        return
    length = len(subject) + 1
    ways = count_ways(tree, length)
    if ways > 20 * length:
        return  # one of those that are refused
    matcher = Matcher(subject)
    next(matcher.ends(tree, 0), None)
    assert matcher.steps <= 4 * ways * (expanded_size(tree) + 2) * length


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("^/a(?=b)", "look-ahead"),
        ("(a|[^b]{256})", "256 times; at most 255"),
        ("([ab]{100}){11}", "1100 characters; at most 1000"),
        ("^/a{2,255}(b|c)?$", ""),
    ],
)
def test_a_device_type_may_have_narrower_limits(text: str, words: str) -> None:
    limits = PatternLimits(look_ahead=False, count_max=255, size_max=1000)
    assert words in "; ".join(limit_problems(text, limits)) and bool(list(limit_problems(text, limits))) == bool(words)
    assert not list(limit_problems(text, PatternLimits()))
