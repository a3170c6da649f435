"""Known names that are similar to an unknown one."""

from collections.abc import Iterable

from evenkeel.core.kit.similar import similar


def most_similar(name: str, names: Iterable[str]) -> str:
    """The most similar name, the first alphabetically if there are several; empty if none is similar."""
    return next(iter(similar(name, names, most=1)), "")


def suggestion(name: str, names: Iterable[str]) -> str:
    """End of an error message that suggests the most similar name; empty if none is similar."""
    return question_about(most_similar(name, names))


def question_about(nearest: str) -> str:
    """Question about the nearest name, as the end of a sentence; empty for an empty name."""
    return f", did you mean {nearest}?" if nearest else ""
