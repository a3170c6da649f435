"""Pure decisions about status reports to Octavia: which objects are reported, with which statuses, in which order.

Only objects that the API set PENDING get a provisioning status, because each report moves its object's ``updated_at``.
The exception is an object in ERROR that has recovered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evenkeel_octavia.trees import OBJECT_KINDS, PENDING_STATUSES, LoadBalancerTree

StatusRecord = dict[str, str]
StatusReport = dict[str, list[StatusRecord]]
"""Argument of octavia-lib's ``update_loadbalancer_status``."""
MAX_RECORDS = 500
"""Maximum number of objects in one report: Octavia takes about 3 ms for each, and octavia-lib waits 30 s."""


class ReportError(Exception):
    """Octavia did not accept a report, or not all of it."""


class BadRecordError(ReportError):
    """Octavia refused one object's record in a report, which the text names, and ignored all records after it."""


@dataclass(frozen=True, kw_only=True)
class ObjectStatus:
    """Statuses of one object at the controllers."""

    provisioning: str
    operating: str | None = None


@dataclass(frozen=True, kw_only=True)
class MirroredStatus:
    """Statuses of one load balancer and its objects at the controllers."""

    digest: str
    """Digest of the content that was last written to the controllers."""
    is_settled: bool
    """Whether devices have that content, or failed to take it."""
    objects: Mapping[str, ObjectStatus]
    """Statuses by object id, including the load balancer's own."""

    def is_deleted(self, id: str) -> bool:
        """Whether these statuses show that the load balancer ``id`` is deleted. Raises KeyError if they are
        another's.
        """
        return self.objects[id].provisioning == "DELETED"


def parse_status(answer: Mapping[str, Any]) -> MirroredStatus:
    """Parse the statuses of one load balancer in the answer to ``POST mirror/statuses``."""
    own = str(answer["provisioning_status"])
    applied, revision = answer.get("applied_revision"), answer.get("revision")
    is_applied = applied is None or revision is None or applied >= revision or own == "ERROR"
    objects = {
        str(each["id"]): ObjectStatus(
            provisioning=str(each["provisioning_status"]), operating=each.get("operating_status")
        )
        for kind in OBJECT_KINDS
        if kind != "loadbalancers"
        for each in answer.get(kind, ())
    }
    objects[str(answer["id"])] = ObjectStatus(provisioning=own, operating=answer.get("operating_status"))
    return MirroredStatus(
        digest=str(answer["digest"]), is_settled=own not in PENDING_STATUSES and is_applied, objects=objects
    )


def report_applied(tree: LoadBalancerTree, status: MirroredStatus, *, with_operating: bool) -> StatusReport:
    """Build the report of a load balancer whose content, equal to the tree's, is settled at the controllers:
    PENDING objects become ACTIVE, ERROR or DELETED, and objects that left ERROR become ACTIVE.
    ``with_operating``: include operating statuses.
    """
    failed = status.objects[tree.id].provisioning == "ERROR"
    records = []
    for kind, row in tree.objects():
        provisioning = str(row["provisioning_status"])
        mine = status.objects.get(row["id"])
        if provisioning in PENDING_STATUSES:
            record = {"id": row["id"], "provisioning_status": _provisioning_status(provisioning, mine, failed=failed)}
            if with_operating and mine is not None and mine.operating:
                record["operating_status"] = mine.operating
            records.append((kind, record))
        elif provisioning == "ERROR" and not failed and mine is not None and mine.provisioning == "ACTIVE":
            records.append((kind, {"id": row["id"], "provisioning_status": "ACTIVE"}))
    return _group_by_kind(records)


def _provisioning_status(provisioning: str, object_status: ObjectStatus | None, *, failed: bool) -> str:
    if provisioning == "PENDING_DELETE":
        # an object that devices still have because the change failed is not gone
        return "ERROR" if failed and object_status is not None else "DELETED"
    if object_status is None:
        return "ERROR" if failed else "ACTIVE"
    return "ERROR" if object_status.provisioning == "ERROR" else "ACTIVE"


def report_refused(tree: LoadBalancerTree) -> StatusReport:
    """Build the report of a load balancer whose content the controllers refuse: all PENDING objects are in ERROR."""
    return _group_by_kind(
        (kind, {"id": row["id"], "provisioning_status": "ERROR"})
        for kind, row in tree.objects()
        if row["provisioning_status"] in PENDING_STATUSES
    )


def report_deleted(tree: LoadBalancerTree) -> StatusReport:
    """Build the report of a deleted load balancer that the controllers no longer have: it and all its objects are
    DELETED.

    Children of a cascading deletion are included, or they would still count against their quota.
    """
    return _group_by_kind((kind, {"id": row["id"], "provisioning_status": "DELETED"}) for kind, row in tree.objects())


def report_operating(tree: LoadBalancerTree, status: MirroredStatus, *, with_operating: bool) -> StatusReport:
    """Build the report of objects that are not PENDING or DELETED: operating statuses that differ, and ACTIVE
    for objects that left ERROR. ``with_operating``: include operating statuses.
    """
    recovered = status.is_settled and status.objects[tree.id].provisioning == "ACTIVE"
    records = []
    for kind, row in tree.objects():
        mine = status.objects.get(row["id"])
        if mine is None or row["provisioning_status"] in PENDING_STATUSES or row["provisioning_status"] == "DELETED":
            continue
        record: StatusRecord = {}
        if with_operating and mine.operating and mine.operating != row["operating_status"]:
            record["operating_status"] = mine.operating
        if recovered and row["provisioning_status"] == "ERROR" and mine.provisioning == "ACTIVE":
            record["provisioning_status"] = "ACTIVE"
        if record:
            records.append((kind, {"id": row["id"], **record}))
    return _group_by_kind(records)


def _group_by_kind(records: Iterable[tuple[str, StatusRecord]]) -> StatusReport:
    report: StatusReport = {}
    for kind, record in records:
        report.setdefault(kind, []).append(record)
    return report


def count_records(report: StatusReport) -> int:
    """Return the number of objects in a report."""
    return sum(len(records) for records in report.values())


def merge_reports(reports: Iterable[StatusReport], limit: int = MAX_RECORDS) -> Iterator[StatusReport]:
    """Merge reports into as few as possible of at most ``limit`` objects.

    A load balancer with more objects gets a report of its own: driver-agent processes load balancers last, and a split
    report would set one ACTIVE before its members.
    """
    merged: StatusReport = {}
    for report in reports:
        if not report:
            continue
        if merged and count_records(merged) + count_records(report) > limit:
            yield merged
            merged = {}
        for kind, records in report.items():
            merged.setdefault(kind, []).extend(records)
    if merged:
        yield merged
