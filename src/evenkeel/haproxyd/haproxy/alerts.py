"""HAProxy's own words, made fit to be passed on: without paths of this host, line numbers and what is said anyway."""

import re

WORDS_CHARS_MAX = 600

_ALERT = re.compile(r"^\[ALERT\]\s+\(\d+\) : (?:config : )?(.*)$")
_PARSING = re.compile(r"parsing \[[^\]]*\]\s*:\s*")
_PATH = re.compile(r"(?<![\w.])(?:[\w.@+-]*/)+([\w.@:+-]*)")
_MEMORY = re.compile(r"(?:out of|not enough) memory\.?$")
_EMPTY = ("Error(s) found in configuration file", "Fatal errors found in configuration")


def alerts(output: str) -> str:
    """Why HAProxy refused, from what it printed; empty if it gave no reason."""
    said = [found[1] for line in output.splitlines() if (found := _ALERT.match(line.strip()))]
    useful = [cleaned(text) for text in said if not text.startswith(_EMPTY)]
    return "; ".join(dict.fromkeys(useful))[:WORDS_CHARS_MAX]


def cleaned(text: str) -> str:
    """One message without paths."""
    said = _PATH.sub(r"\1", _PARSING.sub("", text)).removeprefix("(null)").strip()
    return f"{said.rstrip('.')}: more than memory_max allows" if _MEMORY.search(said) else said
