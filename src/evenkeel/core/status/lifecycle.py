"""Events of a load balancer's life that billing and monitoring systems are notified of. Pure."""

from enum import StrEnum

from evenkeel.core.status.provisioning import StatusChange


class LifecycleEvent(StrEnum):
    """An event of a load balancer itself, for notifications; changes of its children are none."""

    CREATE = "create"  # its devices have it for the first time
    UPDATE = "update"  # its devices have a change of its own attributes
    DELETE = "delete"  # it was removed for good


def lifecycle_event(change: StatusChange) -> LifecycleEvent | None:
    """Return the event that a change of status completes; None if it completes none.

    A change of attributes that becomes effective together with the creation is part of that, and several
    changes that become effective together are one event.
    """
    if change.removed:
        return LifecycleEvent.DELETE
    if change.confirmed_revision is None or change.was.held:
        return None
    if change.first:
        return LifecycleEvent.CREATE
    was = change.was
    own_change = was.applied_revision < was.own_revision <= change.confirmed_revision
    return LifecycleEvent.UPDATE if own_change or change.vip_left else None
