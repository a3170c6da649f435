"""Hints for names that are not known."""

import pytest

from evenkeel.cli.filters import name_suggestion


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("websit", ["mail", "website"], "; did you mean website?"),
        ("Web", ["mail", "web"], "; did you mean web?"),
        ("web", ["old-web-1", "mail"], "; did you mean old-web-1?"),
        ("x", ["mail"], ""),
        ("x", [""], ""),
    ],
)
def test_names_like_one_are_suggested(name: str, known: list[str], hint: str) -> None:
    assert name_suggestion(name, known) == hint
