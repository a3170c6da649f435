"""How texts of users become words of HAProxy's configuration that nothing can break out of. Pure.

Three languages lie in one another (HAProxy configuration manual, 2.2 "Quoting and escaping" and 2.2.1): lines are
split into words at blanks, with ``#``, ``\\``, ``"``, ``'`` and ``$`` of a meaning of their own; in a word that is a
log format ``%`` begins a variable; in one that is a sample expression, arguments end at ``,`` and ``)``.
"""

import re
from urllib.parse import quote

# Every one of these stands for itself wherever in a word it is.
_BARE = re.compile(r"[A-Za-z0-9_.:/@+,=%*-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH_SAFE = "/%:?[]@!$&'()*+,;=-._~"


def word(text: str) -> str:
    """``text`` as one word. Raises :class:`ValueError` for control characters, which no quotes hold, and for none."""
    if not text or _CONTROL.search(text):
        raise ValueError(f"{text!r}: control characters are not allowed, and an empty word is none")
    if _BARE.fullmatch(text):
        return text
    # In single quotes everything but the single quote stands for itself.
    return "'" + text.replace("'", "'\\''") + "'"


def line(*texts: str) -> str:
    """A line of these words."""
    return " ".join(word(text) for text in texts)


def literal(text: str) -> str:
    """``text`` as a log format that yields it; still to become a word."""
    return text.replace("%", "%%")


def argument(text: str) -> str:
    """``text`` as one argument of a sample fetch; still to become a word."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def path(text: str) -> str:
    """A URL's path with everything percent-encoded that has no place in a request line."""
    return quote(text, safe=_PATH_SAFE)
