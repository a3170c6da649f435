"""The statements on the queue file's contents: messages, claims, processes and settings. Plain functions that
run inside a writing transaction.

``peer`` is the id of a process (of one open bus in it). A claim is named by (message id, deliveries): a lost
claim that another process took has a higher count, so the former holder's statements have no effect.
"""

import sqlite3
from collections.abc import Collection, Sequence

from evenkeel.bus.embedded.schema import monotonic_seconds
from evenkeel.core.kit.errors import BusUnavailable
from evenkeel.core.kit.values import Value

MAX_MESSAGES = 100_000
MAX_BYTES = 1024**3
"""Limits of one queue: number of messages, and bytes of their bodies; above them messages are refused."""
MAX_DEAD = 10_000
LEASE_SECONDS = 30.0
REPLY_SECONDS = 60.0
"""Time after which a reply that its caller has not fetched is removed."""
ABANDONED_SECONDS = 7 * 86_400.0
"""Time without consumers after which a queue is emptied, because its agent is gone."""


class QueueFull(BusUnavailable):
    """A queue has reached its limit of messages or bytes; the refused message was not written."""


class QueueClaim(Value):
    """A message that a process has claimed until the lease expires. ``deliveries`` counts the claims of the
    message so far, this one included; claims that were returned unhandled do not count.
    """

    id: int
    deliveries: int
    body: bytes


class FetchedMessages(Value):
    """Result of one fetch. ``claims``: the claimed messages, a tuple for each wanted queue, in the order
    asked for. ``replies``: encoded replies to this process's calls. ``next_at``: monotonic time in seconds
    at which the next known message of these queues becomes available; None if there is none.
    """

    claims: tuple[tuple[QueueClaim, ...], ...]
    replies: tuple[bytes, ...]
    next_at: float | None


def put_message(db: sqlite3.Connection, queue: str, body: bytes, expires_at: float | None) -> list[str]:
    """Add a message to a queue; returns the paths of the wake-up sockets of the queue's consumers.
    ``expires_at``: monotonic time in seconds; None: never. Raises :class:`QueueFull` if the queue has
    reached its limit.
    """
    row = db.execute("SELECT messages, bytes FROM queue WHERE name = ?", (queue,)).fetchone()
    if row is None:
        # A queue without a consumer counts as consumed now, so that it is abandoned only after the full time.
        db.execute("INSERT INTO queue VALUES (?, 0, 0, ?)", (queue, monotonic_seconds()))
    elif row[0] >= MAX_MESSAGES or row[1] + len(body) > MAX_BYTES:
        raise QueueFull(f"queue {queue} is full")
    db.execute(
        "INSERT INTO message (queue, available_at, expires_at, body) VALUES (?, ?, ?, ?)",
        (queue, monotonic_seconds(), expires_at, body),
    )
    return consumer_sockets(db, queue)


def consumer_sockets(db: sqlite3.Connection, queue: str) -> list[str]:
    """Return the paths of the wake-up sockets of all processes that consume the queue."""
    rows = db.execute("SELECT socket FROM listener JOIN peer ON peer.id = listener.peer WHERE queue = ?", (queue,))
    return [row[0] for row in rows]


def claim_messages(
    db: sqlite3.Connection, peer: str, wanted: Sequence[tuple[str, int]], replies: bool
) -> FetchedMessages:
    """Claim messages that are available and not expired for the process ``peer``, for ``LEASE_SECONDS``.
    ``wanted``: pairs of a queue's name and the largest number of its messages. If ``replies``, all replies
    to the process's calls are removed from the file and returned, too.
    """
    time = monotonic_seconds()
    claims = tuple(_claim_from_queue(db, peer, queue, limit, time) for queue, limit in wanted)
    answers: tuple[bytes, ...] = ()
    if replies:
        # Deleted without a claim: a reply that is lost with this process has no caller any more.
        rows = db.execute("DELETE FROM message WHERE queue = ? RETURNING body", (reply_queue(peer),))
        answers = tuple(row[0] for row in rows)
    return FetchedMessages(claims=claims, replies=answers, next_at=_next_message_at(db, wanted, time))


