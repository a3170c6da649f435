"""What the core of the daemon needs from its surroundings, and what it tells them."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from evenkeel.core.values import Value


class WorkerCli(Protocol):
    """The runtime API of a partition's current worker."""

    async def command(self, text: str) -> str:
        """One command's answer. Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown`."""
        ...

    async def of_worker(self, pid: int, text: str) -> str:
        """The same of any worker, also of an old one that only ends its connections."""
        ...


class FrontendCounters(Protocol):
    """Totals that outlive workers."""

    async def carry_over(self, cli: WorkerCli) -> None:
        """The worker is about to be replaced: remember what it counted. Its trouble is its own, not the reload's."""
        ...


class PartitionEvent(Value):
    """A server's health changed; without a server: the partition's HAProxy as a whole."""

    partition: str
    backend: str = ""
    server: str = ""
    up: bool = True
    text: str = ""


class NoCounters:
    """Remembers nothing."""

    async def carry_over(self, cli: WorkerCli) -> None:
        """Nothing to do."""


MakeCounters = Callable[[str, Path], FrontendCounters]
"""Of a partition's name, and a folder for its counters."""
OnEvent = Callable[[PartitionEvent], None]
