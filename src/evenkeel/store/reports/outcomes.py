"""What a reported outcome makes of a load balancer: a pure rule, so that every order of reports can be tested.

``applied_revision`` only grows. An outcome of a change that this database does not know comes from another history (it
lost commits, or was restored from a backup) and proves nothing about this one: see
:mod:`evenkeel.store.writing.changes`.
"""

from msgspec.structs import replace

from evenkeel.core.messages import Applied
from evenkeel.core.statuses import PENDING, OperatingStatus, ProvisioningStatus
from evenkeel.core.values import Value
from evenkeel.store.writing.changes import is_known, since

MAX_REASON_CHARACTERS = 1_000


class Standing(Value):
    """A load balancer as stored: the columns that an outcome may change, and those it depends on."""

    id: str
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


class Settlement(Value):
    """What is to be written. ``was`` and ``now`` differ in provisioning status if an event is due."""

    was: Standing
    now: Standing
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


def settle(was: Standing, outcome: Applied, *, carries_traffic: bool = True) -> Settlement | None:
    """The consequence of one outcome; None if it is old news or says nothing about this history. ``carries_traffic``:
    the device does, so what it holds is ONLINE until it is seen otherwise."""
    if not _is_of_this_history(was, outcome):
        return None
    if outcome.error:
        return _waiting(was, outcome) if outcome.waiting else _failed(was, outcome)
    return _confirmed(was, outcome.revision, carries_traffic)


def _is_of_this_history(was: Standing, outcome: Applied) -> bool:
    return is_known(outcome, revision=was.revision, change_id=was.change_id, earlier_changes=was.earlier_changes)


def _waiting(was: Standing, outcome: Applied) -> Settlement | None:
    """Nothing was tried: what is PENDING says why, and stays so until its deadline."""
    if outcome.revision < was.revision or was.provisioning_status not in PENDING:
        return None
    now = replace(was, status_reason=outcome.error[:MAX_REASON_CHARACTERS])
    return None if now == was else Settlement(was=was, now=now)


def _failed(was: Standing, outcome: Applied) -> Settlement | None:
    if outcome.revision < was.revision:
        return None  # a newer one is on its way and may well succeed
    now = replace(
        was,
        provisioning_status=ProvisioningStatus.ERROR,
        status_reason=outcome.error[:MAX_REASON_CHARACTERS],
        pending_deadline=None,
    )
    return None if now == was else Settlement(was=was, now=now, failed=True)


def _confirmed(was: Standing, revision: int, carries_traffic: bool) -> Settlement | None:
    if revision < was.applied_revision:
        return None
    now = replace(
        was,
        applied_revision=revision,
        earlier_changes=since(was.earlier_changes, revision),
        operating_status=_operating(was, carries_traffic),
    )
    vip_left = was.vip_leaving_revision is not None and revision >= was.vip_leaving_revision
    if vip_left:
        now = replace(now, vip_leaving_revision=None)
    if revision < was.revision:
        now = replace(now, provisioning_status=_behind(was.provisioning_status))
    elif was.deleted:
        return Settlement(was=was, now=was, removed=True)
    else:
        now = replace(now, provisioning_status=ProvisioningStatus.ACTIVE, status_reason="", pending_deadline=None)
    return None if now == was else Settlement(was=was, now=now, confirmed_revision=revision, vip_left=vip_left)


def _behind(status: ProvisioningStatus) -> ProvisioningStatus:
    """The status of one that is on the device, with a newer revision to come."""
    return ProvisioningStatus.PENDING_UPDATE if status is ProvisioningStatus.PENDING_CREATE else status


def _operating(was: Standing, carries_traffic: bool) -> OperatingStatus:
    """A first guess at the first confirmation; from then on observation says."""
    first = carries_traffic and was.applied_revision == 0 and was.operating_status is OperatingStatus.OFFLINE
    return OperatingStatus.ONLINE if first and was.admin_state_up else was.operating_status
