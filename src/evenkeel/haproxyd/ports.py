"""Interfaces that the daemon's core requires, and the events it emits."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from evenkeel.core.kit.values import Value


class WorkerCli(Protocol):
    """The runtime API of a partition's current worker."""

    async def command(self, text: str) -> str:
        """Send one command to the current worker and return the answer.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown`.
        """
        ...

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        """Send commands that change nothing to the worker with this pid; cheaper than the others when repeated.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown`.
        """
        ...

    async def of_worker(self, pid: int, text: str) -> str:
        """Send one command to a given worker, which may be an old one that only finishes its connections."""
        ...


class FrontendCounters(Protocol):
    """Totals that survive the replacement of workers."""

    def carry_over(self, cli: WorkerCli, worker_socket: Path) -> AbstractAsyncContextManager[None]:
        """Context around a reload: reads the worker's counters before it, and follows them until its connections have
        ended.

        Errors are handled in the context and do not fail the reload.
        """
        ...


class PartitionEvent(Value):
    """The health of a server changed; without a server: the state of the partition's HAProxy."""

    partition: str
    backend: str = ""
    server: str = ""
    up: bool = True
    text: str = ""


class NoCounters:
    """Counters that record nothing, for HAProxys whose totals do not matter."""

    def carry_over(self, cli: WorkerCli, worker_socket: Path) -> AbstractAsyncContextManager[None]:
        """A context manager without effect."""
        return contextlib.nullcontext()


MakeCounters = Callable[[str, Path], FrontendCounters]
"""Takes a partition's name, and a directory for its counters."""
OnEvent = Callable[[PartitionEvent], None]
