"""The running loop's time as a clock of the product's processes."""

import asyncio


def loop_time() -> float:
    """Monotonic seconds."""
    return asyncio.get_running_loop().time()


class LoopClock:
    """Virtual in a virtual loop."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary fixed time."""
        return loop_time()

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        await asyncio.sleep(seconds)
