"""Port to clocks: monotonic time and sleeping."""

from typing import Protocol


class Clock(Protocol):
    """Monotonic time, for waiting and leases only; stored times come from the database's clock."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary fixed time."""
        ...

    async def sleep(self, seconds: float) -> None: ...
