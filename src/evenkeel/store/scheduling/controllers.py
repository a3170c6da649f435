"""Controller heartbeats, shown to operators; scheduling does not depend on them."""

from sqlalchemy import Connection, delete, update

from evenkeel.core.control.overview import CONTROLLER_KEPT_SECONDS, ControllerHeartbeat
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.records import schema

_controller = schema.controller


def record_heartbeat(connection: Connection, seen: ControllerHeartbeat) -> None:
    """Store a controller's heartbeat, and delete controllers that have been silent for
    :data:`CONTROLLER_KEPT_SECONDS`. Two statements; four for a new controller.
    """
    values = {"message_broker": seen.message_broker, "seen_at": db_now()}
    changed = connection.execute(update(_controller).where(_controller.c.id == seen.id).values(**values))
    if not changed.rowcount:
        # one that was killed, and started again
        former = (_controller.c.host == seen.host, _controller.c.url == seen.url)
        # Its id was that of the killed process, so its row would be shown as silent beside the new one.
        connection.execute(delete(_controller).where(*former))
        known = {"id": seen.id, "host": seen.host, "url": seen.url, "version": seen.version, "started_at": db_now()}
        insert_if_absent(connection, _controller, {**known, **values})
    connection.execute(delete(_controller).where(_controller.c.seen_at < db_now() - CONTROLLER_KEPT_SECONDS))


def delete_controller(connection: Connection, controller_id: str) -> None:
    """Delete a controller that has stopped from the list that operators see."""
    connection.execute(delete(_controller).where(_controller.c.id == controller_id))
