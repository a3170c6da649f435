"""Provisioning status: what a report of an applied revision, or none in time, makes of a load balancer. Pure, so that
every order of reports can be tested.

``applied_revision`` only grows. An outcome of a change that this database does not know comes from another history (it
lost commits, or was restored from a backup) and proves nothing about this one: see
:mod:`evenkeel.core.changes`.
"""

from msgspec.structs import replace

from evenkeel.core.changes import is_known, since
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.messages import Applied
from evenkeel.core.operating import first_status
from evenkeel.core.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.values import Value

MAX_REASON_CHARACTERS = 1_000


class LoadBalancerState(Value):
    """A load balancer as stored: the columns that an outcome may change, and those it depends on."""

    id: LoadBalancerId
    revision: int
    change_id: str
    earlier_changes: str
    applied_revision: int
    deleted: bool
    admin_state_up: bool
    provisioning_status: ProvisioningStatus
    operating_status: OperatingStatus
    status_reason: str = ""
    pending_deadline: float | None = None
    vip_leaving_revision: int | None = None


class StatusChange(Value):
    """What is to be written. ``was`` and ``now`` differ in provisioning status if an event is due."""

    was: LoadBalancerState
    now: LoadBalancerState
    removed: bool = False
    """The device let go of a deleted one: the row and everything below it goes."""
    confirmed_revision: int | None = None
    """Children up to this revision are on the device."""
    failed: bool = False
    """Pending children failed with it."""
    vip_left: bool = False
    """The device let go of the VIP that was given up: its address is free."""

    @property
    def first(self) -> bool:
        """The device holds it from now on, and did not before."""
        return self.was.applied_revision == 0 and self.confirmed_revision is not None


def apply_report(was: LoadBalancerState, outcome: Applied, *, carries_traffic: bool = True) -> StatusChange | None:
    """The consequence of one outcome; None if it is old news or says nothing about this history. ``carries_traffic``:
    the device does, so what it holds is ONLINE until it is seen otherwise."""
    if not _is_of_this_history(was, outcome):
        return None
    if outcome.error:
        return _waiting(was, outcome) if outcome.waiting else _failed(was, outcome)
    return _confirmed(was, outcome.revision, carries_traffic)


def _is_of_this_history(was: LoadBalancerState, outcome: Applied) -> bool:
    return is_known(outcome, revision=was.revision, change_id=was.change_id, earlier_changes=was.earlier_changes)


def _waiting(was: LoadBalancerState, outcome: Applied) -> StatusChange | None:
    """Nothing was tried: what is PENDING says why, and stays so until its deadline."""
    if outcome.revision < was.revision or was.provisioning_status not in PENDING:
        return None
    now = replace(was, status_reason=outcome.error[:MAX_REASON_CHARACTERS])
    return None if now == was else StatusChange(was=was, now=now)


def _failed(was: LoadBalancerState, outcome: Applied) -> StatusChange | None:
    if outcome.revision < was.revision:
        return None  # a newer one is on its way and may well succeed
    now = _in_error(was, outcome.error)
    return None if now == was else StatusChange(was=was, now=now, failed=True)


def _confirmed(was: LoadBalancerState, revision: int, carries_traffic: bool) -> StatusChange | None:
    if revision < was.applied_revision:
        return None
    now = replace(
        was,
        applied_revision=revision,
        earlier_changes=since(was.earlier_changes, revision),
        operating_status=first_status(
            was.operating_status,
            new=was.applied_revision == 0,
            enabled=was.admin_state_up,
            carries_traffic=carries_traffic,
        ),
    )
    vip_left = was.vip_leaving_revision is not None and revision >= was.vip_leaving_revision
    if vip_left:
        now = replace(now, vip_leaving_revision=None)
    if revision < was.revision:
        now = replace(now, provisioning_status=_behind(was.provisioning_status))
    elif was.deleted:
        return StatusChange(was=was, now=was, removed=True)
    else:
        now = replace(now, provisioning_status=ProvisioningStatus.ACTIVE, status_reason="", pending_deadline=None)
    return None if now == was else StatusChange(was=was, now=now, confirmed_revision=revision, vip_left=vip_left)


def _behind(status: ProvisioningStatus) -> ProvisioningStatus:
    """The status of one that is on the device, with a newer revision to come."""
    return ProvisioningStatus.PENDING_UPDATE if status is ProvisioningStatus.PENDING_CREATE else status


def overdue(was: LoadBalancerState, reason: str) -> StatusChange:
    """No device confirmed the newest revision in time. It is still tried, so what was known of the cause stays."""
    why = f"{reason}: {was.status_reason}" if was.status_reason else reason
    return StatusChange(was=was, now=_in_error(was, why), failed=True)


def _in_error(was: LoadBalancerState, reason: str) -> LoadBalancerState:
    return replace(
        was,
        provisioning_status=ProvisioningStatus.ERROR,
        status_reason=reason[:MAX_REASON_CHARACTERS],
        pending_deadline=None,
    )
