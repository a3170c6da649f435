"""Runs blocking calls of Neutron's client in threads and translates their errors."""

from collections.abc import Callable
from typing import TypeVar

from evenkeel.core.kit.blocking import THREADS, WAITING_MAX, BlockingCalls
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.network.neutron.errors import SDK_ERRORS, raise_translated

T = TypeVar("T")


class NeutronCalls(BlockingCalls):
    """Runs the blocking methods of Neutron's client in at most ``threads`` threads, while at most
    ``waiting_max`` calls wait.
    """

    def __init__(self, *, timeout_seconds: float, threads: int = THREADS, waiting_max: int = WAITING_MAX) -> None:
        super().__init__(
            "Neutron",
            unavailable=NetworkUnavailable,
            timeout_seconds=timeout_seconds,
            threads=threads,
            waiting_max=waiting_max,
        )

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread and return its result. Raises :class:`NeutronRefused` if Neutron refused
        the request; :class:`NetworkUnavailable` if Neutron failed, the queue is full, or ``work`` took
        longer than the time-out (then it may still be carried out).
        """
        try:
            return await super().run(work)
        except SDK_ERRORS as error:
            raise_translated(error)
