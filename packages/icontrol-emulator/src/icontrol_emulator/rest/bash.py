"""The few shell commands that clients send through util/bash: echo, cat, tail, ps, uptime, grep, sleep and tmsh, with
pipes between them.

Each command runs whatever the exit status of the previous one.
"""

from __future__ import annotations

import re
import shlex
from typing import Protocol

from icontrol_emulator import errors


class CommandHost(Protocol):
    """The part of the device that commands see."""

    def tmsh(self, words: list[str]) -> str:
        """The output of a command of tmsh."""
        ...

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none."""
        ...

    def uptime(self) -> str:
        """A line of text as `uptime` prints it."""
        ...


TAIL_LINES = 10
_SEPARATORS = frozenset({";", "&&", "||", "|", "&"})
_SILENT = frozenset({"true", ":", "sleep", "wait"})
_PROCESSES = "".join(
    f"root      {4000 + number}  0.0  0.1  1000  1000 ?  S    10:00   0:00 {name}\n"
    for number, name in enumerate(("/usr/bin/mcpd -f", "/usr/bin/tmm", "/usr/sbin/httpd", "java restjavad"))
)


def script(text: str, host: CommandHost) -> str:
    """The output of a shell line, standard error included."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        raise errors.IControlError(400, "quotes are not balanced", errors.INVALID_VALUE_ERROR) from error
    output, piped, command = "", "", list[str]()
    for word in [*words, ";"]:
        if word not in _SEPARATORS:
            command.append(word)
            continue
        result = _run(command, piped, host)
        piped = result if word == "|" else ""
        output += "" if word == "|" else result
        command = []
    return output


def _run(words: list[str], stdin: str, host: CommandHost) -> str:
    redirected = next((index for index, word in enumerate(words) if word[0] in "<>"), None)
    if redirected is not None:
        # a file descriptor before the redirection, as in 2>&1, is a separate word here
        _run([word for word in words[:redirected] if not word.isdigit()], stdin, host)
        return ""
    if not words or words[0] in _SILENT:
        return ""
    program = words[0].rpartition("/")[2]
    if program == "echo":
        return " ".join(words[1:]) + "\n"
    if program == "ps":
        return _PROCESSES
    if program == "uptime":
        return host.uptime()
    if program == "cat":
        return "".join(_read(host, "cat", path) for path in words[1:]) if words[1:] else stdin
    if program == "tail":
        return _run_tail(words[1:], stdin, host)
    if program == "grep":
        return _grep(words[1:], stdin)
    if program == "tmsh":
        return host.tmsh(words[1:])
    return f"bash: {words[0]}: command not found\n"


def _read(host: CommandHost, program: str, path: str) -> str:
    text = host.read(path)
    before = "cannot open `{}' for reading" if program == "tail" else "{}"
    return f"{program}: {before.format(path)}: No such file or directory\n" if text is None else text


def _run_tail(words: list[str], stdin: str, host: CommandHost) -> str:
    """`tail [-n COUNT | -COUNT] [FILE]`: the last lines, 10 by default."""
    numbers = [word.lstrip("-n") for word in words if word.lstrip("-n").isdigit()]
    paths = [word for word in words if not word.startswith("-") and not word.isdigit()]
    text = _read(host, "tail", paths[0]) if paths else stdin
    count = int(numbers[0]) if numbers else TAIL_LINES
    return "".join(text.splitlines(keepends=True)[-count:] if count else [])


def _grep(words: list[str], stdin: str) -> str:
    patterns = [word for word in words if not word.startswith("-")]
    without = any(word.startswith("-") and "v" in word for word in words)
    if not patterns:
        return "Usage: grep [OPTION]... PATTERN [FILE]...\n"
    # a literal comparison: patterns of clients are not run as regular expressions
    wanted = re.sub(r"\[(.)\]", r"\1", patterns[0])
    return "".join(f"{line}\n" for line in stdin.splitlines() if (wanted in line) is not without)
