"""The cable of a device's interface: Ethernet frames in both directions."""

from __future__ import annotations

from collections.abc import Callable


def _discard(frame: bytes) -> None:
    """Nobody is at that end."""


class Cable:
    """One interface of a device, such as `1.1`, and what it is connected to.

    What the device sends arrives at `sent`, which whoever plugs the cable in sets; what arrives for the device goes to
    `deliver`.
    """

    def __init__(self) -> None:
        self.sent: Callable[[bytes], None] = _discard
        self.received: Callable[[bytes], None] = _discard
        """Set by the device."""

    def deliver(self, frame: bytes) -> None:
        self.received(frame)
