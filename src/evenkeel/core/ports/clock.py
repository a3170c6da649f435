"""The clock port."""

from typing import Protocol


class Clock(Protocol):
    """Monotonic time. Only for waiting and for leases; what is stored takes the database's time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        ...
