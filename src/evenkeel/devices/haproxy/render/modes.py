"""How HAProxy reads what comes in: ``http`` or ``tcp``. Pure.

A frontend sends to backends of its own mode only, but the API lets TCP listeners send to HTTP pools. So a pool is
rendered in the mode of the listeners that send to it, and twice where they are of both.
"""

from collections.abc import Collection

from evenkeel.core.service import ServiceListener, ServicePool
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import beside, object_name

MODES = {"HTTP": "http", "TCP": "tcp", "HTTPS": "tcp", "TERMINATED_HTTPS": "http", "PROMETHEUS": "http"}
"""By protocol of listeners."""


def mode_of(listener: ServiceListener) -> str:
    """How what comes in at a listener is read."""
    if listener.protocol not in MODES:
        raise Unrenderable(f"listener {listener.id}: protocol {listener.protocol} is not possible on HAProxy")
    return MODES[listener.protocol]


def modes_of(pool: ServicePool, listeners: Collection[ServiceListener]) -> tuple[str, ...]:
    """The modes in which a pool is needed by those who send to it, the main one first; one that nobody sends to is in
    that of its protocol."""
    wanted = {mode_of(listener) for listener in listeners} or {MODES.get(pool.protocol, "tcp")}
    return tuple(mode for mode in ("http", "tcp") if mode in wanted)


def backend_name(pool: ServicePool, mode: str, modes: tuple[str, ...]) -> str:
    """The name of the pool's backend in one of its modes."""
    name = object_name("pool", pool.id)
    return name if mode == modes[0] else beside(name, mode)
