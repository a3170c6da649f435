"""Names of sections ``[KIND:NAME]``."""

import re
from collections.abc import Iterable

NAME_RULE_TEXT = "1 to 32 letters, digits and '-'"
_NAME_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")


def sections_of_kind(prefix: str, sections: Iterable[str]) -> list[str]:
    """Return the sections whose names begin with ``prefix``, such as ``acme:``, in lower case and sorted."""
    return sorted({section.lower() for section in sections if section.lower().startswith(prefix)})


def section_name(section: str, prefix: str) -> str | None:
    """Return the part of the section after ``prefix``; None if it breaks :data:`NAME_RULE_TEXT` or has another
    prefix.
    """
    name = section.removeprefix(prefix)
    return name if section.startswith(prefix) and _NAME_PATTERN.fullmatch(name) else None
