"""Time that tests move."""


class HandClock:
    """Monotonic time moved by hand: nobody waits for a sleep, it has passed at once."""

    def __init__(self) -> None:
        self.now = 50.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
