"""Checks the files to which server arguments, bind arguments and crt-lists refer: certificates, CA files,
revocation lists.

Pure. Such files must be the load balancer's own and of the right kind: the directory that HAProxy reads also
contains the files of other load balancers and the key for peers.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.lines.file_references import FileKinds

OUTSIDE_PATH_PATTERN = re.compile(r"^[/~.]|\.\./|@(?!(SECLEVEL=[0-5]|STRENGTH)(:|$))|^@")
"""Matches a path, or one of HAProxy's path prefixes, in an argument that may name a file; but no lists of ciphers."""
_KINDS_BY_ARGUMENT = {
    "crt": "certificate",
    "default-crt": "certificate",
    "crt-list": "crt_list",
    "ca-file": "ca",
    "ca-verify-file": "ca",
    "crl-file": "crl",
}
# Arguments that read secrets for which there is no kind of file: a signing CA with its key, ticket keys, ECH keys.
_REFUSED_ARGUMENTS = frozenset(("ca-sign-file", "ca-sign-pass", "ech", "generate-certificates", "tls-ticket-keys"))
_LINE_PATTERN = re.compile(
    r"(?P<name>[^\s\[\]]+)(?:[ \t]+\[(?P<options>[^\[\]]*)\])?(?P<names>(?:[ \t]+[^\s\[\]]+)*)[ \t]*"
)
_OPTION_PATTERN = re.compile(r"[A-Za-z0-9_.,:/+=!@-]+")
_SERVER_NAME = re.compile(r"!?(?:\*\.)?[A-Za-z0-9_-][A-Za-z0-9_.-]{0,252}")


def argument_problems(subject: str, words: Sequence[str], kinds: FileKinds) -> Iterator[str]:
    """Yield reasons to refuse server or bind arguments that read certificates, keys or CA files other than
    the load balancer's own. ``subject``: the object that has the arguments, for messages; ``kinds``: kind by
    file name.
    """
    # The empty word at the end gives a last keyword without a value a pair too, so that it is refused.
    for word, name in itertools.pairwise((*words, "")):
        if word in _REFUSED_ARGUMENTS:
            yield f"{subject}: {word!r} is not allowed"
        if word in _KINDS_BY_ARGUMENT and kinds.get(name) != _KINDS_BY_ARGUMENT[word]:
            allowed = f"files of the load balancer alone, of kind {_KINDS_BY_ARGUMENT[word]}, are allowed"
            yield f"{subject}: {word} {name[:60]!r}: {allowed}"


def list_problems(file: wire.File, kinds: FileKinds, *, lines_max: int, line_chars_max: int) -> Iterator[str]:
    """Yield reasons to refuse a crt-list: too many or too long lines, wrong syntax, or files that are not the
    load balancer's. ``kinds``: kind by name of its files.
    """
    what = f"file {file.name}"
    lines = file.content.split("\n")
    if len(lines) > lines_max:
        yield f"{what}: {len(lines)} lines given; at most {lines_max} are allowed"
    for number, line in enumerate(lines[:lines_max], 1):
        # One character over the limit shows that a line is too long; the rest of it need not be copied.
        if line and (problem := _line_problem(line[: line_chars_max + 1], kinds, line_chars_max)):
            yield f"{what}: line {number} {problem}"


def _line_problem(line: str, kinds: FileKinds, chars_max: int) -> str:
    if len(line) > chars_max:
        return f"is longer than the {chars_max} characters that are allowed"
    found = _LINE_PATTERN.fullmatch(line)
    if found is None:
        return "is not a file's name, options in brackets and server names"
    if kinds.get(found["name"]) != "certificate":
        return f"names {found['name'][:60]!r}: certificates of the load balancer alone are allowed"
    options = (found["options"] or "").split()
    for word in options:
        if not _OPTION_PATTERN.fullmatch(word) or OUTSIDE_PATH_PATTERN.search(word):
            return f"has the option {word[:60]!r}: files of the load balancer alone, by their names, are allowed"
    for name in found["names"].split():
        if not _SERVER_NAME.fullmatch(name):
            return f"has the server name {name[:60]!r}: letters, digits, '_', '-', '.' and '*.' before it are allowed"
    return next(argument_problems("has options", options, kinds), "")
