"""Port to clocks: monotonic time and sleeping."""

from typing import Protocol


class Clock(Protocol):
    """Port to monotonic time in seconds, for waiting and leases only; stored times come from the database's
    clock.
    """

    def monotonic(self) -> float:
        """Return seconds since an arbitrary fixed time."""
        ...

    async def sleep(self, seconds: float) -> None: ...
