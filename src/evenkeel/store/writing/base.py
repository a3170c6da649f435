"""What the parts that tenants write by have in common: how a load balancer is locked, and what quotas allow."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from evenkeel.core.model import Child
from evenkeel.store.options import Part
from evenkeel.store.writing.quota_check import Holder, check_quota, made
from evenkeel.store.writing.revision_lock import Locked, Mutable, Target, refuse, try_lock


class TenantWrites(Part):
    """Base of those parts of the store."""

    def _lock(
        self,
        connection: Connection,
        target: Target,
        mutable: Mutable = Mutable.PART,
        *,
        values: dict[str, Any] | None = None,
    ) -> Locked:
        """As :meth:`_try_lock`, but what is not there, or marked deleted, is refused: raises :class:`NotFound`,
        :class:`Conflict`."""
        return self._try_lock(connection, target, mutable, values=values) or refuse(connection, target)

    def _try_lock(
        self,
        connection: Connection,
        target: Target,
        mutable: Mutable = Mutable.PART,
        *,
        values: dict[str, Any] | None = None,
    ) -> Locked | None:
        """See :func:`evenkeel.store.writing.revision_lock.try_lock`."""
        strict = mutable.when(self._options.strict_immutability)
        deadline = self._options.pending_deadline_seconds
        return try_lock(connection, target, deadline_seconds=deadline, values=values, mutable=strict)

    def _check_quota(self, connection: Connection, locked: Locked, *rows: Child) -> None:
        """Raises :class:`QuotaMet` if the project may not have all of these, :class:`LimitMet` if the load balancer may
        not."""
        self._check_growth(connection, locked, made(rows))

    def _check_growth(self, connection: Connection, locked: Locked, more: Mapping[str, int]) -> None:
        """As :meth:`_check_quota`, for so many more of each kind."""
        check_quota(
            connection,
            locked.project_id,
            more,
            defaults=self._options.default_quotas,
            has_quota=locked.has_quota,
            holder=Holder(locked.id, self._options.load_balancer_limits),
        )
