"""The few shell commands that clients send through util/bash: echo, ps, grep, sleep and tmsh, with pipes between them.

Each command runs whatever the exit status of the previous one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from icontrol_emulator import errors

Tmsh = Callable[[list[str]], str]

_SEPARATORS = frozenset({";", "&&", "||", "|", "&"})
_SILENT = frozenset({"true", ":", "sleep", "wait"})
_PROCESSES = "".join(
    f"root      {4000 + number}  0.0  0.1  1000  1000 ?  S    10:00   0:00 {name}\n"
    for number, name in enumerate(("/usr/bin/mcpd -f", "/usr/bin/tmm", "/usr/sbin/httpd", "java restjavad"))
)


def script(text: str, tmsh: Tmsh) -> str:
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
        result = _run(command, piped, tmsh)
        piped = result if word == "|" else ""
        output += "" if word == "|" else result
        command = []
    return output


def _run(words: list[str], stdin: str, tmsh: Tmsh) -> str:
    redirected = next((index for index, word in enumerate(words) if word[0] in "<>"), None)
    if redirected is not None:
        # a file descriptor before the redirection, as in 2>&1, is a separate word here
        _run([word for word in words[:redirected] if not word.isdigit()], stdin, tmsh)
        return ""
    if not words or words[0] in _SILENT:
        return ""
    program = words[0].rpartition("/")[2]
    if program == "echo":
        return " ".join(words[1:]) + "\n"
    if program == "ps":
        return _PROCESSES
    if program == "grep":
        return _grep(words[1:], stdin)
    if program == "tmsh":
        return tmsh(words[1:])
    return f"bash: {words[0]}: command not found\n"


def _grep(words: list[str], stdin: str) -> str:
    patterns = [word for word in words if not word.startswith("-")]
    without = any(word.startswith("-") and "v" in word for word in words)
    if not patterns:
        return "Usage: grep [OPTION]... PATTERN [FILE]...\n"
    # a literal comparison: patterns of clients are not run as regular expressions
    wanted = re.sub(r"\[(.)\]", r"\1", patterns[0])
    return "".join(f"{line}\n" for line in stdin.splitlines() if (wanted in line) is not without)
