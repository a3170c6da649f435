"""When a server that is pinged is up. Pure.

HAProxy's rule: ``fall`` failures in a row make it down, ``rise`` successes in a row make it up; and one result is
enough for a server that was never checked.
"""

from evenkeel.core.values import Value


class HealthState(Value):
    """``up`` None: no result yet. ``against``: results in a row that contradict it."""

    up: bool | None = None
    against: int = 0

    def after(self, answered: bool, *, rise: int, fall: int) -> "HealthState":
        """With one more result."""
        if self.up is None:
            return HealthState(up=answered)
        if answered == self.up:
            return HealthState(up=self.up)
        against = self.against + 1
        if against >= (rise if answered else fall):
            return HealthState(up=answered)
        return HealthState(up=self.up, against=against)
