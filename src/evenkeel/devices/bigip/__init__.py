"""F5 BIG-IP by iControl REST: the reference device type.

render (what is wanted) -> plan (against what is seen) -> one guarded transaction a batch and device. ``render/``,
``reconcile/plan``, ``canonical``, ``naming`` and ``icontrol/answers`` are pure; ``icontrol/client`` alone speaks HTTP.
``reconcile/partition_pass`` says how few reads are enough, ``ownership/guard`` how two agents never write out of turn.
"""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.ports import Device
from evenkeel.devices.bigip.options import OPTIONS, parse_options

__all__ = ["OPTIONS", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """The device group these options describe. Raises :class:`ValueError` naming a wrong option; no I/O."""
    # here, because controllers read the options and have none of an agent's libraries
    from evenkeel.devices.bigip.driver import BigIpGroup

    return BigIpGroup(parse_options(options, environment=environment, group_number=group_number, host=host))
