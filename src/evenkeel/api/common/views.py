"""Parts that views of several APIs share."""

from collections.abc import Collection

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import (
    Member,
)


# Views never form circles, so the garbage collector need not examine them: a list has thousands.
class View(Value, gc=False):
    """Base of the views that tenants' APIs show: structs that the garbage collector does not examine."""


class IdRef(View, kw_only=True):
    """A reference to another object."""

    id: str


def id_refs(ids: Collection[str]) -> list[IdRef]:
    return [IdRef(id=item) for item in ids] if ids else []


def shown_address(row: Member) -> str:
    """Return the address of a member as its request spelled it, or else in canonical form."""
    return row.given_address or row.address
