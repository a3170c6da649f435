"""Interfaces that the daemon's core requires, and the events that the core emits."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from evenkeel.core.kit.values import Value


class WorkerCli(Protocol):
    """The runtime API of one partition's HAProxy workers, current and old."""

    async def command(self, text: str) -> str:
        """Send one command to the current worker and return the answer.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown` if there is no worker or it does not answer in
        time.
        """
        ...

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        """Send commands that change nothing to the worker with this pid, and return one answer per command.
        Cheaper than :meth:`command` when repeated.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown` if the worker does not answer in time.
        """
        ...

    def connection_to(self, pid: int) -> object | None:
        """Return the connection of :meth:`query` to the worker with this pid; None if there is none now.

        While the same object is returned, the connection leads to the same process, even if its pid is
        reused.
        """
        ...

    async def command_to_worker(self, pid: int, text: str) -> str:
        """Send one command to the worker with this pid, which may be an old worker that only finishes its
        connections, and return the answer.

        Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown` if that worker does not answer in time.
        """
        ...


class FrontendCounters(Protocol):
    """Counters of one partition's frontends, whose totals survive the replacement of workers."""

    def carry_over(
        self, cli: WorkerCli, worker_socket: Path, pid: int | None, *reads: str
    ) -> AbstractAsyncContextManager[tuple[str, ...]]:
        """Return a context around a reload: on entry it reads the counters of the worker ``pid``, and
        afterwards it follows them until that worker's connections have ended.

        The context yields the worker's answers to the commands ``reads``, which change nothing; an empty
        tuple if they could not be read. Errors of counters are handled inside and do not fail the reload.
        """
        ...


class PartitionEvent(Value):
    """Event: a server's health changed, or, with an empty ``server``, something else happened to the
    partition, such as its HAProxy going down, coming up or being repaired.

    ``up``: the state after the event, True if the event is about no state; ``text``: description for
    operators.
    """

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
        """Return a context manager without effect, which yields an empty tuple of answers."""
        return contextlib.nullcontext(())


MakeCounters = Callable[[str, Path], FrontendCounters]
"""Makes the counters of a partition, from its name and a directory for them."""
OnEvent = Callable[[PartitionEvent], None]
