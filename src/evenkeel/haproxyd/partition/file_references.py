"""The files that a line of configuration makes HAProxy read. Pure.

HAProxy's master reads files as the daemon's user, who may read keys and passwords, and some directives send a file's
content to clients. So lines may only refer to files of their own load balancer, by names without a path.
"""

import itertools
import re

from evenkeel.haproxyd import wire

UNQUOTED = re.compile(r"[\"'\\]|\$\{[^}]*\}?|\$\w*")
"""What HAProxy's tokenizer replaces: quotes, escapes, variables."""

_SENT = frozenset(("errorfile", "errorfiles", "file", "lf-file"))
"""Keywords of rules that respond with a file's content."""
_ANSWERS = frozenset(
    ("http-after-response", "http-error", "http-request", "http-response", "tcp-request", "tcp-response")
)
_MAPPED = re.compile(r",\s*map\w*\(\s*([^)\s,]*)")
"""The file argument of a map converter."""
_NAME = re.compile(wire.NAME)


def file_read_by(line: str) -> str:
    """A file that does not belong to the load balancer, or the word that could name one; empty if there is none."""
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