def _claim_from_queue(db: sqlite3.Connection, peer: str, queue: str, limit: int, time: float) -> tuple[QueueClaim, ...]:
    rows = db.execute(
        "UPDATE message SET claimed_by = ?, available_at = ?, deliveries = deliveries + 1 WHERE id IN"
        " (SELECT id FROM message WHERE queue = ? AND available_at <= ? AND (expires_at IS NULL OR expires_at > ?)"
        " ORDER BY available_at LIMIT ?) RETURNING id, deliveries, body",
        # A claim is nothing but a later available_at, so a lease that expires frees its message by itself.
        (peer, time + LEASE_SECONDS, queue, time, time, limit),
    )
    # Read to the end: SQLite refuses to commit while a writing statement still has rows.
    return tuple(QueueClaim(id=row[0], deliveries=row[1], body=row[2]) for row in rows.fetchall())


def _next_message_at(db: sqlite3.Connection, wanted: Sequence[tuple[str, int]], time: float) -> float | None:
    statement = "SELECT MIN(available_at) FROM message WHERE queue = ? AND available_at > ?"
    times = [db.execute(statement, (queue, time)).fetchone()[0] for queue, _ in wanted]
    return min((at for at in times if at is not None), default=None)


def finish_message(
    db: sqlite3.Connection, peer: str, claim: QueueClaim, reply_to: str, replies: Collection[bytes]
) -> list[str]:
    """Delete a handled message and store its replies; returns the socket path of the caller to wake, or an
    empty list if there is none to wake. Does nothing if the claim was lost. Replies are dropped if the
    caller is gone or its queue is full.
    """
    gone = db.execute("DELETE FROM message WHERE id = ? AND deliveries = ? AND claimed_by = ?", _claim_key(claim, peer))
    # Whoever has the claim now replies; two replies would be harmless but useless.
    if not gone.rowcount or not reply_to:
        return []
    row = db.execute("SELECT socket FROM peer WHERE id = ?", (reply_to,)).fetchone()
    if row is None:
        return []  # the caller is gone
    try:
        for reply in replies:
            put_message(db, reply_queue(reply_to), reply, monotonic_seconds() + REPLY_SECONDS)
    except QueueFull:
        return []  # the reply is lost: the call times out
    return [row[0]]


def retry_message(db: sqlite3.Connection, peer: str, claim: QueueClaim, pause_seconds: float) -> None:
    """Free a claimed message, which is available again after ``pause_seconds``. Does nothing if the claim was
    lost.
    """
    db.execute(
        "UPDATE message SET claimed_by = NULL, available_at = ? WHERE id = ? AND deliveries = ? AND claimed_by = ?",
        (monotonic_seconds() + pause_seconds, *_claim_key(claim, peer)),
    )


def return_messages(db: sqlite3.Connection, peer: str, claims: Collection[QueueClaim]) -> None:
    """Free messages that were claimed but not handled, which does not count as a delivery; they come first in
    their queues. Lost claims are skipped.
    """
    db.executemany(
        # available_at 0 puts it before all others, where it was.
        "UPDATE message SET claimed_by = NULL, available_at = 0, deliveries = deliveries - 1"
        " WHERE id = ? AND deliveries = ? AND claimed_by = ?",
        [_claim_key(claim, peer) for claim in claims],
    )


def dead_letter(db: sqlite3.Connection, peer: str, claim: QueueClaim, reason: str) -> None:
    """Move a claimed message to the dead letters, of which only the newest ``MAX_DEAD`` are kept. No message
    is moved if the claim was lost.
    """
    db.execute(
        "INSERT INTO dead (queue, reason, deliveries, set_aside_at, body) SELECT queue, ?, deliveries,"
        " datetime('now'), body FROM message WHERE id = ? AND deliveries = ? AND claimed_by = ?",
        (reason, *_claim_key(claim, peer)),
    )
    db.execute("DELETE FROM message WHERE id = ? AND deliveries = ? AND claimed_by = ?", _claim_key(claim, peer))
    db.execute("DELETE FROM dead WHERE id <= (SELECT MAX(id) FROM dead) - ?", (MAX_DEAD,))


