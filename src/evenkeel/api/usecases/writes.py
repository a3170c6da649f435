"""Writes to children of load balancers, with notification of the driver."""

from collections.abc import Sequence
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.control.writes import Change
from evenkeel.core.tls.certificates import CheckedCertificate


async def remove_object(services: Services, call: Call, kind: type[Any], object_id: str, parent_id: str | None) -> None:
    """Mark a child of a load balancer deleted, and notify the driver. ``parent_id``: pool of a member, or
    policy of a rule; None: not checked. Raises :class:`NotFound`, and :class:`Conflict` for a refused
    delete.
    """
    change = await services.tenants.delete_child(kind, object_id, parent_id=parent_id, project_id=call.caller.scope)
    await services.change_accepted(change)


async def write_changes(
    services: Services,
    call: Call,
    kind: type[Any],
    object_id: str,
    changes: dict[str, Any],
    parent_id: str | None,
    certificates: Sequence[CheckedCertificate] = (),
) -> Any:
    """Write changes to a child of a load balancer, and notify the driver; returns the stored child. Without
    changes nothing is written. ``parent_id``: pool of a member, or policy of a rule; None: not checked.
    Raises the errors of :meth:`TenantStore.update_child`.
    """
    scope = call.caller.scope
    if not changes:
        return await services.tenants.get(kind, object_id, parent_id=parent_id, project_id=scope)
    change = await services.tenants.update_child(
        kind, object_id, changes, parent_id=parent_id, certificates=certificates, project_id=scope
    )
    await services.change_accepted(change)
    return await object_after_write(services, call, kind, change, object_id, parent_id)


async def object_after_write(
    services: Services, call: Call, kind: type[Any], change: Change, object_id: str, parent_id: str | None = None
) -> Any:
    """Return the object in the state that the write stored, from the write's result or, if that does not
    contain it, from the database. ``parent_id``: pool of a member, or policy of a rule; None: not checked.
    Raises :class:`NotFound` if the object is gone meanwhile.
    """
    # First the rows of the write itself: a read could already show a later change.
    for row in change.resources:
        if isinstance(row, kind) and row.id == object_id:
            return row
    return await services.tenants.get(kind, object_id, parent_id=parent_id, project_id=call.caller.scope)


async def read_all_children(services: Services, kind: type[Any], parent_id: str) -> tuple[Any, ...]:
    """Return all objects of a kind below one parent, without pages. Raises :class:`NotFound` if there is no
    such parent.
    """
    page = await services.tenants.list(kind, ListQuery(), parent_id=parent_id)
    return page.items
