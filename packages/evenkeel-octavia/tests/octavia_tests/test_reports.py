"""Reports name exactly what the API set PENDING, load balancers last."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel_octavia.reports import (
    MirroredStatus,
    ObjectStatus,
    StatusReport,
    count_records,
    merge_reports,
    parse_status,
    report_applied,
    report_deleted,
    report_operating,
    report_refused,
)
from evenkeel_octavia.trees import OBJECT_KINDS, PENDING_STATUSES, LoadBalancerTree
from octavia_tests.strategies import few, listener, member, pool, tree, trees


def status_of(
    tree: LoadBalancerTree, provisioning: str = "ACTIVE", operating: str = "ONLINE", **others: str
) -> MirroredStatus:
    """Statuses of all objects of a load balancer; ``others``: provisioning statuses by id."""
    objects = {
        row["id"]: ObjectStatus(provisioning=others.get(row["id"], provisioning), operating=operating)
        for _, row in tree.objects()
    }
    return MirroredStatus(digest="d", is_settled=True, objects=objects)


def reported(report: StatusReport) -> dict[str, dict[str, str]]:
    """Records by id, without it."""
    return {
        record["id"]: {name: value for name, value in record.items() if name != "id"}
        for records in report.values()
        for record in records
    }


@few
@given(trees(), st.booleans())
def test_applied_load_balancer_is_reported_for_pending_objects_only(tree: LoadBalancerTree, failed: bool) -> None:
    found = reported(report_applied(tree, status_of(tree, "ERROR" if failed else "ACTIVE"), with_operating=True))
    pending = {row["id"] for _, row in tree.objects() if row["provisioning_status"] in PENDING_STATUSES}
    recovered = {row["id"] for _, row in tree.objects() if row["provisioning_status"] == "ERROR" and not failed}
    assert set(found) == pending | recovered
    for _, row in tree.objects():
        if row["provisioning_status"] == "PENDING_DELETE":
            assert found[row["id"]]["provisioning_status"] == ("ERROR" if failed else "DELETED")
        elif row["provisioning_status"] in PENDING_STATUSES:
            assert found[row["id"]]["provisioning_status"] == ("ERROR" if failed else "ACTIVE")


@few
@given(trees())
def test_refused_load_balancer_sets_pending_objects_to_error(tree: LoadBalancerTree) -> None:
    found = reported(report_refused(tree))
    assert set(found) == {row["id"] for _, row in tree.objects() if row["provisioning_status"] in PENDING_STATUSES}
    assert all(record == {"provisioning_status": "ERROR"} for record in found.values())


@few
@given(trees())
def test_deleted_load_balancer_takes_all_its_children_along(tree: LoadBalancerTree) -> None:
    found = reported(report_deleted(tree))
    assert set(found) == {row["id"] for _, row in tree.objects()}


@few
@given(trees())
def test_operating_report_omits_pending_objects(tree: LoadBalancerTree) -> None:
    found = reported(report_operating(tree, status_of(tree, operating="DEGRADED"), with_operating=True))
    calm = {row["id"] for _, row in tree.objects() if row["provisioning_status"] not in PENDING_STATUSES}
    assert set(found) == calm and all(record["operating_status"] == "DEGRADED" for record in found.values())


@few
@given(trees())
def test_statuses_that_are_equal_are_not_reported(tree: LoadBalancerTree) -> None:
    objects = {
        row["id"]: ObjectStatus(provisioning="ACTIVE", operating=row["operating_status"]) for _, row in tree.objects()
    }
    status = MirroredStatus(digest="d", is_settled=False, objects=objects)
    assert report_operating(tree, status, with_operating=True) == {}


def test_child_that_failed_alone_is_in_error_alone() -> None:
    one = tree(
        values={"provisioning_status": "PENDING_UPDATE"},
        listeners=(listener(0, provisioning_status="PENDING_CREATE"), listener(1)),
    )
    found = report_applied(one, status_of(one, **{"listener-0": "ERROR"}), with_operating=False)
    assert found == {
        "listeners": [{"id": "listener-0", "provisioning_status": "ERROR"}],
        "loadbalancers": [{"id": "lb-0", "provisioning_status": "ACTIVE"}],
    }


@pytest.mark.parametrize("with_operating", [True, False])
def test_operating_statuses_are_reported_where_they_are_wanted(with_operating: bool) -> None:
    one = tree(values={"provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE"}, pools=(pool(0),))
    found = reported(report_applied(one, status_of(one), with_operating=with_operating))
    assert ("operating_status" in found["lb-0"]) is with_operating
    calm = tree(pools=(pool(0, operating_status="ERROR"),))
    assert bool(report_operating(calm, status_of(calm), with_operating=with_operating)) is with_operating


def test_object_that_left_error_is_reported_active() -> None:
    one = tree(values={"provisioning_status": "ERROR"}, members=(member(0, provisioning_status="ERROR"),))
    found = report_operating(one, status_of(one), with_operating=False)
    assert reported(found) == {
        "lb-0": {"provisioning_status": "ACTIVE"},
        "member-0": {"provisioning_status": "ACTIVE"},
    }


@few
@given(st.lists(trees(), max_size=5), st.integers(1, 20))
def test_batches_keep_each_load_balancer_whole(found: list[LoadBalancerTree], limit: int) -> None:
    made = [report_deleted(tree) for tree in found]
    merged = list(merge_reports(made, limit))
    assert sum(map(count_records, merged)) == sum(map(count_records, made))
    for batch in merged:
        parts = len(batch["loadbalancers"])
        assert count_records(batch) <= limit or parts == 1
        assert list(batch) == sorted(batch, key=OBJECT_KINDS.index) or parts > 1


ANSWER: dict[str, Any] = {
    "id": "lb-0",
    "digest": "d",
    "revision": 3,
    "applied_revision": 3,
    "provisioning_status": "ACTIVE",
    "operating_status": "ONLINE",
    "pools": [{"id": "pool-0", "provisioning_status": "ACTIVE", "operating_status": "ONLINE"}],
}


@pytest.mark.parametrize(
    ("changed", "settled"),
    [
        ({}, True),
        ({"provisioning_status": "PENDING_UPDATE"}, False),
        ({"applied_revision": 2}, False),
        ({"applied_revision": 2, "provisioning_status": "ERROR"}, True),
        ({"applied_revision": None}, True),
    ],
)
def test_load_balancer_is_settled_when_its_newest_revision_is_applied_or_failed(
    changed: dict[str, Any], settled: bool
) -> None:
    found = parse_status({**ANSWER, **changed})
    assert found.is_settled is settled and set(found.objects) == {"lb-0", "pool-0"}
