"""DNS names that a certificate may be requested for by http-01 (RFC 8555, 8.3). Pure."""

import re
from collections.abc import Sequence

from evenkeel.core.kit.errors import Invalid

NAME_CHARACTERS_MAX = 253
RULE = (
    "DNS names of two or more labels of 1 to 63 letters, digits and '-', at most 253 characters; "
    "no wildcards and no IP addresses"
)

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The last label has a letter, so that no IPv4 address is taken for a name.
_NAME = re.compile(rf"(?:{_LABEL}\.)+(?=[a-z0-9-]*[a-z]){_LABEL}")
_SHOWN_CHARACTERS = 100


def checked_names(names: Sequence[str], *, names_max: int) -> tuple[str, ...]:
    """Return the names in their order. ``names``: ASCII in lower case. Raises :class:`Invalid` naming the value."""
    if not 1 <= len(names) <= names_max:
        raise Invalid(
            f"Invalid input for field/attribute names. Value: {len(names)} names. Value should be 1 to {names_max}."
        )
    for name in names:
        if len(name) > NAME_CHARACTERS_MAX or not _NAME.fullmatch(name):
            shown = name[:_SHOWN_CHARACTERS]
            raise Invalid(f"Invalid input for field/attribute names. Value: '{shown}'. Value should be {RULE}.")
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise Invalid(
            f"Invalid input for field/attribute names. Value: '{repeated}'. Value should be without repetitions."
        )
    return tuple(names)
