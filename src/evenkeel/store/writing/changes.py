"""Ids of changes, which statements write beside a new revision, with the ids of earlier changes: see
:mod:`evenkeel.core.status.changes`.
"""

from sqlalchemy import ColumnElement, String, bindparam, cast, func

from evenkeel.core.kit.request_context import new_change_id
from evenkeel.core.status.changes import EARLIER_CHARACTERS_MAX, HEAD_CHARACTERS
from evenkeel.store.records import schema

_load_balancer = schema.load_balancer


def new_change_parameter() -> str:
    """Return a new change id, for the parameter ``new_change`` of :func:`change_id_assignments`."""
    return new_change_id()


def change_id_assignments() -> dict[str, ColumnElement[str]]:
    """Return {column: value} of a new change id, for a statement that raises the revision. A statement must
    assign these columns before the revision, because MariaDB evaluates assignments from left to right.

    Parameter: ``new_change``, see :func:`new_change_parameter`.
    """
    former = (
        cast(_load_balancer.c.revision, String(20))
        .concat(":")
        .concat(func.substr(_load_balancer.c.change_id, 1, HEAD_CHARACTERS))
    )
    # The newest one is put in front, so that the oldest is cut off at the column's limit.
    earlier = func.substr(former.concat(" ").concat(_load_balancer.c.earlier_changes), 1, EARLIER_CHARACTERS_MAX)
    return {
        "earlier_changes": earlier,
        "change_id": bindparam("new_change", type_=_load_balancer.c.change_id.type),
    }
