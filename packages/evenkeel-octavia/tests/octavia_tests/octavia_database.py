"""Octavia's database and driver-agent in memory: rows of load balancers that reports change."""

import dataclasses
from collections.abc import Collection
from typing import Any

from evenkeel_octavia.reports import BadRecordError, StatusReport
from evenkeel_octavia.trees import PENDING_STATUSES, DatabaseRow, LoadBalancerTree, OctaviaSnapshot


class OctaviaInMemory:
    """Source and reporter of an agent. ``broken``: how many of the next reports fail; ``lost``: how many are taken and
    fail all the same.
    """

    def __init__(self, *trees: LoadBalancerTree) -> None:
        self.trees_by_id = {tree.id: tree for tree in trees}
        self.deleted_ids: set[str] = set()
        """Load balancers whose rows are there and DELETED."""
        self.seconds = 1_800_000_000.0
        self.reports: list[StatusReport] = []
        self.totals: list[list[dict[str, Any]]] = []
        self.broken = 0
        self.refused_ids: set[str] = set()
        self.reads = 0
        self.late_report: StatusReport = {}
        """A report of an earlier agent that is applied before the next one is made."""

    def status(self, id: str = "lb-0") -> str | None:
        """The load balancer's provisioning status; None: it is DELETED."""
        return self.trees_by_id[id].status if id in self.trees_by_id else None

    def settle(self) -> None:
        """Let the late report be applied."""
        if late := self.late_report:
            self.late_report = {}
            self.statuses(late)

    def statuses(self, report: StatusReport) -> None:
        """Take a report, as driver-agent does."""
        if self.broken:
            self.broken -= 1
            raise OSError("driver-agent does not answer")
        if {record["id"] for record in report.get("loadbalancers", [])} & self.refused_ids:
            raise BadRecordError("a record is bad")
        self.reports.append(report)
        for records in report.values():
            for record in records:
                self._take(record)

    def statistics(self, listeners: list[dict[str, Any]]) -> None:
        self.totals.append(listeners)

    def pending(self, providers: Collection[str]) -> dict[str, str]:
        return {
            id: tree.status
            for id, tree in self.trees_by_id.items()
            if tree.status in PENDING_STATUSES and tree.loadbalancer["provider"] in providers
        }

    def trees(self, ids: Collection[str]) -> OctaviaSnapshot:
        self.reads += 1
        return self._snapshot({id: self.trees_by_id[id] for id in ids if id in self.trees_by_id})

    def page(self, providers: Collection[str], marker: str, limit: int) -> OctaviaSnapshot:
        ids = sorted(id for id in self.trees_by_id if id > marker)[:limit]
        return self._snapshot({id: self.trees_by_id[id] for id in ids})

    def known_statuses(self, providers: Collection[str]) -> tuple[float, dict[str, str]]:
        self.seconds += 1.0
        there = {id: tree.status for id, tree in self.trees_by_id.items()}
        return self.seconds, there | dict.fromkeys(self.deleted_ids, "DELETED")

    def _snapshot(self, trees: dict[str, LoadBalancerTree]) -> OctaviaSnapshot:
        self.seconds += 1.0
        return OctaviaSnapshot(seconds=self.seconds, trees=trees)

    def _take(self, record: dict[str, str]) -> None:
        changes = {name: value for name, value in record.items() if name != "id"}
        for tree in list(self.trees_by_id.values()):
            if record["id"] == tree.id and changes.get("provisioning_status") == "DELETED":
                del self.trees_by_id[tree.id]
                self.deleted_ids.add(tree.id)
            elif any(row["id"] == record["id"] for _, row in tree.objects()):
                self.trees_by_id[tree.id] = _changed(tree, record["id"], changes)


def _changed(tree: LoadBalancerTree, id: str, changes: dict[str, str]) -> LoadBalancerTree:
    def rows(found: tuple[DatabaseRow, ...]) -> tuple[DatabaseRow, ...]:
        after = ({**row, **changes} if row["id"] == id else row for row in found)
        return tuple(row for row in after if row["provisioning_status"] != "DELETED")

    names = ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules")
    own = {**tree.loadbalancer, **changes} if tree.id == id else tree.loadbalancer
    return dataclasses.replace(tree, loadbalancer=own, **{name: rows(getattr(tree, name)) for name in names})
