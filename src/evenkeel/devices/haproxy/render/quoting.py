"""Quoting of user text in HAProxy's configuration, so that it cannot inject anything. Pure.

Three syntaxes are nested (HAProxy configuration manual, 2.2 "Quoting and escaping" and 2.2.1). Lines are split into
words at blanks, where ``#``, ``\\``, ``"``, ``'`` and ``$`` are special; in a word that is a log format, ``%`` begins a
variable; in one that is a sample expression, arguments end at ``,`` and ``)``.
"""

import re
from urllib.parse import quote

# None of these is special anywhere in a word.
_BARE_PATTERN = re.compile(r"[A-Za-z0-9_.:/@+,=%*-]+")
_CONTROL_PATTERN = re.compile(r"[\x00-\x1f\x7f]")
_PATH_SAFE = "/%:?[]@!$&'()*+,;=-._~"


def quote_word(text: str) -> str:
    """Quote the text as one word. Raises :class:`ValueError` for empty text, and for control characters, which cannot
    be quoted.
    """
    if not text or _CONTROL_PATTERN.search(text):
        raise ValueError(f"{text!r}: control characters are not allowed, and an empty word is none")
    if _BARE_PATTERN.fullmatch(text):
        return text
    # In single quotes only the single quote is special.
    return "'" + text.replace("'", "'\\''") + "'"


def quote_line(*texts: str) -> str:
    """Join the texts, each quoted as a word, to a line. Raises :class:`ValueError` for an empty text or
    control characters.
    """
    return " ".join(quote_word(text) for text in texts)


def log_format_literal(text: str) -> str:
    """Escape ``text`` for a log format, so that it evaluates to ``text``; the result is not yet quoted as a word."""
    return text.replace("%", "%%")


def quote_argument(text: str) -> str:
    """Quote ``text``, in double quotes, as one argument of a sample fetch; the result is not yet quoted as a
    word.
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def percent_encode_path(text: str) -> str:
    """Percent-encode every character of a URL path that is not allowed in a request line."""
    return quote(text, safe=_PATH_SAFE)
