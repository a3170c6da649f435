"""Provisioning status: the transitions of a load balancer after a report of an applied revision, or after its
deadline. Pure, so that every order of reports can be tested.

No report lowers ``applied_revision``, which is 0 while a load balancer is held. An outcome of a change that
is missing from this database comes from another history (the database lost commits, or was restored from a
backup) and is ignored: see :mod:`evenkeel.core.status.changes`.
"""

from msgspec.structs import replace

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.status.changes import change_entries_since, is_change_in_history
from evenkeel.core.status.operating import status_after_confirmation
from evenkeel.core.status.outcomes import Applied

MAX_REASON_CHARACTERS = 1_000
HELD_REASON = "held: not switched over yet, the system that it comes from serves it"
"""Status reason of a load balancer that no device has, because another system still serves the load balancer."""


class LoadBalancerState(Value):
    """The stored columns of a load balancer that an outcome may change or depends on."""

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
    name: str = ""
    held: bool = False
    own_revision: int = 0
    """Revision of the last change of the load balancer's own attributes; 0: none since it was created."""

    @property
    def title(self) -> str:
        """Text that names the load balancer in events: the name before the id."""
        return f"load balancer {name_and_id(self.name, self.id)}"


class StatusChange(Value):
    """Change of a load balancer's stored state, from ``was`` to ``now``, and what else has to be written. An
    event is recorded if the provisioning statuses differ.
    """

    was: LoadBalancerState
    now: LoadBalancerState
    removed: bool = False
    """True: the device removed a deleted load balancer, so that the row and its children are deleted."""
    confirmed_revision: int | None = None
    """Revision up to which children are on the device; None: unchanged."""
    failed: bool = False
    """True: pending children failed together with the load balancer."""
    vip_left: bool = False
    """True: the device released the VIP, so that its address is free."""

    @property
    def first(self) -> bool:
        """True if the device confirmed the load balancer for the first time; never for a held one."""
        return self.was.applied_revision == 0 and self.confirmed_revision is not None and not self.was.held


def apply_report(was: LoadBalancerState, outcome: Applied, *, carries_traffic: bool = True) -> StatusChange | None:
    """Return the change caused by one reported outcome; None if nothing changes, the outcome is outdated, or
    it belongs to another history of the database. ``carries_traffic``: whether the device type carries
    traffic; then objects that it confirms are ONLINE until observed otherwise.
    """
    if not _is_of_current_history(was, outcome):
        return None
    if outcome.error:
        return _waiting_change(was, outcome) if outcome.waiting else _failure_change(was, outcome)
    return _confirmed_change(was, outcome.revision, carries_traffic)


def _is_of_current_history(was: LoadBalancerState, outcome: Applied) -> bool:
    return is_change_in_history(
        outcome, revision=was.revision, change_id=was.change_id, earlier_changes=was.earlier_changes
    )


def _waiting_change(was: LoadBalancerState, outcome: Applied) -> StatusChange | None:
    """Return the change by an outcome without an attempt: a PENDING load balancer gets the outcome's error as
    reason and stays PENDING until its deadline. None if nothing changes, or a newer revision is pending.
    """
    if outcome.revision < was.revision or was.provisioning_status not in PENDING:
        return None
    now = replace(was, status_reason=outcome.error[:MAX_REASON_CHARACTERS])
    return None if now == was else StatusChange(was=was, now=now)


def _failure_change(was: LoadBalancerState, outcome: Applied) -> StatusChange | None:
    if outcome.revision < was.revision:
        return None  # a newer revision is pending and may succeed
    now = _state_in_error(was, outcome.error)
    return None if now == was else StatusChange(was=was, now=now, failed=True)


def _confirmed_change(was: LoadBalancerState, revision: int, carries_traffic: bool) -> StatusChange | None:
    if revision < was.applied_revision:
        return None  # a late report: the device has a newer revision
    if was.held and not was.deleted:
        return _confirmed_held_change(was, revision)
    now = replace(
        was,
        applied_revision=revision,
        earlier_changes=change_entries_since(was.earlier_changes, revision),
        operating_status=status_after_confirmation(
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
        now = replace(now, provisioning_status=_status_with_newer_revision_pending(was.provisioning_status))
    elif was.deleted:
        # The row is deleted with its children, so no other column is written.
        return StatusChange(was=was, now=was, removed=True)
    else:
        now = replace(now, provisioning_status=ProvisioningStatus.ACTIVE, status_reason="", pending_deadline=None)
    return None if now == was else StatusChange(was=was, now=now, confirmed_revision=revision, vip_left=vip_left)


def _confirmed_held_change(was: LoadBalancerState, revision: int) -> StatusChange | None:
    """Return the change after the devices confirmed that they have nothing of a held load balancer; None if
    nothing changes, or a newer revision is pending.

    ``applied_revision`` stays: the first revision that a device has comes after the release.
    """
    if revision < was.revision:
        return None
    now = replace(
        was,
        earlier_changes=change_entries_since(was.earlier_changes, revision),
        provisioning_status=ProvisioningStatus.ACTIVE,
        operating_status=OperatingStatus.OFFLINE,
        status_reason=HELD_REASON,
        pending_deadline=None,
    )
    return None if now == was else StatusChange(was=was, now=now, confirmed_revision=revision)


def _status_with_newer_revision_pending(status: ProvisioningStatus) -> ProvisioningStatus:
    """Return the status of a load balancer that is on the device and has a newer revision pending."""
    return ProvisioningStatus.PENDING_UPDATE if status is ProvisioningStatus.PENDING_CREATE else status


def overdue_change(was: LoadBalancerState, reason: str) -> StatusChange:
    """Return the change at the deadline, when no device confirmed the newest revision in time: to ERROR with
    ``reason`` and the known cause. The agent goes on retrying.
    """
    why = f"{reason}: {was.status_reason}" if was.status_reason else reason
    return StatusChange(was=was, now=_state_in_error(was, why), failed=True)


def _state_in_error(was: LoadBalancerState, reason: str) -> LoadBalancerState:
    return replace(
        was,
        provisioning_status=ProvisioningStatus.ERROR,
        status_reason=reason[:MAX_REASON_CHARACTERS],
        pending_deadline=None,
    )
