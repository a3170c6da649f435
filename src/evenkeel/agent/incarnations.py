"""Who devices said that they are: a device that is another one than before may hold anything."""

from collections.abc import Iterable

from evenkeel.core.device import DeviceState


class Incarnations:
    """Identity and incarnation of each device, as far as it told, from look to look."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def copy(self) -> "Incarnations":
        """As known now; what either learns later the other does not know."""
        twin = Incarnations()
        twin._known = dict(self._known)
        return twin

    def renewed(self, devices: Iterable[DeviceState]) -> set[str]:
        """Names of those that told something else before; what they tell now is known from now on."""
        found = set()
        for device in devices:
            before = self._known.get(device.name, ("", ""))
            now = (device.identity or before[0], device.incarnation or before[1])
            if any(old and new != old for old, new in zip(before, now, strict=True)):
                found.add(device.name)
            self._known[device.name] = now
        return found

    def tells(self, name: str) -> bool:
        """The device says itself whether it may have lost anything."""
        return bool(self._known.get(name, ("", ""))[1])
