"""Queries of the scheduler's tick: above all, shards that need a decision.

Agents are few and shards many, so all agents are read and evaluated here, and the shards are found by index through the
ids of the agents whose shards must move.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from evenkeel.core.control.scheduling import DueSchedulingWork
from evenkeel.core.placement import CandidateAgents, GroupSnapshot, candidate_agents
from evenkeel.core.placement.reach import group_reachability
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.ownership.agent_views import read_agents_with_groups, time_of_read
from evenkeel.store.ownership.sql import is_handover_overdue
from evenkeel.store.records import schema
from evenkeel.store.scheduling.rules import GroupRules, read_group_rules
from evenkeel.store.scheduling.silence import has_unrecorded_silence

_agent = schema.agent
_shard = schema.shard


def read_due_work(
    connection: Connection, settle_seconds: float, breaker_window_seconds: float, homes: bool
) -> DueSchedulingWork:
    """Return the device groups with a shard that needs a decision, those whose reachable devices changed, and
    whether silent or returned agents, or circuit breakers, have to be recorded. Three queries; four with
    ``homes`` if an operator requested hand-backs.

    ``settle_seconds``: seconds that an agent must be up before it gets its shards back.
    ``breaker_window_seconds``: time in which silent agents count for a circuit breaker. ``homes``: also
    groups with shards to hand back to their home, by a scan of all shards.
    """
    agents = read_agents_with_groups(connection, settle_seconds)
    now = time_of_read(connection, agents)
    if not agents:
        return DueSchedulingWork(now_seconds=now)
    rules, breakers = read_group_rules(connection, agents)
    due = connection.execute(_READ_DUE_GROUPS[homes], candidate_parameters(each.group for each in rules.values()))
    groups = tuple((row.environment, row.group_number) for row in due)
    silence = has_unrecorded_silence(connection, agents, breakers, breaker_window_seconds, homes=homes)
    return DueSchedulingWork(
        now_seconds=now, groups=groups, silence=silence, reach=_groups_with_changed_reach(rules, now)
    )


def _groups_with_changed_reach(rules: Mapping[tuple[str, int], GroupRules], now: float) -> tuple[tuple[str, int], ...]:
    """Return the device groups (environment, number) whose reachable devices differ from the recorded ones."""
    return tuple(
        place for place, each in rules.items() if group_reachability(each.reach, each.group.agents, now) != each.reach
    )


def _needs_decision(*, homes: bool) -> ColumnElement[bool]:
    """Return the SQL condition by which shards of :class:`evenkeel.core.placement.CandidateAgents` need a
    decision. ``homes``: also shards to hand back, and shards of deleted agents, which cannot be found by
    an agent's id.
    """
    acting, home, handover_to = _shard.c.acting_agent_id, _shard.c.home_agent_id, _shard.c.handover_to
    free = handover_to.is_(None)
    unserved = or_(acting.is_(None), is_in_bound_list(acting, "b_not_acting"))
    overdue = and_(is_handover_overdue(), is_in_bound_list(acting, "b_movable"))
    terms = [
        and_(unserved, is_in_bound_list(home, "b_takeable")),
        and_(free, is_in_bound_list(acting, "b_leaving")),
        and_(handover_to.is_not(None), or_(is_in_bound_list(handover_to, "b_not_receiving"), overdue)),
    ]
    if homes:
        known = select(_agent.c.id)
        terms.append(and_(free, is_in_bound_list(home, "b_returning"), home != acting))
        # A deleted agent is in no list of ids, so its shards are found only by what they lack.
        terms.append(and_(unserved, home.not_in(known)))
        terms.append(or_(acting.not_in(known), handover_to.not_in(known)))
    return or_(*terms)


NEEDS_DECISION = {homes: _needs_decision(homes=homes) for homes in (False, True)}
"""{homes: SQL condition that a shard needs a decision}. Parameters: :func:`candidate_parameters`.

Shards that need a decision are unserved shards that an agent can take, shards that must leave their acting agent, and
shards whose handover must be cancelled. ``homes`` True adds shards to hand back to their
home and shards whose agents were deleted, by a scan of the index of all shards.
"""

_READ_DUE_GROUPS = {
    homes: select(_shard.c.environment, _shard.c.group_number)
    .where(due)
    .distinct()
    .order_by(_shard.c.environment, _shard.c.group_number)
    for homes, due in NEEDS_DECISION.items()
}


def candidate_parameters(groups: Iterable[GroupSnapshot]) -> dict[str, list[str]]:
    """Return the parameters of ``NEEDS_DECISION``: {parameter: ids of the groups' agents whose shards may
    need a decision for that reason}.
    """
    found: dict[str, list[str]] = {f"b_{name}": [] for name in CandidateAgents.__struct_fields__}
    for group in groups:
        named = candidate_agents(group)
        for name in CandidateAgents.__struct_fields__:
            found[f"b_{name}"] += getattr(named, name)
    return found
