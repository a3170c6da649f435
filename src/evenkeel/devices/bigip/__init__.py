"""F5 BIG-IP by iControl REST: the reference device type.

A batch is rendered to wanted objects, planned against the observed objects, and committed on each device in
guarded transactions. ``render/``, ``reconcile/plan``, ``canonical``, ``naming`` and ``icontrol/responses`` do
no I/O; requests are sent by ``icontrol/client`` and ``icontrol/login``.

``reconcile/partition_pass`` documents which reads a pass needs, ``ownership/guard`` how a stale agent is kept
from writing.
"""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.ports import Device
from evenkeel.devices.bigip.options import OPTIONS, parse_options

__all__ = ["OPTIONS", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """Build the driver of the device group that these options describe; files are read, but no network I/O is
    done. Raises :class:`ValueError` naming a wrong option.
    """
    # imported here: controllers read the options and do not install an agent's libraries
    from evenkeel.devices.bigip.driver import BigIpGroup

    return BigIpGroup(parse_options(options, environment=environment, group_number=group_number, host=host))
