"""Outcomes of networks that projects share, which a device group's common shard serves."""

from sqlalchemy import ColumnElement, Connection, select

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.networks import common
from evenkeel.store.networks.network_attachment import lock_group_of_shard, users_of_network_query
from evenkeel.store.ownership.shards import UNCONFIRMED_STATUSES
from evenkeel.store.ownership.sql import is_current_session
from evenkeel.store.records import schema
from evenkeel.store.writing.revision_lock import read_changes

_shard = schema.shard
_load_balancer = schema.load_balancer

WAITING_LOAD_BALANCERS_MAX = 1_000
"""Maximum number of load balancers notified at once that a network is ready; all others continue at their next
retry.
"""


def record_network_outcomes(connection: Connection, report: ReportApplied) -> tuple[Change, ...] | None:
    """Write the outcomes of shared networks; return the changes of unconfirmed load balancers on these
    networks, at most :data:`WAITING_LOAD_BALANCERS_MAX`, which may have waited for them. None: the report's agent does
    not own the common shard.
    """
    lock_group_of_shard(connection, report.shard_id)
    shard = connection.execute(
        select(_shard.c.environment, _shard.c.group_number)
        .where(
            _shard.c.id == report.shard_id,
            _shard.c.project_id == COMMON_PROJECT,
            _shard.c.acting_agent_id == report.agent_id,
            _shard.c.epoch == report.epoch,
            is_current_session(report.agent_id, report.session_id),
        )
        .with_for_update(read=True)
    ).first()
    if shard is None:
        return None
    tried = [one for one in report.outcomes if not one.waiting]
    applied: dict[str, int] = {one.load_balancer_id: one.revision for one in tried if not one.error}
    reasons: dict[str, tuple[int, str]] = {
        one.load_balancer_id: (one.revision, one.error) for one in tried if one.error
    }
    news = common.record_confirmed_network_revisions(connection, report.shard_id, applied)
    news |= common.record_refused_network_revisions(connection, report.shard_id, reasons)
    here = _shard.c.environment == shard.environment, _shard.c.group_number == shard.group_number
    waiting: list[str] = []
    for network_id in sorted(news):
        users = users_of_network_query(network_id).where(
            _load_balancer.c.shard_id.in_(select(_shard.c.id).where(*here)),
            _load_balancer.c.provisioning_status.in_(UNCONFIRMED_STATUSES),
        )
        waiting += connection.scalars(users.limit(WAITING_LOAD_BALANCERS_MAX - len(waiting)))
    these: ColumnElement[bool] = is_in_list(_load_balancer.c.id, waiting)
    return read_changes(connection, these) if waiting else ()
