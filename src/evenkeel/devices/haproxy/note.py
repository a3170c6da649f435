"""What the daemon keeps beside each load balancer for whoever looks at it later. Pure.

Whether a pool is admin down, or a listener has a limit, cannot be seen from what runs. The agent that looks is not the
one that rendered, so what it needs to judge travels with the load balancer.
"""

import msgspec

from evenkeel.core.values import Wire


class Note(Wire):
    """What is meant, of one load balancer. ``addresses``: how many different ones its members have."""

    admin_state_up: bool = True
    listeners_down: tuple[str, ...] = ()
    """Ids of listeners that are not to listen."""
    pools_idle: tuple[str, ...] = ()
    """Ids of pools that are admin down, or that no listener sends to which listens."""
    connection_limits: dict[str, int] = {}
    """By listener id, of those that have one."""
    addresses: int = 0


_DECODER = msgspec.json.Decoder(Note)
_ENCODER = msgspec.json.Encoder(order="deterministic")


def pack(note: Note) -> str:
    """As the daemon keeps it; equal for equal notes."""
    return _ENCODER.encode(note).decode()


def unpack(text: str) -> Note:
    """The note, or one that says nothing if it is none of ours."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return Note()
