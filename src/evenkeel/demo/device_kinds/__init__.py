"""The devices of a cluster, in place of an operator's BIG-IPs or HAProxy hosts.

One implementation for each device type; scenario and tests use only :class:`DeviceKind`.
"""

from collections.abc import Mapping
from typing import Protocol

from evenkeel.demo.configuration import Sections


class DeviceKind(Protocol):
    """The devices of one group, started as processes of a cluster. Methods that are not ``async`` may block for up to
    some seconds."""

    driver: str
    """Value of the environment's ``device_driver``."""
    names: tuple[str, ...]
    """Names of the devices."""
    create_writes_promised: int
    """Maximum of writes that a device may get for the demo's create."""

    async def start(self) -> None:
        """Start processes that do not run, and wait until they answer. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed`.
        """

    def describe_devices(self) -> str:
        """Return a text that names the listening devices and their software."""

    def experiment_hints(self) -> list[str]:
        """Return hints for experiments with the devices of a running demo, a line each."""

    def agent_sections(self, host: str) -> Sections:
        """Return the ini sections about devices for the agent on ``host``. Writes the agent's password file
        if necessary.
        """

    def last_write(self) -> int:
        """Return the number of the newest write that any device logged."""

    def writes_after(self, number: int) -> Mapping[str, int]:
        """Return the number of writes after the write ``number``, by device."""

    def first_write_time(self, host: str, after: int) -> float | None:
        """Return the time, in seconds since the epoch, of the first write of the agent on ``host`` that a
        device accepted after write ``after``; None: not yet.
        """

    def members(self) -> Mapping[str, set[str]]:
        """Return the members of all pools, as ``address:port``, by device; a member of two pools counts once."""

    def cut_off(self) -> None:
        """Cut the devices off from all agents; client traffic continues."""

    def reconnect(self) -> None:
        """Undo :meth:`cut_off`, so that agents reach the devices again."""

    def close(self) -> None:
        """Stop processes that outlive the cluster's, such as HAProxys; called after the cluster's have ended."""
