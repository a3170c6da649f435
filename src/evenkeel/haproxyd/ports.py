"""Interfaces that the daemon's core requires, and the events that the core emits."""

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
        """Send commands that change nothing to the worker with this pid; when repeated, cheaper than :meth:`command`.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown`.
        """
        ...

    def connection_to(self, pid: int) -> object | None:
        """Return the connection of :meth:`query` to the worker with this pid; None: there is none now.

        As long as it is the same object, it leads to the same process, even if the pid was reused since.
        """
        ...

    async def of_worker(self, pid: int, text: str) -> str:
        """Send one command to the worker with this pid, which may be an old one that only finishes its connections."""
        ...


class FrontendCounters(Protocol):
    """Counters of frontends, whose totals survive the replacement of workers."""

    def carry_over(
        self, cli: WorkerCli, worker_socket: Path, pid: int | None, *reads: str
    ) -> AbstractAsyncContextManager[tuple[str, ...]]:
        """Read the counters of the worker ``pid`` before a reload, and follow them until its connections have ended; a
        context around the reload.

        The context has the worker's answers to the commands ``reads``, which change nothing, or none. Errors are
        handled in it and do not fail the reload.
        """
        ...


class PartitionEvent(Value):
    """Event: the health of a server changed, or without a server, the state of the partition's HAProxy."""

    partition: str
    backend: str = ""
    server: str = ""
    up: bool = True
    text: str = ""


class NoCounters:
    """Counters that record nothing, for HAProxys whose totals do not matter."""

    def carry_over(
        self, cli: WorkerCli, worker_socket: Path, pid: int | None, *reads: str
    ) -> AbstractAsyncContextManager[tuple[str, ...]]:
        """Return a context manager without effect, and without answers."""
        return contextlib.nullcontext(())


MakeCounters = Callable[[str, Path], FrontendCounters]
"""Makes the counters of a partition, from its name and a directory for them."""
OnEvent = Callable[[PartitionEvent], None]
