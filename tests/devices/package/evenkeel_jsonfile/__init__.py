"""A device whose configuration is JSON files in a directory, one a tenant: the smallest device type that is complete.

It stands for drivers of other packages, and is what ``docs/how-to/develop.md`` tells step by step: options, a table of
capabilities, a renderer and a planner that are pure, a transport, and a guard that the device checks on every write.
"""

from collections.abc import Mapping
from typing import Any

from evenkeel.core.ports import Device
from evenkeel_jsonfile.driver import JsonFileGroup
from evenkeel_jsonfile.options import OPTIONS, parse_options

__all__ = ["OPTIONS", "open_group"]


def open_group(options: Mapping[str, Any], *, environment: str, group_number: int, host: str) -> Device:
    """The device group these options describe. Raises :class:`ValueError` naming a wrong option."""
    return JsonFileGroup(parse_options(options, environment=environment))
