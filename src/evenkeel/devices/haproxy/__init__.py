"""HAProxy, standalone or as a pair, each behind an ``evenkeel-haproxyd`` that owns its files and processes.

The agent renders the wanted configuration (pure) and sends one request per batch and device; the daemon
plans, applies and verifies. ``render/``, ``naming``, ``note`` and ``observe/observation`` are pure; only
``client`` does HTTP. The daemon keeps each partition's guard, so a stale agent cannot write.
"""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.ports import Device
from evenkeel.devices.haproxy.options import OPTIONS, parse_options

__all__ = ["OPTIONS", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """Build the driver of the device group that these options describe; files are read, but no network I/O is
    done. Raises :class:`ValueError` naming a wrong option.
    """
    # imported here: controllers read the options and do not install an agent's libraries
    from evenkeel.devices.haproxy.driver import HaproxyGroup

    return HaproxyGroup(parse_options(options, environment=environment, group_number=group_number, host=host))
