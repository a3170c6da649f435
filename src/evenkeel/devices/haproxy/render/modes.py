"""Chooses HAProxy's modes for listeners and pools: ``http`` or ``tcp``. Pure.

A frontend can use only backends of its own mode, but the API allows TCP listeners to use HTTP pools. So a pool is
rendered in the mode of the listeners that use it, and twice if they have both modes.
"""

from collections.abc import Collection

from evenkeel.core.devices.service import ServiceListener, ServicePool
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name

MODES_BY_PROTOCOL = {
    "HTTP": "http",
    "TCP": "tcp",
    "HTTPS": "tcp",
    "TERMINATED_HTTPS": "http",
    "PROMETHEUS": "http",
    # HAProxy only checks the members of these, in the mode that takes any check
    "UDP": "tcp",
    "SCTP": "tcp",
}
"""``{protocol of a listener: HAProxy's mode}``."""


def listener_mode(listener: ServiceListener) -> str:
    """Return HAProxy's mode for the listener. Raises :class:`Unrenderable` for a protocol that HAProxy cannot serve."""
    if listener.protocol not in MODES_BY_PROTOCOL:
        raise Unrenderable(f"listener {listener.id}: protocol {listener.protocol} is not possible on HAProxy")
    return MODES_BY_PROTOCOL[listener.protocol]


def pool_modes(pool: ServicePool, listeners: Collection[ServiceListener]) -> tuple[str, ...]:
    """Return the modes in which listeners need a pool, ``http`` before ``tcp``; an unused pool has the mode
    of its protocol. Raises :class:`Unrenderable` for a listener's protocol that HAProxy cannot serve.
    """
    wanted = {listener_mode(listener) for listener in listeners} or {MODES_BY_PROTOCOL.get(pool.protocol, "tcp")}
    return tuple(mode for mode in ("http", "tcp") if mode in wanted)


def backend_name(pool: ServicePool, mode: str, modes: tuple[str, ...]) -> str:
    """Return the name of the pool's backend in ``mode``: the pool id for the first of the pool's ``modes``,
    else ``<pool id>:<mode>``. Raises :class:`Unrenderable` for an id that cannot be a name.
    """
    name = object_name("pool", pool.id)
    return name if mode == modes[0] else auxiliary_name(name, mode)
