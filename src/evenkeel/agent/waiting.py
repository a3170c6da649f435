"""Load balancers that wait for a pass, each with the time since when."""

from collections.abc import Iterable, Iterator, Set

from evenkeel.core.kit.ids import LoadBalancerId


class WaitingLoadBalancers(Set[LoadBalancerId]):
    """A set of load balancers, with the monotonic time since when each waits for a pass; an id that is added
    again keeps its time.
    """

    def __init__(self) -> None:
        self._since: dict[LoadBalancerId, float] = {}
        """Time since when each id waits, in monotonic seconds."""

    @classmethod
    def _from_iterable(cls, ids: Iterable[LoadBalancerId]) -> set[LoadBalancerId]:  # type: ignore[override]
        return set(ids)

    def __contains__(self, load_balancer_id: object) -> bool:
        return load_balancer_id in self._since

    def __iter__(self) -> Iterator[LoadBalancerId]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)

    def update(self, ids: Iterable[LoadBalancerId], now: float) -> None:
        """Add ids, which wait from ``now`` (monotonic seconds) on; ids that already wait keep their time."""
        for id_ in ids:
            # Repeated hints must not make a load balancer look as if it had just begun to wait.
            self._since.setdefault(id_, now)

    def difference_update(self, ids: Iterable[LoadBalancerId]) -> None:
        """Remove ids; those that do not wait are ignored."""
        for id_ in ids:
            self._since.pop(id_, None)

    def clear(self) -> None:
        """Remove all ids."""
        self._since.clear()

    def oldest_seconds(self, now: float) -> float:
        """Return the longest waiting time of an id, in seconds; 0 if none waits."""
        return now - min(self._since.values()) if self._since else 0.0
