"""Checks of ids that another system chose: no object of any kind may already have one of them."""

from collections.abc import Iterable

from sqlalchemy import Connection, literal, select, union_all

from evenkeel.core.control.mirrors import ID_TAKEN, MirrorConflict
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.records.rows import KINDS

_READ_TAKEN_IDS = union_all(
    *(
        select(literal(kind.title).label("title"), kind.table.c.id).where(is_in_bound_list(kind.table.c.id, "wanted"))
        for kind in KINDS.values()
    )
).limit(1)


def check_ids_free(connection: Connection, ids: Iterable[str]) -> None:
    """Check that no object of any kind has one of these ids. One query. Raises :class:`MirrorConflict` if one
    has.
    """
    if wanted := list(ids):
        found = connection.execute(_READ_TAKEN_IDS, {"wanted": wanted}).first()
        if found is not None:
            raise id_in_use_error(f"{found.title} {found.id} exists")


def id_in_use_error(what: str) -> MirrorConflict:
    """Return the error for an id, described by ``what``, that another object has."""
    return MirrorConflict(f"{what} already, and does not belong to this load balancer as such.", code=ID_TAKEN)
