"""Up and down states of a server that the daemon itself checks (ICMP, UDP, SCTP). Pure.

HAProxy's rule: ``fall`` consecutive failures mark it down, ``rise`` consecutive successes mark it up; for a
server without any result, one result is enough.
"""

from evenkeel.core.kit.values import Value


class HealthState(Value):
    """Health of one server. ``up`` None: no result yet. ``contradicting_results``: number of consecutive results that
    contradict ``up``.
    """

    up: bool | None = None
    contradicting_results: int = 0

    def next_state(self, answered: bool, *, rise: int, fall: int) -> "HealthState":
        """Return the state after one more result. ``answered``: whether the server answered; ``rise``,
        ``fall``: consecutive results after which the server counts as up or down.
        """
        if self.up is None:
            return HealthState(up=answered)
        if answered == self.up:
            return HealthState(up=self.up)
        contradicting_results = self.contradicting_results + 1
        if contradicting_results >= (rise if answered else fall):
            return HealthState(up=answered)
        return HealthState(up=self.up, contradicting_results=contradicting_results)
