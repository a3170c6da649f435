"""Which reports complete an event of a load balancer's life."""

import pytest
from msgspec.structs import replace

from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.core.status.lifecycle import LifecycleEvent, lifecycle_event
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.status.provisioning import LoadBalancerState, apply_report, overdue_change

CREATE, UPDATE, DELETE = LifecycleEvent.CREATE, LifecycleEvent.UPDATE, LifecycleEvent.DELETE
NEW = LoadBalancerState(
    id="lb",
    revision=1,
    change_id="",
    earlier_changes="",
    applied_revision=0,
    deleted=False,
    admin_state_up=True,
    provisioning_status=ProvisioningStatus.PENDING_CREATE,
    operating_status=OperatingStatus.OFFLINE,
)
FAILED = replace(NEW, provisioning_status=ProvisioningStatus.ERROR)
SERVED = replace(NEW, revision=3, applied_revision=3, provisioning_status=ProvisioningStatus.ACTIVE)


def event_of(was: LoadBalancerState, revision: int, error: str = "") -> LifecycleEvent | None:
    change = apply_report(was, Applied(load_balancer_id=was.id, revision=revision, error=error))
    return None if change is None else lifecycle_event(change)


@pytest.mark.parametrize(
    ("was", "revision", "event"),
    [
        pytest.param(NEW, 1, CREATE, id="first"),
        pytest.param(replace(NEW, revision=2), 1, CREATE, id="first, with a newer change pending"),
        pytest.param(replace(NEW, revision=2, own_revision=2), 2, CREATE, id="first, together with a change"),
        pytest.param(
            replace(NEW, provisioning_status=ProvisioningStatus.ERROR), 1, CREATE, id="first, after a failure"
        ),
        pytest.param(replace(SERVED, revision=4, own_revision=4), 4, UPDATE, id="own change"),
        pytest.param(replace(SERVED, revision=5, own_revision=4), 4, UPDATE, id="own change, with a newer one pending"),
        pytest.param(replace(SERVED, revision=5, own_revision=4), 5, UPDATE, id="own change, skipped over"),
        pytest.param(replace(SERVED, revision=5, own_revision=5), 4, None, id="own change, not applied yet"),
        pytest.param(replace(SERVED, revision=4, own_revision=2), 4, None, id="change of a child"),
        pytest.param(replace(SERVED, revision=4), 4, None, id="change of a child, never changed itself"),
        pytest.param(replace(SERVED, revision=4, vip_leaving_revision=4), 4, UPDATE, id="VIP released"),
        pytest.param(replace(SERVED, own_revision=3), 3, None, id="repeated report"),
        pytest.param(replace(SERVED, revision=4, deleted=True), 4, DELETE, id="removed"),
        pytest.param(replace(NEW, revision=2, deleted=True), 2, DELETE, id="removed before it was ever confirmed"),
        pytest.param(replace(SERVED, revision=4, deleted=True), 3, None, id="removal pending"),
    ],
)
def test_event_of_a_confirmed_revision(was: LoadBalancerState, revision: int, event: LifecycleEvent | None) -> None:
    assert event_of(was, revision) is event


def test_a_failure_is_no_event_and_the_success_after_it_is() -> None:
    was = replace(SERVED, revision=4, own_revision=4, provisioning_status=ProvisioningStatus.PENDING_UPDATE)
    failed = apply_report(was, Applied(load_balancer_id="lb", revision=4, error="refused"))
    assert failed is not None
    assert lifecycle_event(failed) is None
    assert event_of(failed.now, 4) is UPDATE


def test_a_missed_deadline_is_no_event() -> None:
    assert lifecycle_event(overdue_change(NEW, "late")) is None
