"""Known names that are similar to an unknown one."""

from collections.abc import Iterable

from evenkeel.core.kit.similar import similar_names


def most_similar_name(name: str, names: Iterable[str]) -> str:
    """Return the most similar of ``names``, without regard to case; empty if none is similar."""
    return next(iter(similar_names(name, names, most=1)), "")


def name_suggestion(name: str, names: Iterable[str]) -> str:
    """Return the end of an error message that suggests the most similar name; empty if none is similar."""
    return suggestion_text(most_similar_name(name, names))


def suggestion_text(nearest: str) -> str:
    """Return the question whether ``nearest`` is meant, as the end of a sentence; empty for an empty name."""
    return f", did you mean {nearest}?" if nearest else ""
