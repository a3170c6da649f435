"""``evenkeel-octavia leftovers``: load balancers that the controllers have and Octavia does not know.

The agent deletes none of them: it cannot distinguish load balancers that are no longer wanted from those of a
database that was restored from a backup, or of another Octavia with the same environment.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from evenkeel_octavia import drift
from evenkeel_octavia.mirror import Mirror


class StatusSource(Protocol):
    """Statuses of load balancers in Octavia's database."""

    def known_statuses(self, providers: Collection[str]) -> tuple[float, Mapping[str, str]]: ...


def find_leftover_lines(
    source: StatusSource, mirror: Mirror, provider: str, environment: str, *, delete: bool
) -> Iterator[str]:
    """Yield a line about each load balancer that the controllers have and Octavia's provider has not; with ``delete``,
    delete it. Raises ControllerError.
    """
    listed = mirror.listing(environment)
    now, statuses = source.known_statuses([provider])
    for id in drift.find_leftovers(statuses, listed, now, grace_seconds=0.0).unknown:
        if delete:
            mirror.delete(id, environment, max(now, listed[id].snapshot))
        yield f"{id} provider {provider}, environment {environment}{': deleted' if delete else ''}"
