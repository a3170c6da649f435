"""What the core of the daemon needs from its surroundings, and what it tells them."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from evenkeel.core.errors import EvenKeelError
from evenkeel.core.values import Value


class PartitionUnknown(EvenKeelError):
    """No partition of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no partition {name}")
        self.name = name


class InvalidChange(EvenKeelError):
    """The whole request is not understood; the text names field, value and what is allowed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HaproxyDown(EvenKeelError):
    """A HAProxy does not run, or does not answer in time."""


class HaproxyRefused(EvenKeelError):
    """HAProxy understood and said no. ``reason``: its own words, without paths and contents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PartitionFailed(EvenKeelError):
    """The daemon could not make it so; the partition holds what it held before. The text says what is the matter."""


class WorkerCli(Protocol):
    """The runtime API of a partition's current worker."""

    async def command(self, text: str) -> str:
        """One command's answer. Raises :class:`HaproxyDown`."""
        ...

    async def of_worker(self, pid: int, text: str) -> str:
        """One command's answer by a worker that is still there to end its connections. Raises :class:`HaproxyDown`."""
        ...


class Counters(Protocol):
    """Totals that outlive workers."""

    async def carry_over(self, cli: WorkerCli) -> None:
        """The worker is about to be replaced: remember what it counted. Its trouble is its own, not the reload's."""
        ...


class PartitionEvent(Value):
    """Something became otherwise. Without a server: the partition's HAProxy as a whole."""

    partition: str
    backend: str = ""
    server: str = ""
    up: bool = True
    text: str = ""


class NoCounters:
    """Remembers nothing."""

    async def carry_over(self, cli: WorkerCli) -> None:
        """Nothing to do."""


MakeCounters = Callable[[str, Path], Counters]
"""Of a partition's name, and a folder for its counters."""
OnEvent = Callable[[PartitionEvent], None]
