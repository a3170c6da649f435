"""Writes the steps from a stored tree to a wanted one; :mod:`evenkeel.core.resources.tree_changes` computes
the steps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Update, bindparam, delete, false, true, update

from evenkeel.core.resources.model import Child, Listener, LoadBalancerTree, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.resources.tree_changes import (
    ChildKind,
    InsertObjects,
    MarkObjectsChanged,
    OverwriteObjects,
    RemoveObjects,
    Step,
    children_of,
)
from evenkeel.core.tls.certificate_references import references_of
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.rows import KINDS, Kind, live_key_from_resource, row_from_resource
from evenkeel.store.writing.certificates import add_certificate_uses, update_certificate_uses
from evenkeel.store.writing.revision_lock import PENDING_CREATE, PENDING_UPDATE, LockedLoadBalancer, pending_status
from evenkeel.store.writing.steps import CHILD_KINDS, mark_objects_deleted, with_pending_create_status

_certificate_use = schema.certificate_use
CertificateUser = Listener | Pool


def apply_tree_changes(
    connection: Connection,
    options: StoreOptions,
    steps: Sequence[Step],
    stored: LoadBalancerTree,
    locked: LockedLoadBalancer,
    certificates: Sequence[CheckedCertificate],
) -> None:
    """Write the steps to a locked load balancer, then update which listeners and pools use which
    certificates. Raises :class:`ObjectLimitReached` and :class:`Conflict` for references, ``IntegrityError`` for an
    id that exists elsewhere.
    """
    before = {kind: {row.id: row for row in rows} for kind, rows in children_of(stored).items()}
    for step in steps:
        _apply_tree_change(connection, step, before[step.kind], locked)
    _update_certificate_uses(connection, options, steps, before, locked, certificates)


def _apply_tree_change(
    connection: Connection, step: Step, before: Mapping[str, Child], locked: LockedLoadBalancer
) -> None:
    kind = KINDS[step.kind]
    match step:
        case RemoveObjects():
            mark_objects_deleted(connection, kind, locked, is_in_list(kind.table.c.id, step.ids))
        case InsertObjects():
            rows: list[Any] = [row_from_resource(with_pending_create_status(row, locked)) for row in step.rows]  # type: ignore[type-var]
            insert_rows(connection, kind.table, rows)
        case OverwriteObjects():
            rows = [_overwriting_values(row, before[row.id], locked) for row in step.rows]
            connection.execute(_overwrite_statement(kind), rows)
        case MarkObjectsChanged():
            touched = update(kind.table).where(is_in_list(kind.table.c.id, step.ids), kind.table.c.deleted == false())
            values = {
                "revision": locked.revision,
                "updated_at": locked.now,
                "provisioning_status": pending_status(kind),
            }
            connection.execute(touched.values(values))


_COLUMNS_NOT_OVERWRITTEN = ("id", "load_balancer_id", "project_id", "operating_status", "created_at")
"""Columns that an overwritten object keeps from the stored row."""


@cache
def _overwrite_statement(kind: Kind) -> Update:
    table = kind.table
    names = [column.name for column in table.columns if column.name not in _COLUMNS_NOT_OVERWRITTEN]
    given = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}
    return update(table).where(table.c.id == bindparam("wanted_id")).values(given)


def _overwriting_values(row: Child, stored: Child, locked: LockedLoadBalancer) -> dict[str, Any]:
    new = stored.provisioning_status is ProvisioningStatus.PENDING_CREATE
    values = row_from_resource(row) | {
        "provisioning_status": PENDING_CREATE if new else PENDING_UPDATE,
        "revision": locked.revision,
        "updated_at": locked.now,
        "deleted": False,
        "live_key": live_key_from_resource(row),
    }
    return {"wanted_id": row.id} | {
        f"new_{name}": value for name, value in values.items() if name not in _COLUMNS_NOT_OVERWRITTEN
    }


def remove_deleted_children(connection: Connection, locked: LockedLoadBalancer) -> None:
    """Remove children marked deleted from a load balancer that was never placed: no device has them."""
    for kind in reversed(CHILD_KINDS):
        table = kind.table
        connection.execute(delete(table).where(table.c.load_balancer_id == locked.id, table.c.deleted == true()))


def _update_certificate_uses(
    connection: Connection,
    options: StoreOptions,
    steps: Iterable[Step],
    before: Mapping[ChildKind, Mapping[str, Child]],
    locked: LockedLoadBalancer,
    certificates: Sequence[CheckedCertificate],
) -> None:
    """Update which listeners and pools use which certificates; no statement if none of them has references.
    Raises :class:`ObjectLimitReached`, and :class:`Conflict` for an awaited certificate that is not available.
    """
    using = [step for step in steps if step.kind in (Listener, Pool)]
    add_certificate_uses(connection, options, locked, _certificate_users_of_steps(using, InsertObjects), certificates)
    for row in _certificate_users_of_steps(using, OverwriteObjects):
        was = before[type(row)][row.id]
        if was.deleted or references_of(row) != references_of(was):  # type: ignore[arg-type]
            # add_uses has stored what was read for them
            update_certificate_uses(connection, options, locked, row, ())
    gone = [id_ for step in using if isinstance(step, RemoveObjects) for id_ in step.ids]
    gone = [id_ for id_ in gone if id_ not in {row.id for row in _certificate_users_of_steps(using, OverwriteObjects)}]
    if any(references_of(before[kind][id_]) for kind in (Listener, Pool) for id_ in gone if id_ in before[kind]):  # type: ignore[arg-type]
        connection.execute(delete(_certificate_use).where(is_in_list(_certificate_use.c.owner_id, gone)))


def _certificate_users_of_steps(
    steps: Iterable[Step], kind: type[InsertObjects | OverwriteObjects]
) -> Iterator[CertificateUser]:
    for step in steps:
        if isinstance(step, kind):
            yield from step.rows  # type: ignore[misc]
