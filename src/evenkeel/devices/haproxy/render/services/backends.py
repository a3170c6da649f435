"""Parts of enhanced services as lines of a pool's backend and arguments of its servers. Pure.

Listeners that share a pool share its backend: the longest tunnel time-out, the longest drain time of removed
members, and the lowest connection limit apply to all.
"""

from collections.abc import Collection, Iterator

from evenkeel.config.esd.parts import MemberConnectionLimit, Parts


def tunnel_lines(parts: Collection[Parts]) -> list[str]:
    """Return the line that sets a backend's tunnel time-out, the longest among the pool's listeners; empty if none sets
    one.
    """
    seconds = max((each.tunnel or 0 for each in parts), default=0)
    return [f"timeout tunnel {seconds}s"] if seconds else []


def drain_seconds(parts: Collection[Parts]) -> int:
    """Return how many seconds connections of removed or disabled members may go on, the longest among the
    pool's listeners; 0: no limit.
    """
    return max((each.drain or 0 for each in parts), default=0)


def connection_limit_arguments(limit: MemberConnectionLimit | None) -> tuple[str, ...]:
    """Return the arguments of a ``server`` line that limit its connections and its queue; empty without a
    limit.

    A server's own queue, in which only clients wait that persist to it, may be as long as the backend's.
    """
    return () if limit is None else ("maxconn", str(limit.connections), "maxqueue", str(limit.queue))


def queue_lines(name: str, mode: str, limit: MemberConnectionLimit) -> Iterator[str]:
    """Yield the lines of the backend ``name`` that limit how long and how many clients wait for a server. In
    mode ``http`` others receive 503, else they are disconnected.
    """
    yield f"timeout queue {limit.wait}s"
    full = f"if {{ queue({name}) ge {limit.queue} }}"
    yield f"http-request deny deny_status 503 {full}" if mode == "http" else f"tcp-request content reject {full}"
