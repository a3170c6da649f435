"""Typed calls of the controllers' mirror API that the agent makes."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from evenkeel_octavia.controllers import ControllersClient, RequestRefused
from evenkeel_octavia.convert import RequestBody
from evenkeel_octavia.drift import ListedLoadBalancer
from evenkeel_octavia.reports import MirroredStatus, parse_status

MAX_IDS_PER_REQUEST = 500
"""Maximum number of load balancers in one request for statuses or statistics."""
PAGE_ROWS = 500
MAX_PAGES = 1000


class WrittenState(NamedTuple):
    """The state of Octavia's database from which a load balancer is written to the controllers."""

    snapshot: float
    """Time at which the state was read, in seconds since 1970."""
    digest: str
    change: str | None
    """Identity of the operation for which the load balancer is PENDING; a new operation is applied to devices even if
    no object changed.
    """


class StatusChanges(NamedTuple):
    """The load balancers whose statuses changed. ``cursor``: for the next request, which returns later
    changes; ``ids``: of the load balancers.
    """

    cursor: str
    ids: tuple[str, ...]
    all: bool
    """True if any load balancer's status may have changed, because the controllers do not know which."""


class Mirror(Protocol):
    """Copies of Octavia's load balancers at the controllers. All methods raise ControllerError."""

    def put(self, id: str, written: WrittenState, body: RequestBody) -> None: ...

    def delete(self, id: str, environment: str, snapshot: float) -> None: ...

    def statuses(self, ids: Sequence[str]) -> dict[str, MirroredStatus]: ...

    def snapshot_of(self, id: str) -> float | None: ...

    def listing(self, environment: str) -> dict[str, ListedLoadBalancer]: ...

    def changes(self, environment: str, cursor: str) -> StatusChanges: ...

    def statistics(self, ids: Sequence[str]) -> list[dict[str, Any]]: ...

    def lease(self, environment: str, holder: str, seconds: float) -> bool: ...

    def unused_ports(self, environment: str, older_seconds: float) -> list[str]: ...


class ControllersMirror:
    """Copies of Octavia's load balancers at the controllers, over HTTP. All methods raise ControllerError."""

    def __init__(self, controllers: ControllersClient, *, seconds: float) -> None:
        self._controllers = controllers
        self._seconds = seconds

    def put(self, id: str, written: WrittenState, body: RequestBody) -> None:
        """Write a load balancer with all its children; a repetition changes nothing."""
        self._call_mirror("PUT", _load_balancer_path(id), body={**written._asdict(), "loadbalancer": body})

    def delete(self, id: str, environment: str, snapshot: float) -> None:
        """Begin to remove a load balancer with all its children. ``snapshot``: time of the state of Octavia's
        database in which it is deleted, in seconds since 1970.
        """
        self._call_mirror("DELETE", _load_balancer_path(id), query={"provider": environment, "snapshot": snapshot})

    def statuses(self, ids: Sequence[str]) -> dict[str, MirroredStatus]:
        """Return ``{load balancer id: statuses}``; load balancers that do not exist are left out."""
        return {str(each["id"]): parse_status(each) for each in self._raw_statuses(ids)}

    def snapshot_of(self, id: str) -> float | None:
        """Return the time of the snapshot from which a load balancer was last written, in seconds since 1970;
        None if the controllers do not have the load balancer.
        """
        found = [each.get("snapshot") for each in self._raw_statuses([id])]
        return float(found[0]) if found and found[0] is not None else None

    def listing(self, environment: str) -> dict[str, ListedLoadBalancer]:
        """Return ``{id: load balancer}`` of all load balancers of an environment that are not DELETED. Raises
        RequestRefused also for more than :data:`MAX_PAGES` pages.
        """
        found: dict[str, ListedLoadBalancer] = {}
        marker: str | None = None
        for _ in range(MAX_PAGES):
            query = {"provider": environment, "limit": PAGE_ROWS, **({"marker": marker} if marker else {})}
            answer = self._call_mirror("GET", "/loadbalancers", query=query)
            for each in answer["loadbalancers"]:
                if each.get("provisioning_status") != "DELETED":
                    found[each["id"]] = ListedLoadBalancer(snapshot=float(each["snapshot"]), digest=str(each["digest"]))
            marker = answer.get("next")
            if not marker:
                return found
        raise RequestRefused(500, f"more than {MAX_PAGES * PAGE_ROWS} load balancers in environment {environment}")

    def changes(self, environment: str, cursor: str) -> StatusChanges:
        """Return the load balancers whose statuses changed after ``cursor``; an empty cursor: since the beginning."""
        answer = self._call_mirror("GET", "/changes", query={"provider": environment, "since": cursor})
        return StatusChanges(str(answer["cursor"]), tuple(answer["ids"]), bool(answer["all"]))

    def statistics(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the totals of each listener of these load balancers."""
        found: list[dict[str, Any]] = []
        for some in split_ids(ids):
            found += self._call_mirror("POST", "/statistics", body={"ids": some})["listeners"]
        return found

    def lease(self, environment: str, holder: str, seconds: float) -> bool:
        """Take or renew the lease of an environment for ``seconds``; returns False if another agent has it."""
        answer = self._call_mirror(
            "PUT", "/lease", body={"provider": environment, "holder": holder, "seconds": seconds}
        )
        return bool(answer["is_held"])

    def unused_ports(self, environment: str, older_seconds: float) -> list[str]:
        """Return the ids of load balancers whose VIP ports the controllers created more than ``older_seconds`` ago, and
        that were never written since.
        """
        query = {"provider": environment, "older": older_seconds}
        return [str(id) for id in self._call_mirror("GET", "/vip-ports", query=query)["ids"]]

    def _raw_statuses(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        for some in split_ids(ids):
            yield from self._call_mirror("POST", "/statuses", body={"ids": some})["loadbalancers"]

    def _call_mirror(self, method: str, path: str, **more: Any) -> Any:
        return self._controllers.call(method, path, seconds=self._seconds, **more)


def split_ids(ids: Collection[str]) -> Iterator[list[str]]:
    """Split ids into lists of at most :data:`MAX_IDS_PER_REQUEST`, the maximum of one request."""
    listed = list(ids)
    for begin in range(0, len(listed), MAX_IDS_PER_REQUEST):
        yield listed[begin : begin + MAX_IDS_PER_REQUEST]


def _load_balancer_path(id: str) -> str:
    return f"/loadbalancers/{quote(id, safe='')}"
