"""HAProxy, one or a pair, each behind an ``evenkeel-haproxyd`` that owns its files and processes.

render (what is wanted: pure) -> one request a batch and device, in which the daemon plans, applies and verifies.
``render/``, ``naming``, ``note`` and ``observe/observation`` are pure; ``client`` alone speaks HTTP.
The daemon keeps the guard of each partition, so that two agents never write out of turn.
"""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.ports import Device
from evenkeel.devices.haproxy.options import OPTIONS, parse_options

__all__ = ["OPTIONS", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """The device group these options describe. Raises :class:`ValueError` naming a wrong option; no I/O."""
    # here, because controllers read the options and have none of an agent's libraries
    from evenkeel.devices.haproxy.driver import HaproxyGroup

    return HaproxyGroup(parse_options(options, environment=environment, group_number=group_number, host=host))
