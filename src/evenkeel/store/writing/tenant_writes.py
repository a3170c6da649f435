"""Revision locks and quota checks of tenants' writes, by the store's options."""

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from evenkeel.core.resources.model import Child
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.operations import StoreMethod
from evenkeel.store.options import StoreOptions
from evenkeel.store.writing import quota_check, revision_lock
from evenkeel.store.writing.conflicts import held_error, mirrored_error
from evenkeel.store.writing.quota_check import LimitedLoadBalancer, count_new_objects
from evenkeel.store.writing.revision_lock import (
    AcceptedStatuses,
    LockedLoadBalancer,
    WriteKind,
    WriteTarget,
    raise_lock_failure,
)

P = ParamSpec("P")
T = TypeVar("T")


class TenantWrites:
    """Revision locks and quota checks that every tenant's write needs, by the store's options. ``in_error``:
    with the option ``strict_immutability``, accept changes of load balancers in ERROR, too.
    """

    def __init__(self, options: StoreOptions, *, in_error: bool = False) -> None:
        self.options = options
        self._in_error = in_error

    def lock(
        self,
        connection: Connection,
        target: WriteTarget,
        write_kind: WriteKind = WriteKind.PART,
        *,
        values: dict[str, Any] | None = None,
        mirrored_too: bool = False,
    ) -> LockedLoadBalancer:
        """Lock like :meth:`try_lock`, but raise :class:`NotFound` for an object that does not exist,
        :class:`Conflict` for one that is marked deleted, or whose load balancer is.
        """
        locked = self.try_lock(connection, target, write_kind, values=values, mirrored_too=mirrored_too)
        return locked or raise_lock_failure(connection, target)

    def try_lock(
        self,
        connection: Connection,
        target: WriteTarget,
        write_kind: WriteKind = WriteKind.PART,
        *,
        values: dict[str, Any] | None = None,
        mirrored_too: bool = False,
    ) -> LockedLoadBalancer | None:
        """Lock by :func:`evenkeel.store.writing.revision_lock.try_lock_load_balancer`, in the statuses that
        the options accept; None if the object or its load balancer does not exist or is marked deleted.

        Raises :class:`Conflict` for a held load balancer, and for one that mirrors another system's, unless
        ``mirrored_too``: the write changes no attribute. With strict immutability, raises :class:`Conflict`
        for a load balancer in another status, and :class:`NotFound` (instead of None) for a missing object.
        """
        strict = AcceptedStatuses(write_kind, self._in_error) if self.options.strict_immutability else None
        deadline = self.options.pending_deadline_seconds
        locked = revision_lock.try_lock_load_balancer(
            connection,
            target,
            deadline_seconds=deadline,
            values=values,
            accepted_statuses=strict,
            changes_root=write_kind is WriteKind.ITSELF,
        )
        # The revision that was raised goes with the transaction.
        if locked is not None and locked.row.mirrored and not mirrored_too:
            raise mirrored_error(locked.id, locked.row.provider)
        if locked is not None and locked.row.held:
            raise held_error(locked.id)
        return locked

    def check_quota(self, connection: Connection, locked: LockedLoadBalancer, *rows: Child) -> None:
        """Check quotas of the project and limits of the load balancer for these new objects. Raises
        :class:`QuotaReached` or :class:`ObjectLimitReached`.
        """
        self.check_quotas_and_limits(connection, locked, count_new_objects(rows))

    def check_quotas_and_limits(
        self, connection: Connection, locked: LockedLoadBalancer, more: Mapping[str, int]
    ) -> None:
        """Check quotas of the project and limits of the load balancer for ``more``, {kind: number of new
        objects}. Raises :class:`QuotaReached` or :class:`ObjectLimitReached`.
        """
        quota_check.check_quota(
            connection,
            locked.project_id,
            more,
            defaults=self.options.default_quotas,
            has_quota=locked.has_quota,
            holder=LimitedLoadBalancer(locked.id, self.options.load_balancer_limits),
        )


def tenant_write_operation(function: Callable[Concatenate[TenantWrites, P], Op[T]]) -> StoreMethod[P, T]:
    """Return a method of a store that runs the operation of a tenant's write in a write transaction.

    The method has the function's parameters after ``writes``, which is the store's own. The contract of the method is
    that of the port.
    """

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._db.write(function(self._writes, *args, **kwargs))
        return result

    return method
