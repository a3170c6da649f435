"""Which file a line of configuration has HAProxy read. Pure.

HAProxy's master reads files as the daemon's user, who may read keys and passwords, and some lines send what they read
to whoever asks. So lines name files of their load balancer only, which are called by names without a path.
"""

import itertools
import re

from evenkeel.haproxyd import wire

UNQUOTED = re.compile(r"[\"'\\]|\$\{[^}]*\}?|\$\w*")
"""What HAProxy takes out of words: quotes, escapes, variables."""

_SENT = frozenset(("errorfile", "errorfiles", "file", "lf-file"))
"""Words of rules that answer with a file's content."""
_ANSWERS = frozenset(
    ("http-after-response", "http-error", "http-request", "http-response", "tcp-request", "tcp-response")
)
_MAPPED = re.compile(r",\s*map\w*\(\s*([^)\s,]*)")
"""A converter's file."""
_NAME = re.compile(wire.NAME)


def file_read_by(line: str) -> str:
    """A file that is none of the load balancer's, or the word that would name one; empty if there is none."""
    words = UNQUOTED.sub("", line).split()
    if words and words[0] in _ANSWERS:
        for word in words:
            if word in _SENT:
                return word
    flags = words[: words.index("--")] if words[:1] == ["acl"] and "--" in words else words
    for flag, name in itertools.pairwise(flags):
        if flag == "-f" and not _NAME.fullmatch(name):
            return name
    for name in _MAPPED.findall(" ".join(flags)):
        if not _NAME.fullmatch(name):
            return str(name)
    return ""
