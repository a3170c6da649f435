"""iControl LX extensions: programs that a device runs beside its own API, below a path of their own.

An extension answers requests below its path, and changes the configuration only as any client could: by writes in units
of work that the device validates. The emulator has none of its own; distributions offer them as entry points of the
group `icontrol_emulator.extensions`, each a function without arguments that makes one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Protocol

from icontrol_emulator.device import Device
from icontrol_emulator.rest.message import Call, Reply

GROUP = "icontrol_emulator.extensions"


class Extension(Protocol):
    """One extension on all devices of an emulator; state of a device is kept by its name."""

    path: str
    """Path below /mgmt, such as `shared/appsvcs`."""

    def answer(self, device: Device, call: Call) -> Reply:
        """Handle an authenticated request; `call.body` is empty, `call.raw` is what was sent."""
        ...


MakesExtension = Callable[[], Extension]


def installed() -> dict[str, MakesExtension]:
    """The functions that make the installed extensions, by name."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}


def installed_names() -> list[str]:
    """Names of the installed extensions, which this does not load."""
    return sorted(point.name for point in entry_points(group=GROUP))
