r"""Splits a line of configuration into words, exactly as HAProxy reads them. Pure.

HAProxy's tokenizer has more ways to quote than lines need: ``\x66ile`` and ``f"i"le`` are ``file``, and ``$X`` in
double quotes is a variable (configuration manual, 2.2 "Quoting and escaping"). Lines that use them are refused, so that
validation and HAProxy see the same words.
"""

import re

_WORD_PIECE = r"[^ '\"\\$#]|'[^']*'|\\'"
_WORD_PATTERN = re.compile(rf"(?:{_WORD_PIECE})+")
_PIECE_PATTERN = re.compile(_WORD_PIECE)
QUOTING_DESCRIPTION = (
    "single quotes, with \\' between them for a single quote; no other quotes, escapes, variables or comments"
)
"""Description of the allowed quoting, for error messages."""


def split_line(line: str) -> tuple[str, ...] | None:
    """Split a line of configuration into words without their quotes; None if a quote is open, or the line has other
    quoting than :data:`QUOTING_DESCRIPTION` allows.
    """
    words: list[str] = []
    at = 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        found = _WORD_PATTERN.match(line, at)
        if found is None or line[found.end() : found.end() + 1] not in ("", " "):
            # What follows a word must be a space: anything else is quoting that HAProxy would read differently.
            return None
        words.append(_PIECE_PATTERN.sub(_unquote_piece, found[0]))
        at = found.end()
    return tuple(words)


def _unquote_piece(piece: re.Match[str]) -> str:
    return piece[0].strip("'") if len(piece[0]) > 1 and piece[0][0] == "'" else piece[0].removeprefix("\\")
