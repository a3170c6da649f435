"""The buses' limits, so wide that a machine which stands still for a while passes none. A test that wants one to pass
sets it itself."""

from collections.abc import Callable

from evenkeel.bus.amqp import bus, connection, consumer, nodes, presence, publishing_watch
from evenkeel.bus.embedded import schema

LIMIT_SECONDS = 120

_LIMITS: tuple[tuple[object, str], ...] = (
    (bus, "START_SECONDS"),
    (bus, "SEND_SECONDS"),
    (bus, "CONFIRM_SECONDS"),
    (bus, "FULL_SECONDS"),
    (bus, "REPLY_WAIT_SECONDS"),
    (consumer, "FIRST_CONNECT_SECONDS"),
    (consumer, "CANCEL_SECONDS"),
    (connection, "CONNECT_SECONDS"),
    (connection, "SETUP_SECONDS"),
    (connection, "CLOSE_SECONDS"),
    (connection, "VERIFY_SECONDS"),
    (nodes, "HEARTBEAT_SECONDS"),
    (nodes, "IDLE_HEARTBEAT_SECONDS"),
    (presence, "ANNOUNCE_SECONDS"),
    (presence, "WITHDRAW_SECONDS"),
    (presence, "PROBE_SECONDS"),
    (publishing_watch, "UNCONFIRMED_SECONDS"),
    (schema, "BUSY_TIMEOUT_SECONDS"),
)


def be_patient(patch: Callable[[object, str, int], object]) -> None:
    """``patch``: ``setattr``, or pytest's, which undoes it."""
    for module, name in _LIMITS:
        patch(module, name, LIMIT_SECONDS)
