"""Marks: a row beside each mirrored load balancer, with the state of the other system's database that it
shows.

The row is locked before the load balancer, so that writes of one load balancer follow each other, and it is
changed by every write, so that of two at different nodes of a Galera cluster one fails at COMMIT. A mark
outlives the load balancer by :data:`REMOVED_STATE_KEPT_SECONDS`: a request with an older state, which was delayed on
its way, does not bring a deleted one back.
"""

from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, select, update

from evenkeel.core.control.mirrors import ID_TAKEN, STALE_SNAPSHOT, MirrorConflict, MirroredSourceState
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

REMOVED_STATE_KEPT_SECONDS = 3600.0
"""Time for which the row of a removed load balancer is kept: no request is on its way for so long."""

_mirror = schema.mirror
_HAS_WANTED_ID = _mirror.c.load_balancer_id == bindparam("wanted_id")
_LOCK_SOURCE_STATE = select(_mirror).where(_HAS_WANTED_ID).with_for_update()
_UPDATE_SOURCE_STATE = (
    update(_mirror)
    .where(_HAS_WANTED_ID)
    .values(
        snapshot=bindparam("new_snapshot"),
        digest=bindparam("new_digest"),
        change_key=bindparam("new_change_key"),
        removed_at=None,
    )
)


def lock_source_state(connection: Connection, load_balancer_id: LoadBalancerId, mark: MirroredSourceState) -> Any:
    """Lock the row with the state of the other system's database that a mirrored load balancer shows, and
    return it as it was before; None if there was none and ``mark`` was stored.

    Raises :class:`MirrorConflict` if the row belongs to another provider, or its snapshot is newer.
    """
    row = connection.execute(_LOCK_SOURCE_STATE, {"wanted_id": load_balancer_id}).first()
    if row is None:
        if insert_if_absent(connection, _mirror, {"load_balancer_id": load_balancer_id, **_source_state_columns(mark)}):
            return None
        # another transaction has stored it meanwhile
        row = connection.execute(_LOCK_SOURCE_STATE, {"wanted_id": load_balancer_id}).one()
    if row.provider != mark.provider:
        raise MirrorConflict(
            f"Load balancer {load_balancer_id} belongs to provider '{row.provider}', not '{mark.provider}'.",
            code=ID_TAKEN,
        )
    if row.snapshot > mark.snapshot:
        raise MirrorConflict(
            f"snapshot {mark.snapshot!r} of load balancer {load_balancer_id} is older than the stored one,"
            f" {row.snapshot!r}.",
            code=STALE_SNAPSHOT,
        )
    return row


def store_source_state(
    connection: Connection, load_balancer_id: LoadBalancerId, mark: MirroredSourceState, stored_row: Any
) -> None:
    """Store ``mark`` in its row, which is locked; a mark without a change key keeps the stored one.
    ``stored_row``: the row as :func:`lock_source_state` returned it.
    """
    change = stored_row.change_key if mark.change is None else mark.change
    values = {"new_snapshot": mark.snapshot, "new_digest": mark.digest, "new_change_key": change}
    connection.execute(_UPDATE_SOURCE_STATE, {"wanted_id": load_balancer_id, **values})


def store_removed_source_state(connection: Connection, load_balancer_id: LoadBalancerId, snapshot: float) -> None:
    """Record in the load balancer's locked row of ``mirror`` that the load balancer is deleted. Also delete
    such rows of load balancers that were deleted more than :data:`REMOVED_STATE_KEPT_SECONDS` ago and have
    no row of their own any more.
    """
    connection.execute(
        update(_mirror)
        .where(_mirror.c.load_balancer_id == load_balancer_id)
        .values(snapshot=snapshot, digest="", change_key=None, removed_at=db_now())
    )
    # A device that has been away for longer still holds the load balancer: its row needs the mark until it is gone.
    there = exists().where(schema.load_balancer.c.id == _mirror.c.load_balancer_id)
    connection.execute(delete(_mirror).where(_mirror.c.removed_at < db_now() - REMOVED_STATE_KEPT_SECONDS, ~there))


def source_state_from_row(row: Any) -> MirroredSourceState:
    """Return the mark that a row of the table of marks contains."""
    return MirroredSourceState(provider=row.provider, snapshot=row.snapshot, digest=row.digest, change=row.change_key)


def _source_state_columns(mark: MirroredSourceState) -> dict[str, Any]:
    return {
        "provider": mark.provider,
        "snapshot": mark.snapshot,
        "digest": mark.digest,
        "change_key": mark.change,
        "removed_at": None,
    }
