"""Stores iRules of operators on listeners of a partition that was adopted from another program."""

from sqlalchemy import Connection

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.protocol.messages import KeepIrules
from evenkeel.core.resources.model import Listener
from evenkeel.core.resources.operator_irules import irules_problem
from evenkeel.store.engine.base import Op
from evenkeel.store.ownership.services import check_shard_owner
from evenkeel.store.records.rows import KINDS, LISTENER, columns_from_attributes
from evenkeel.store.tenants.updates import update_child_row
from evenkeel.store.writing import revision_lock
from evenkeel.store.writing.revision_lock import WriteTarget, build_change
from evenkeel.store.writing.tenant_writes import TenantWrites


def keep_irules(writes: TenantWrites, call: KeepIrules) -> Op[tuple[Change, ...]]:
    """Return an operation that stores the iRules that an adoption keeps on listeners of a shard, and returns
    the changes of their load balancers.

    The load balancers may have any status: while their partition is another program's, each one is PENDING.
    Raises :class:`Conflict` for a listener that the shard does not have, and for iRules that are not allowed;
    :class:`SessionLost` unless the agent owns the shard.
    """

    def run_transaction(connection: Connection) -> tuple[Change, ...]:
        check_shard_owner(connection, call.agent_id, call.session_id, call.shard_id, call.epoch)
        return tuple(_store_irules(connection, writes, call, one.listener_id, one.irules) for one in call.listeners)

    return run_transaction


def _store_irules(
    connection: Connection, writes: TenantWrites, call: KeepIrules, listener_id: str, irules: tuple[str, ...]
) -> Change:
    if problem := irules_problem(irules):
        raise Conflict(f"listener {listener_id}: {problem}")
    target = WriteTarget(KINDS[Listener], listener_id, None)
    deadline = writes.options.pending_deadline_seconds
    locked = revision_lock.try_lock_load_balancer(connection, target, deadline_seconds=deadline)
    if locked is None or locked.row.shard_id != call.shard_id:
        raise Conflict(f"listener {listener_id} is none of shard {call.shard_id}")
    update_child_row(connection, LISTENER, listener_id, columns_from_attributes({"operator_irules": irules}), locked)
    return build_change(connection, locked.row, ())
