"""Quoting of user text in HAProxy's configuration, so that it cannot inject anything. Pure.

Three syntaxes are nested (HAProxy configuration manual, 2.2 "Quoting and escaping" and 2.2.1). Lines are split into
words at blanks, where ``#``, ``\\``, ``"``, ``'`` and ``$`` are special; in a word that is a log format, ``%`` begins a
variable; in one that is a sample expression, arguments end at ``,`` and ``)``.
"""

import re
from urllib.parse import quote

# None of these is special anywhere in a word.
_BARE = re.compile(r"[A-Za-z0-9_.:/@+,=%*-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PATH_SAFE = "/%:?[]@!$&'()*+,;=-._~"


def quote_word(text: str) -> str:
    """The text quoted as one word. Raises :class:`ValueError` for control characters, which cannot be quoted, and for
    empty text.
    """
    if not text or _CONTROL.search(text):
        raise ValueError(f"{text!r}: control characters are not allowed, and an empty word is none")
    if _BARE.fullmatch(text):
        return text
    # In single quotes only the single quote is special.
    return "'" + text.replace("'", "'\\''") + "'"


def quote_line(*texts: str) -> str:
    """A line of these words, each quoted."""
    return " ".join(quote_word(text) for text in texts)


def log_format_literal(text: str) -> str:
    """``text`` as a log format that evaluates to it; not yet quoted as a word."""
    return text.replace("%", "%%")


def quote_argument(text: str) -> str:
    """``text`` as one argument of a sample fetch; not yet quoted as a word."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def percent_encode_path(text: str) -> str:
    """A URL path, with every character percent-encoded that is not allowed in a request line."""
    return quote(text, safe=_PATH_SAFE)
