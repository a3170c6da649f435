"""Identities and incarnations of devices: after a change of either, a device's configuration is unknown."""

from collections.abc import Iterable

from evenkeel.core.devices.device import DeviceState


class DeviceIncarnations:
    """The last known identity of each device, and its incarnation: a value that changes whenever the device may have
    lost configuration, by a restart or a restored backup.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def copy(self) -> "DeviceIncarnations":
        twin = DeviceIncarnations()
        # A copy, because whichever watcher records a new incarnation first would hide it from the other.
        twin._known = dict(self._known)
        return twin

    def record_and_compare(self, devices: Iterable[DeviceState]) -> set[str]:
        """Record the identities and incarnations of the devices; returns the names of devices for which a
        known value has changed. An unreachable device keeps its last values.
        """
        found = set()
        for device in devices:
            before = self._known.get(device.name, ("", ""))
            # A device out of reach reports neither value; its last ones are kept, so that its return shows what
            # changed.
            now = (device.identity or before[0], device.incarnation or before[1])
            # A first value is no change: the device was not known before.
            if any(old and new != old for old, new in zip(before, now, strict=True)):
                found.add(device.name)
            self._known[device.name] = now
        return found

    def reports_incarnation(self, name: str) -> bool:
        """Return whether the device has reported an incarnation, which shows when it loses its state."""
        return bool(self._known.get(name, ("", ""))[1])
