"""Tenants' regular expressions in Tcl: the same texts match, judged by a real Tcl, or they are refused."""

import re
import tkinter
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.devices.bigip.render.l7.regexes import RegexNotPossible, tcl_regex

TCL = tkinter.Tcl()


def matches(expression: str, text: str) -> bool:
    return bool(TCL.call("regexp", "--", tcl_regex(expression), text))


@pytest.mark.parametrize(
    ("expression", "matching", "other"),
    [
        (r"^/api/v\d+/", "/api/v12/x", "/api/vx/"),
        (r"\.(jpg|png)$", "/a.png", "/a.png/b"),
        (r"(?i)^/ADMIN", "/admin", "/user"),
        (r"\bshop\b", "the shop!", "workshops"),
        (r"^[\w.-]+@[a-z]{2,3}$", "a_b.c-d@xyz", "a b@xyz"),
        (r"^[]a]+$", "]a]", "b"),
        (r"^[^\]^-]+$", "abc", "a-c"),
        (r"a{2}b{1,}c{0,3}$", "aabccc", "abc"),
        (r"^\x41\x2f$", "A/", "\x041"),
        (r"^[\x41-\x43-]+$", "AB-C", "D"),
        (r"\A.+?\Z", "x", ""),
        (r"^\{\}\$\[\\\]$", "{}$[\\]", "x"),
        (r"^(a||b)$", "", "c"),
        (r"^a b#'\"$", "a b#'\"", "a b"),
        (r"^/a b/(\d+|[#'\"$]{2,3})\.html$", "/a b/$$.html", "/a b/$.html"),
        (r"}|]x", "}", "x"),
    ],
)
def test_expression_of_both_flavours_matches_alike_in_python_and_tcl(
    expression: str, matching: str, other: str
) -> None:
    assert re.search(expression, matching)
    assert not re.search(expression, other)
    assert matches(expression, matching)
    assert not matches(expression, other)


def test_classes_by_name() -> None:
    assert matches(r"^[[:alpha:]\d]+$", "a1")
    assert not matches(r"^[[:alpha:]\d]+$", "-")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (r"(a)\1", "back references"),
        (r"a(?=b)", r"begins with \(\?="),
        (r"(?<!a)b", r"begins with \(\?<"),
        (r"(?P<a>b)", r"begins with \(\?P"),
        (r"(?>a)", r"begins with \(\?>"),
        (r"(*FAIL)", r"begins with \(\*F"),
        (r"a*+", "possessive"),
        (r"a{1,256}", "0 to 255"),
        (r"(a{100}){100}", "10000 atoms"),
        (r"(" * 60 + r")" * 60, "deeper than 50"),
        (r"a{,3}", r"written \\{"),
        (r"\Qa\E", r"\\Q"),
        (r"\h", r"\\h"),
        (r"[\D]", r"\\D"),
        (r"[\b]", r"\\b"),
        (r"[[.a.]]", "names no class"),
        (r"^*", "cannot be repeated"),
        ("ä", "ASCII"),
        (r"(a", "missing"),
        (r"a)", "without"),
        (r"*a", "nothing to repeat"),
        (r"a**", "cannot be repeated"),
        (r"[a", "too early"),
        ("a\\", "too early"),
        (r"[b-a]", "wrong order"),
        (r"\x4", "two hexadecimal"),
    ],
)
def test_expression_that_tcl_reads_otherwise_is_refused(expression: str, reason: str) -> None:
    with pytest.raises(RegexNotPossible, match=reason):
        tcl_regex(expression)


PIECES = st.sampled_from(
    [
        *"ab-/.^$|()[]{}*+?,:\\d1",
        "(?:",
        "(?i)",
        "[a-z]",
        "[^a/]",
        "{2}",
        "{1,3}",
        r"\d",
        r"\w",
        r"\b",
        r"\.",
        r"\]",
        "[:",
    ]
)


@settings(max_examples=600)
@given(st.lists(PIECES, max_size=10).map("".join), st.lists(st.text("ab1/-.]", max_size=6), max_size=4))
def test_any_expression_that_is_taken_means_the_same(expression: str, texts: list[str]) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = re.compile(expression)
    except (re.error, OverflowError):
        return  # the API, or the caller, refuses it
    try:
        tcl_regex(expression)
    except RegexNotPossible:
        return
    for text in (*texts, expression):
        assert matches(expression, text) == bool(known.search(text)), (expression, tcl_regex(expression), text)