def extend_leases(db: sqlite3.Connection, peer: str, claims: Collection[QueueClaim]) -> None:
    """Extend the leases of claimed messages to ``LEASE_SECONDS`` from now; lost claims are skipped."""
    until = monotonic_seconds() + LEASE_SECONDS
    db.executemany(
        "UPDATE message SET available_at = ? WHERE id = ? AND deliveries = ? AND claimed_by = ?",
        [(until, *_claim_key(claim, peer)) for claim in claims],
    )


def register_peer(db: sqlite3.Connection, peer: str, name: str, socket: str, queues: Collection[str]) -> None:
    """Register a process, its wake-up socket and exactly the queues that it consumes, in place of an earlier
    registration. ``name``: name of the process, for operators.
    """
    # Replaces the row, because the socket's path may have changed.
    db.execute("INSERT OR REPLACE INTO peer VALUES (?, ?, ?)", (peer, name, socket))
    db.execute("DELETE FROM listener WHERE peer = ?", (peer,))
    for queue in queues:
        db.execute(
            "INSERT INTO queue VALUES (?, 0, 0, ?) ON CONFLICT DO UPDATE SET consumed_at = excluded.consumed_at",
            (queue, monotonic_seconds()),
        )
        db.execute("INSERT INTO listener VALUES (?, ?)", (queue, peer))


def forget_peer(db: sqlite3.Connection, peer: str) -> list[str]:
    """Remove a process that is gone, free its claims and delete replies to it; returns the sorted paths of
    the wake-up sockets of processes that may take the freed messages.
    """
    freed = db.execute(
        "UPDATE message SET claimed_by = NULL, available_at = 0 WHERE claimed_by = ? RETURNING queue", (peer,)
    ).fetchall()
    db.execute("DELETE FROM peer WHERE id = ?", (peer,))
    db.execute("DELETE FROM listener WHERE peer = ?", (peer,))
    db.execute("DELETE FROM message WHERE queue = ?", (reply_queue(peer),))
    # After its messages: the triggers on them update this row.
    db.execute("DELETE FROM queue WHERE name = ?", (reply_queue(peer),))
    # After the listener's own rows are gone, so that a dead process is not woken.
    return sorted({socket for (queue,) in set(freed) for socket in consumer_sockets(db, queue)})


def claim_holders(db: sqlite3.Connection, peer: str) -> list[tuple[str, str]]:
    """Return (peer id, socket path) of all other processes that hold claims; the path is empty if the process
    is not registered.
    """
    rows = db.execute(
        "SELECT DISTINCT claimed_by, COALESCE(socket, '') FROM message LEFT JOIN peer ON peer.id = claimed_by"
        " WHERE claimed_by IS NOT NULL AND claimed_by <> ?",
        (peer,),
    )
    return [(row[0], row[1]) for row in rows]


def other_peers(db: sqlite3.Connection, peer: str) -> list[tuple[str, str]]:
    """Return (peer id, socket path) of all other registered processes."""
    return [(row[0], row[1]) for row in db.execute("SELECT id, socket FROM peer WHERE id <> ?", (peer,))]


def remove_expired(db: sqlite3.Connection) -> None:
    """Delete expired messages, and the messages of queues that had no consumer for ``ABANDONED_SECONDS``;
    such queues are deleted once they are empty.
    """
    time = monotonic_seconds()
    db.execute("DELETE FROM message WHERE expires_at <= ?", (time,))
    abandoned = "SELECT name FROM queue WHERE consumed_at <= ? AND name NOT IN (SELECT queue FROM listener)"
    # no value is in the texts: `abandoned` is the constant above
    before = (time - ABANDONED_SECONDS,)
    db.execute(f"DELETE FROM message WHERE queue IN ({abandoned})", before)  # noqa: S608
    # Only empty ones: the counters of a queue that still has messages are needed.
    db.execute(f"DELETE FROM queue WHERE messages = 0 AND name IN ({abandoned})", before)  # noqa: S608


def read_setting(db: sqlite3.Connection, name: str) -> str:
    """Return a setting stored in the queue file; empty if there is none."""
    row = db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def set_setting(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))


def reply_queue(peer: str) -> str:
    """Return the name of the queue for a process's replies."""
    return f"reply:{peer}"


def _claim_key(claim: QueueClaim, peer: str) -> tuple[int, int, str]:
    return claim.id, claim.deliveries, peer
