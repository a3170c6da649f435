"""Change indicator: one small statement whose result shows whether data on which the scheduler decides may have
changed.
"""

from sqlalchemy import ColumnElement, Connection, case, exists, false, func, or_, select

from evenkeel.core.control.scheduling import ChangeIndicator
from evenkeel.core.placement.reach import UNWATCHED_SECONDS
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.scheduling.silence import _IS_KEEPALIVE_LATE

_agent, _shard, _load_balancer = schema.agent, schema.shard, schema.load_balancer

SETTLED_SECONDS = UNWATCHED_SECONDS + 10.0
"""Time without a change of an agent's row after which time alone leads to no decision about the agent, except for the
expiry of its session.
"""


def _count_where(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


_IS_AGENT_LIVE = is_live()
_changed_lately = or_(
    _agent.c.session_started_at > db_now() - SETTLED_SECONDS,
    _agent.c.sight_since > db_now() - SETTLED_SECONDS,
    ~_IS_AGENT_LIVE & (_agent.c.session_expires_at > db_now() - SETTLED_SECONDS),
)
_READ_INDICATOR = select(
    db_now().label("now"),
    # expired, but not ended
    _count_where(_changed_lately | (_agent.c.session_id.is_not(None) & ~_IS_AGENT_LIVE)).label("unsettled"),
    exists().where(_shard.c.acting_agent_id.is_(None)).label("unserved"),
    exists().where(_shard.c.handover_to.is_not(None)).label("in_handover"),
    exists().where(_load_balancer.c.shard_id.is_(None), _load_balancer.c.deleted == false()).label("unplaced"),
    # For the failure detector only; it is not among the marks, because a single lost keepalive would change them.
    _count_where(_IS_AGENT_LIVE & _IS_KEEPALIVE_LATE),
    func.count(_agent.c.id),
    _count_where(_IS_AGENT_LIVE),
    _count_where(_agent.c.admin_state_up),
    _count_where(_agent.c.forced_down),
    _count_where(_agent.c.failback_asked),
    func.count(_agent.c.silent_since),
    func.count(_agent.c.reachable_devices),
    func.coalesce(func.sum(_agent.c.reachable_devices), 0),
    func.coalesce(func.sum(_agent.c.assignments_revision), 0),
    func.coalesce(func.max(_agent.c.session_started_at), 0.0),
    func.coalesce(func.max(_agent.c.sight_since), 0.0),
)


def read_change_indicator(connection: Connection) -> ChangeIndicator:
    """Read the change indicator by one statement: a scan of the agents, and three look-ups by index."""
    now, *rest = connection.execute(_READ_INDICATOR).one()
    restless, late, marks = rest[:4], rest[4], rest[5:]
    return ChangeIndicator(
        now_seconds=float(now), calm=not any(restless), marks=tuple(float(mark) for mark in marks), late=int(late)
    )
