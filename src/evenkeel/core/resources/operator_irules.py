"""Limits of the iRules that an operator attaches to a listener, or keeps with its adoption. Pure."""

import re
from collections.abc import Sequence

PER_LISTENER_MAX = 16
_PATH_PATTERN = re.compile(r"(?:/[A-Za-z0-9_.-]+){2,3}")
_PATH_CHARACTERS_MAX = 255


def irules_problem(paths: Sequence[str]) -> str:
    """Return why these paths cannot be the iRules of a listener (human-readable): too many, a wrong form, or
    a repetition; empty if they can.
    """
    if len(paths) > PER_LISTENER_MAX:
        return f"{len(paths)} iRules; at most {PER_LISTENER_MAX} are allowed"
    for path in paths:
        if len(path) > _PATH_CHARACTERS_MAX or not _PATH_PATTERN.fullmatch(path):
            shown = path[:_PATH_CHARACTERS_MAX]
            return f"iRule {shown!r}: a path like /Common/name is allowed, of letters, digits, '_', '.' and '-'"
    if len(set(paths)) < len(paths):
        return "an iRule is named twice"
    return ""
