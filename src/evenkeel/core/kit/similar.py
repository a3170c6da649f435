"""Known names that are similar to an unknown one, for suggestions in error messages."""

from collections.abc import Iterable
from difflib import get_close_matches

SIMILARITY_MIN = 0.7
"""Minimum ratio by :mod:`difflib` of a name that is suggested: that of one mistyped letter in four."""


def similar_names(name: str, names: Iterable[str], *, most: int = 5) -> list[str]:
    """Return those of ``names`` that are similar to ``name`` without regard to case, most similar first, at
    most ``most``; empty if none is.
    """
    # Case is what is mistyped most, and costs too much of the similarity.
    by_text = {text.lower(): text for text in sorted(names) if text}
    return [by_text[text] for text in get_close_matches(name.lower(), by_text, n=most, cutoff=SIMILARITY_MIN)]
