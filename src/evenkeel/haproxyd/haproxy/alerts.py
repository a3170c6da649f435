"""Extracts HAProxy's error messages, without this host's paths, line numbers and redundant text."""

import re

ALERT_CHARS_MAX = 600

_ALERT_PATTERN = re.compile(r"^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*)$")
# Possessive quantifiers (`*+`) exclude backtracking on long messages.
_PARSING_PATTERN = re.compile(r"parsing \[[^\]\[]*+\]\s*+:\s*+")
_PATH_PATTERN = re.compile(r"(?<![\w.])(?:[\w.@+-]*/)+([\w.@:+-]*)")
_MEMORY_PATTERN = re.compile(r"(?:out of|not enough) memory\.?$")
_USELESS_PREFIXES = ("Error(s) found in configuration file", "Fatal errors found in configuration")


def extract_alerts(output: str) -> str:
    """Return HAProxy's reasons for a refusal, from its output, without paths and joined by ``; ``, at most
    600 characters; empty if there are none.
    """
    texts = [
        found[1] for line in _join_continuations(output).splitlines() if (found := _ALERT_PATTERN.match(line.strip()))
    ]
    useful = [remove_paths(text) for text in texts if not text.startswith(_USELESS_PREFIXES)]
    return "; ".join(dict.fromkeys(useful))[:ALERT_CHARS_MAX]


def _join_continuations(output: str) -> str:
    """Join each message in HAProxy's output to one line: from 3.0 on HAProxy continues messages on indented
    lines.
    """
    return output.replace(": \n  ", ": ").replace("\n  ", "; ")


def remove_paths(text: str) -> str:
    """Return a message of HAProxy without directories and line numbers in it; a lack of memory is explained
    by the setting ``memory_max``.
    """
    found = _PATH_PATTERN.sub(r"\1", _PARSING_PATTERN.sub("", text)).removeprefix("(null)").strip()
    return f"{found.rstrip('.')}: more than memory_max allows" if _MEMORY_PATTERN.search(found) else found
