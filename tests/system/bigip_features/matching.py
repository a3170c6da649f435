"""Does what a client shows have the attributes that are wanted?"""

import re
from typing import Any

ANY = object()
"""Whatever it is, it is there."""


def difference(wanted: Any, seen: Any, where: str = "") -> list[str]:
    """Where it differs. Of dictionaries what is wanted counts; lists of texts are equal, others
    hold the same in any order;
    patterns are found in texts."""
    if wanted is ANY:
        return []
    if isinstance(wanted, re.Pattern):
        return [] if isinstance(seen, str) and wanted.search(seen) else [f"{where}: {seen!r}, not {wanted.pattern!r}"]
    if isinstance(wanted, dict) and isinstance(seen, dict):
        absent = [f"{where}/{name} is absent of {sorted(seen)}" for name in wanted if name not in seen]
        inner = [(name, value) for name, value in wanted.items() if name in seen]
        return [*absent, *(text for name, value in inner for text in difference(value, seen[name], f"{where}/{name}"))]
    if isinstance(wanted, list) and isinstance(seen, list) and not all(isinstance(one, str) for one in wanted):
        lacking = [one for one in wanted if not any(not difference(one, other) for other in seen)]
        short = [] if len(wanted) == len(seen) else [f"{where}: {len(seen)} of {len(wanted)}"]
        return [*short, *(f"{where}: no {one!r} in {seen!r}" for one in lacking)]
    return [] if wanted == seen else [f"{where}: {seen!r}, not {wanted!r}"]
