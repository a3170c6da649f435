"""Parts of enhanced services as lines of a pool's backend and arguments of its servers. Pure.

Listeners that share a pool share its backend: the longest time-out of tunnels, the longest time of drained members and
the lowest limit of connections count there.
"""

from collections.abc import Collection, Iterator

from evenkeel.config.esd.parts import MemberConnectionLimit, Parts


def tunnel_lines(parts: Collection[Parts]) -> list[str]:
    """Lines for the longest time-out of tunnels among the parts of a pool's listeners."""
    seconds = max((each.tunnel or 0 for each in parts), default=0)
    return [f"timeout tunnel {seconds}s"] if seconds else []


def drain_seconds(parts: Collection[Parts]) -> int:
    """Seconds that connections of removed members have, the longest among the parts of a pool's listeners; 0: no end is
    set."""
    return max((each.drain or 0 for each in parts), default=0)


def limit_arguments(limit: MemberConnectionLimit | None) -> tuple[str, ...]:
    """Return the arguments of a ``server`` line that limit its connections. A server's own queue, which only clients
    that persist to it wait in, may be as long as the backend's.
    """
    return () if limit is None else ("maxconn", str(limit.connections), "maxqueue", str(limit.queue))


def queue_lines(name: str, mode: str, limit: MemberConnectionLimit) -> Iterator[str]:
    """Lines of the backend ``name`` for its queue."""
    yield f"timeout queue {limit.wait}s"
    full = f"if {{ queue({name}) ge {limit.queue} }}"
    yield f"http-request deny deny_status 503 {full}" if mode == "http" else f"tcp-request content reject {full}"
