"""The device side of a cluster: what stands where an operator's BIG-IPs or HAProxy hosts would.

One implementation for each device type; whoever tells the story or tests sees :class:`DeviceKind` alone.
"""

from collections.abc import Mapping
from typing import Protocol

from evenkeel.demo.configuration import Sections


class DeviceKind(Protocol):
    """The devices of one group, started as processes of a cluster. Methods that are not ``async`` may block for up to
    some seconds."""

    driver: str
    """The environment's ``device_driver``."""
    names: tuple[str, ...]
    """Of the devices."""
    create_requests_promised: int
    """Most requests that a device may see for the demo's create."""
    requests_counted: str
    """What :meth:`requests` counts, in words."""

    async def start(self) -> None:
        """Start what does not run, as it was, and wait until it answers."""

    def described(self) -> str:
        """What listens now, for people."""

    def tips(self) -> list[str]:
        """What somebody who plays with a running demo may do to the devices, a line each."""

    def agent_sections(self, host: str) -> Sections:
        """The ini sections of the agent of ``host`` that concern its devices. Makes its credential if need be."""

    async def begin_count(self) -> None:
        """From now on :meth:`requests` counts from zero, and nothing of before falls into it."""

    def requests(self) -> Mapping[str, int]:
        """Requests per device since :meth:`begin_count`."""

    def last_write(self) -> int:
        """Number of the newest write that any device logged."""

    def first_write_at(self, host: str, after: int) -> float | None:
        """When a device first took a write of the agent of ``host`` after write ``after``, in seconds since the epoch;
        None: not yet."""

    def members(self) -> Mapping[str, set[str]]:
        """Per device the ``address:port`` of the members of all pools it holds; a member of two pools counts once."""

    def close(self) -> None:
        """End what outlives the cluster's processes. Called after they have been ended."""
