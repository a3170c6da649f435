"""Regular expressions: Tcl's syntax where it differs from Python's, and an end for those that backtrack without one.

Expressions with a repetition inside a repetition, which may take exponential time, are matched by a process beside this
one, which is killed after `SECONDS_MAX`.
"""

from __future__ import annotations

import atexit
import functools
import json
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

PATTERN_CHARACTERS_MAX = 4_096
TEXT_CHARACTERS_MAX = 65_536
MATCHES_MAX = 10_000
SECONDS_MAX = 0.25
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "space": r"\s", "upper": "A-Z", "lower": "a-z",
    "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "blank": r" \t", "word": r"\w",
}  # fmt: skip
_EDGES = {r"\y": r"\b", r"\Y": r"\B", r"\m": r"\b(?=\w)", r"\M": r"\b(?<=\w)"}
_SCRIPT = """
import json, re, sys
for line in sys.stdin:
    pattern, flags, text, at = json.loads(line)
    match = re.compile(pattern, flags).search(text, at)
    spans = None if match is None else [match.span(n) for n in range(len(match.groups()) + 1)]
    sys.stdout.write(json.dumps(spans) + "\\n")
    sys.stdout.flush()
"""
Spans = list[tuple[int, int]]
"""Start and end of the match and of each group, -1 for a group without a match."""


class BadPattern(Exception):
    """The expression cannot be compiled, or took too long."""


def search(pattern: str, text: str, *, nocase: bool = False, at: int = 0) -> Spans | None:
    """The first match at or after a position. Raises `BadPattern`."""
    compiled, is_risky = _compiled(pattern, nocase)
    text = text[:TEXT_CHARACTERS_MAX]
    if is_risky:
        return _WORKER.search(compiled, text, at)
    match = compiled.search(text, at)
    return None if match is None else [match.span(number) for number in range(compiled.groups + 1)]


def find_all(pattern: str, text: str, *, nocase: bool = False, at: int = 0) -> Iterator[Spans]:
    """All matches that do not overlap. Raises `BadPattern`."""
    for _ in range(MATCHES_MAX):
        found = search(pattern, text, nocase=nocase, at=at) if at <= len(text) else None
        if found is None:
            return
        yield found
        at = found[0][1] if found[0][1] > found[0][0] else found[0][1] + 1


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str, nocase: bool) -> tuple[re.Pattern[str], bool]:
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise BadPattern("regular expression is too long")
    ready = _translated(pattern)
    try:
        return re.compile(ready, re.IGNORECASE if nocase else 0), _is_risky(sre_parser.parse(ready))
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"couldn't compile regular expression pattern: {error}") from error


def _translated(pattern: str) -> str:
    """Tcl's character classes and word boundaries in Python's syntax."""
    for name, signs in _CLASSES.items():
        pattern = pattern.replace(f"[:{name}:]", signs)
    pattern = re.sub(r"\\.", lambda match: _EDGES.get(match.group(), match.group()), pattern)
    return re.sub(r"^\*\*\*[:=]", "", pattern)


def _is_risky(parsed: Any, *, inside: bool = False) -> bool:
    """Whether an unlimited repetition is inside another one."""
    for operator, argument in parsed:
        repeats = operator in (sre.MAX_REPEAT, sre.MIN_REPEAT) and argument[1] > 16
        if repeats and inside:
            return True
        if any(_is_risky(part, inside=inside or repeats) for part in _subpatterns(argument)):
            return True
    return False


def _subpatterns(argument: Any) -> Iterator[Any]:
    if isinstance(argument, sre_parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from _subpatterns(each)


class _Worker:
    """The process that matches risky expressions; started when it is needed, and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def search(self, compiled: re.Pattern[str], text: str, at: int) -> Spans | None:
        process = self._started()
        line = json.dumps([compiled.pattern, compiled.flags & re.IGNORECASE, text, at])
        if process.stdin is None or process.stdout is None:
            raise BadPattern("regular expression cannot be matched")
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        # the first answer waits for the interpreter to start
        ready, _, _ = select.select([process.stdout], [], [], SECONDS_MAX)
        if not ready:
            self.close()
            raise BadPattern("regular expression took too long")
        spans = json.loads(process.stdout.readline())
        return None if spans is None else [(first, last) for first, last in spans]

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(  # noqa: S603  # a constant program of this module
                [sys.executable, "-I", "-c", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )  # fmt: skip
            self._warm(self._process)
        return self._process

    def _warm(self, process: subprocess.Popen[str]) -> None:
        if process.stdin is not None and process.stdout is not None:
            process.stdin.write('["a", 0, "a", 0]\n')
            process.stdin.flush()
            process.stdout.readline()


_WORKER = _Worker()
atexit.register(_WORKER.close)
