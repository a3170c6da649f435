"""Finds the files that a line of configuration, or an argument, makes HAProxy read. Pure.

HAProxy's master reads files as the daemon's user, who may read keys and passwords, and some directives send a file's
content to clients. So lines may only refer to files of their own load balancer, by names without a path.
"""

import itertools
import re
from collections.abc import Mapping, Sequence

from evenkeel.haproxyd import wire

FileKinds = Mapping[str, str]
"""``{file name: kind}`` of a load balancer's files."""

_SENDING_KEYWORDS = frozenset(("errorfile", "errorfiles", "file", "lf-file"))
"""Keywords in HAProxy's rules that send a file's content to clients."""
_RULE_KEYWORDS = frozenset(
    ("http-after-response", "http-error", "http-request", "http-response", "tcp-request", "tcp-response")
)
_MAP_CONVERTER = re.compile(r",\s*map\w*\(\s*([^)\s,]*)")
"""Matches a map converter in a sample expression; the group is its file argument."""
_KEY_CONVERTER = re.compile(r",\s*(jwt_verify)\(")
"""Matches the converter that reads a public key from a path."""
_NAME_PATTERN = re.compile(wire.NAME_REGEX)
_ACL_VALUES_SEPARATOR_INDEX = 3
"""Index of the first word at which ``--`` ends the flags of ``acl NAME CRITERION FLAGS -- VALUES``."""


def forbidden_file(words: Sequence[str], kinds: FileKinds) -> str:
    """Return the first word of a line that refers to a file which the line may not read; empty if there is none.

    ``words``: the line as HAProxy reads it; ``kinds``: kind by name of the load balancer's files. Allowed are pages
    that are sent to clients, maps, and the files of ACLs. The result is the file's name, or the keyword that reads one.
    """
    if words and words[0] in _RULE_KEYWORDS:
        # The empty word at the end gives a last keyword without a value a pair too, so that it is refused.
        for word, name in itertools.pairwise((*words, "")):
            if word in _SENDING_KEYWORDS and not (word == "file" and kinds.get(name) == "page"):
                return word
    # After `--` an ACL has only values, which may look like flags.
    flags = _drop_acl_values(words) if words[:1] == ("acl",) else words
    for flag, name in itertools.pairwise(flags):
        if flag == "-f" and not _NAME_PATTERN.fullmatch(name):
            return name
    return forbidden_file_in_expressions(flags, kinds)


def forbidden_file_in_expressions(words: Sequence[str], kinds: FileKinds) -> str:
    """Return the first file in sample expressions that is not a map of the load balancer; empty if there is none.

    The result is the file's name, ``map`` if the name is missing, or the converter that reads a key from a file.
    """
    # The arguments of a converter may extend over several words, so the words are searched together.
    text = " ".join(words)
    for name in _MAP_CONVERTER.findall(text):
        if kinds.get(name) != "map":
            return str(name) or "map"
    found = _KEY_CONVERTER.search(text)
    return found[1] if found else ""


def _drop_acl_values(words: Sequence[str]) -> Sequence[str]:
    return (
        words[: words.index("--", _ACL_VALUES_SEPARATOR_INDEX)]
        if "--" in words[_ACL_VALUES_SEPARATOR_INDEX:]
        else words
    )
