"""DNS names for which a certificate may be requested (RFC 8555, 7.1.3). Pure."""

import re
from collections.abc import Sequence

from evenkeel.core.kit.errors import Invalid

NAME_CHARACTERS_MAX = 253
RULE = (
    "DNS names of two or more labels of 1 to 63 letters, digits and '-', at most 253 characters; "
    "no IP addresses, and '*.' before a name only in a DNS zone that is configured for the project"
)
WILDCARD = "*."
"""Beginning of a wildcard: a name that stands for all names with one label more (RFC 8555, 7.1.3)."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The last label has a letter, so that no IPv4 address is taken for a name.
_NAME_PATTERN = re.compile(rf"(?:{_LABEL}\.)+(?=[a-z0-9-]*[a-z]){_LABEL}")
_SHOWN_CHARACTERS = 100


def without_wildcard(name: str) -> str:
    """Return the name that an authority validates for a certificate's name: the name itself, or what follows
    ``*.``.
    """
    return name.removeprefix(WILDCARD)


def is_zone_name(text: str) -> bool:
    """Whether a DNS zone can have this name: ASCII in lower case, one label or more, without a dot at the end."""
    return len(text) <= NAME_CHARACTERS_MAX and _NAME_PATTERN.fullmatch(f"a.{text}") is not None


def checked_names(names: Sequence[str], *, names_max: int, wildcards: bool = False) -> tuple[str, ...]:
    """Return the names of a certificate request unchanged, in their order. ``names``: ASCII in lower case;
    ``wildcards``: whether names with ``*.`` are allowed.

    Raises :class:`Invalid`, naming the value, for more than ``names_max`` names or none, a name of another
    form, and repetitions.
    """
    if not 1 <= len(names) <= names_max:
        raise Invalid(
            f"Invalid input for field/attribute names. Value: {len(names)} names. Value should be 1 to {names_max}."
        )
    for name in names:
        bare = without_wildcard(name) if wildcards else name
        if len(bare) > NAME_CHARACTERS_MAX or not _NAME_PATTERN.fullmatch(bare):
            shown = name[:_SHOWN_CHARACTERS]
            raise Invalid(f"Invalid input for field/attribute names. Value: '{shown}'. Value should be {RULE}.")
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise Invalid(
            f"Invalid input for field/attribute names. Value: '{repeated}'. Value should be without repetitions."
        )
    return tuple(names)
