"""The state that ``evenkeel top`` shows, read with a few small requests; no answer grows with the load balancers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evenkeel.cli.base import PENDING_STATUSES
from evenkeel.cli.client import API_PATH, Client
from evenkeel.cli.load_balancers import LOAD_BALANCERS_PATH

EVENTS_MAX = 50
PENDING_QUERY = {"provisioning_status": ",".join(PENDING_STATUSES), "sort": "updated_at:asc", "limit": 20}

Row = Mapping[str, Any]


class TopSnapshot(NamedTuple):
    """The state of the system at one moment."""

    at: str
    """Time of this host, with its zone, at which the snapshot was read."""
    status: Row
    agents: Sequence[Row]
    pending: Sequence[Row]
    """The load balancers whose last change has waited longest."""
    busiest: Sequence[Row]
    """The load balancers with the most new connections, the first one most."""
    events: Sequence[Row]
    """The newest events, oldest first."""


class SnapshotReader:
    """Reads snapshots of the system's state; keeps the names of busy load balancers, which seldom change."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[str, str] = {}

    def read_snapshot(self) -> TopSnapshot:
        """Read the system's state. Raises :class:`ClientError`."""
        client = self._client
        status = client.get(f"{API_PATH}/status")["status"]
        waiting = sum(status["load_balancers"].get(name, 0) for name in PENDING_STATUSES)
        return TopSnapshot(
            at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            status=status,
            agents=client.get(f"{API_PATH}/agents")["agents"],
            pending=client.get(f"{API_PATH}/loadbalancers", PENDING_QUERY)["loadbalancers"] if waiting else (),
            busiest=self._rows_with_names(client.get(f"{API_PATH}/activity", {"points": 1})["activity"]["busiest"]),
            events=client.get(f"{API_PATH}/events", {"newest": "true", "limit": EVENTS_MAX})["events"],
        )

    def _rows_with_names(self, busiest: Sequence[Row]) -> Sequence[Row]:
        ids = [row["load_balancer_id"] for row in busiest]
        if not self._names.keys() >= set(ids):
            query = {"id": ids, "fields": ["id", "name"]}
            rows = self._client.get(LOAD_BALANCERS_PATH, query)["loadbalancers"]
            # Those that are gone have no name, and are not asked for again.
            self._names = dict.fromkeys(ids, "") | {row["id"]: row["name"] for row in rows}
        return [{**row, "name": self._names[row["load_balancer_id"]]} for row in busiest]
