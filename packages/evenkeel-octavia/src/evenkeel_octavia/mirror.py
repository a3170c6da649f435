"""Typed calls of the controllers' mirror API that the agent makes."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from evenkeel_octavia.controllers import Controllers, Refused
from evenkeel_octavia.convert import Body
from evenkeel_octavia.drift import Listed
from evenkeel_octavia.reports import MirroredStatus, status_from

MAX_IDS = 500
"""Load balancers of one request for statuses or statistics."""
PAGE = 500
MAX_PAGES = 1000


class Written(NamedTuple):
    """State of Octavia's database that a written load balancer shows."""

    snapshot: float
    """Time of the state, seconds since 1970."""
    digest: str
    change: str | None
    """Identity of the operation that is pending; a new one is applied to devices even if it changed no object."""


class Changes(NamedTuple):
    """Answer of the controllers to which statuses changed."""

    cursor: str
    ids: tuple[str, ...]
    all: bool
    """True if any status may have changed: it is unknown which."""


class Mirror(Protocol):
    """Mirror of Octavia's load balancers at the controllers. All raise ControllerError."""

    def put(self, id: str, written: Written, body: Body) -> None: ...

    def delete(self, id: str, environment: str, snapshot: float) -> None: ...

    def statuses(self, ids: Sequence[str]) -> dict[str, MirroredStatus]: ...

    def snapshot_of(self, id: str) -> float | None: ...

    def listing(self, environment: str) -> dict[str, Listed]: ...

    def changes(self, environment: str, cursor: str) -> Changes: ...

    def statistics(self, ids: Sequence[str]) -> list[dict[str, Any]]: ...

    def lease(self, environment: str, holder: str, seconds: float) -> bool: ...

    def unused_ports(self, environment: str, older_seconds: float) -> list[str]: ...


class ControllersMirror:
    """The mirror of the controllers, over HTTP."""

    def __init__(self, controllers: Controllers, *, seconds: float) -> None:
        self._controllers = controllers
        self._seconds = seconds

    def put(self, id: str, written: Written, body: Body) -> None:
        """Write a load balancer with all its children; repeating that changes nothing."""
        self._call("PUT", _path(id), body={**written._asdict(), "loadbalancer": body})

    def delete(self, id: str, environment: str, snapshot: float) -> None:
        """Begin to remove a load balancer with all its children."""
        self._call("DELETE", _path(id), query={"provider": environment, "snapshot": snapshot})

    def statuses(self, ids: Sequence[str]) -> dict[str, MirroredStatus]:
        """Return the statuses of load balancers; one that is missing does not exist."""
        return {str(each["id"]): status_from(each) for each in self._raw_statuses(ids)}

    def snapshot_of(self, id: str) -> float | None:
        """Return the snapshot that a load balancer was written from; None if it does not exist."""
        found = [each.get("snapshot") for each in self._raw_statuses([id])]
        return float(found[0]) if found and found[0] is not None else None

    def listing(self, environment: str) -> dict[str, Listed]:
        """Return all load balancers of an environment."""
        found: dict[str, Listed] = {}
        marker: str | None = None
        for _ in range(MAX_PAGES):
            query = {"provider": environment, "limit": PAGE, **({"marker": marker} if marker else {})}
            answer = self._call("GET", "/loadbalancers", query=query)
            for each in answer["loadbalancers"]:
                if each.get("provisioning_status") != "DELETED":
                    found[each["id"]] = Listed(snapshot=float(each["snapshot"]), digest=str(each["digest"]))
            marker = answer.get("next")
            if not marker:
                return found
        raise Refused(500, f"more than {MAX_PAGES * PAGE} load balancers in environment {environment}")

    def changes(self, environment: str, cursor: str) -> Changes:
        """Return load balancers whose statuses changed after a cursor; an empty cursor is the beginning."""
        answer = self._call("GET", "/changes", query={"provider": environment, "since": cursor})
        return Changes(str(answer["cursor"]), tuple(answer["ids"]), bool(answer["all"]))

    def statistics(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the totals of each listener of some load balancers."""
        found: list[dict[str, Any]] = []
        for some in pieces(ids):
            found += self._call("POST", "/statistics", body={"ids": some})["listeners"]
        return found

    def lease(self, environment: str, holder: str, seconds: float) -> bool:
        """Take or renew the lease of an environment; False if another agent has it."""
        answer = self._call("PUT", "/lease", body={"provider": environment, "holder": holder, "seconds": seconds})
        return bool(answer["is_held"])

    def unused_ports(self, environment: str, older_seconds: float) -> list[str]:
        """Return load balancers whose VIP ports the controllers created longer ago, and that were not written since."""
        query = {"provider": environment, "older": older_seconds}
        return [str(id) for id in self._call("GET", "/vip-ports", query=query)["ids"]]

    def _raw_statuses(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        for some in pieces(ids):
            yield from self._call("POST", "/statuses", body={"ids": some})["loadbalancers"]

    def _call(self, method: str, path: str, **more: Any) -> Any:
        return self._controllers.call(method, path, seconds=self._seconds, **more)


def pieces(ids: Collection[str]) -> Iterator[list[str]]:
    """Cut ids into lists that one request may have."""
    listed = list(ids)
    for begin in range(0, len(listed), MAX_IDS):
        yield listed[begin : begin + MAX_IDS]


def _path(id: str) -> str:
    return f"/loadbalancers/{quote(id, safe='')}"
