"""Facts about each load balancer that the daemon stores for later observations. Pure.

HAProxy's state does not show whether a pool is admin down or a listener has a connection limit. The agent that observes
may not be the agent that rendered, so these facts are stored with the load balancer.
"""

import msgspec

from evenkeel.core.kit.values import Wire


class LoadBalancerNote(Wire):
    """Intended state of one load balancer, stored on the daemon. ``addresses``: number of distinct member
    addresses.
    """

    admin_state_up: bool = True
    listeners_down: tuple[str, ...] = ()
    """Ids of listeners that are admin down, or whose load balancer is."""
    pools_idle: tuple[str, ...] = ()
    """Ids of pools that are admin down, or that no active listener uses."""
    connection_limits: dict[str, int] = {}
    """Connection limit by listener id, where set."""
    addresses: int = 0


_DECODER = msgspec.json.Decoder(LoadBalancerNote)
_ENCODER = msgspec.json.Encoder(order="deterministic")


def pack_note(note: LoadBalancerNote) -> str:
    """Serialize the note as JSON; equal notes give equal text."""
    return _ENCODER.encode(note).decode()


def unpack_note(text: str) -> LoadBalancerNote:
    """Parse a note; the default note if the text is not a valid one."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return LoadBalancerNote()
