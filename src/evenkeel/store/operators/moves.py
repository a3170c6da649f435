"""Permanent changes of home agents: shards rebound to another agent, and agents deleted.

Both lock the environment's row first, as registrations do, which serializes them. A handover in progress continues,
unless the agent that is to receive the shard is deleted: then the handover is cancelled.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, or_, select, update

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.shards import Shard
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import AgentId, ShardId
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.operators.agents import read_agent, read_agents
from evenkeel.store.operators.reads import read_shard
from evenkeel.store.ownership.former_agents import store_keepalive_count
from evenkeel.store.ownership.sql import FREED_SHARD_VALUES, is_live, mark_assignments_changed
from evenkeel.store.records import schema
from evenkeel.store.writing.operator_actions import record_operator_action_event

_agent, _shard, _environment = schema.agent, schema.shard, schema.environment

MAX_AGENTS_NAMED = 10
NO_LOAD_BALANCER_COUNTS: Mapping[str, int] = {}
"""Argument ``home_counts`` of :func:`read_agents` where the numbers of load balancers do not matter."""


def _lock_agent(connection: Connection, agent_id: AgentId) -> Agent:
    """Lock the agent's environment until the transaction ends, and return the agent. Raises
    :class:`NotFound`.
    """
    environment = select(_agent.c.environment).where(_agent.c.id == agent_id).scalar_subquery()
    connection.execute(select(_environment.c.name).where(_environment.c.name == environment).with_for_update())
    return read_agent(connection, agent_id)


def _agent_to_rebind_to(connection: Connection, agent: Agent, successor_id: str, field: str) -> Agent:
    """Return the agent of the same device group that takes over the shards of ``agent``. ``field``: request
    field with its id, for the text of :class:`Conflict`, which is raised if no other agent of the group
    has this id.
    """
    group = read_agents(connection, NO_LOAD_BALANCER_COUNTS, agent.environment, agent.group_number)
    others = [each for each in group if each.id != agent.id]
    return _agent_with_id(
        others, successor_id, field, f"another agent of device group {agent.environment}/{agent.group_number}"
    )


def _agent_with_id(agents: Sequence[Agent], agent_id: str, field: str, what: str) -> Agent:
    """Return the agent with the id ``agent_id``. Raises :class:`Conflict` if there is none, whose text names
    some of the existing agents.
    """
    for agent in agents:
        if agent.id == agent_id:
            return agent
    named = ", ".join(f"{agent.id} ({agent.host})" for agent in agents[:MAX_AGENTS_NAMED])
    raise Conflict(
        f"Invalid input for field/attribute {field}. Value: '{agent_id[:64]}'. Value should be {what}:"
        f" {named or 'there is none'}."
    )


# -- rebind


def rebind_agent(connection: Connection, agent_id: AgentId, to_agent_id: str) -> int:
    """Make another agent the home of all shards whose home is ``agent_id``, and record the operator's act
    unless there are none; return their number.

    Raises :class:`NotFound`, :class:`Conflict` naming the field ``to`` if no other agent of the group has
    this id.
    """
    agent = _lock_agent(connection, agent_id)
    successor = _agent_to_rebind_to(connection, agent, to_agent_id, "to")
    moved = _rebind_shards(connection, agent, successor.id)
    if moved:
        record_operator_action_event(
            connection,
            kind="agent_rebound",
            done=f"{_shard_count_text(moved)} of {agent.title} {_was_or_were(moved)} rebound to {successor.title}",
            environment=agent.environment,
            agent_id=agent_id,
        )
    return moved


def rebind_shard(connection: Connection, shard_id: ShardId, to_agent_id: str) -> Shard:
    """Make another agent the home of the shard, record the operator's act, and return the shard; nothing
    happens if it is the home already. Raises :class:`NotFound`, :class:`Conflict` naming the field ``to``
    if no agent of the shard's device group has this id.
    """
    environment = select(_shard.c.environment).where(_shard.c.id == storable_text(shard_id)).scalar_subquery()
    connection.execute(select(_environment.c.name).where(_environment.c.name == environment).with_for_update())
    shard = read_shard(connection, shard_id)
    group = f"{shard.environment}/{shard.group_number}"
    agents = read_agents(connection, NO_LOAD_BALANCER_COUNTS, shard.environment, shard.group_number)
    home = _agent_with_id(agents, to_agent_id, "to", f"an agent of device group {group}")
    if home.id == shard.home_agent_id:
        return shard
    connection.execute(update(_shard).where(_shard.c.id == shard.id).values(home_agent_id=home.id))
    record_operator_action_event(
        connection,
        kind="shard_rebound",
        done=f"the shard of project {shard.project_id or '(common)'} on device group {group} was rebound to"
        f" {home.title}",
        environment=shard.environment,
        shard_id=shard.id,
        agent_id=home.id,
    )
    return read_shard(connection, shard_id)


def _rebind_shards(connection: Connection, agent: Agent, successor_id: str) -> int:
    """Make the agent ``successor_id`` the home of all shards whose home is ``agent``; return their number."""
    changed = connection.execute(
        update(_shard)
        .where(_shard.c.home_agent_id == agent.id, _shard.c.environment == agent.environment)
        .values(home_agent_id=successor_id)
    )
    return changed.rowcount


def _shard_count_text(count: int) -> str:
    return f"{count} shard{'' if count == 1 else 's'}"


def _was_or_were(count: int) -> str:
    return "was" if count == 1 else "were"


# -- delete


def delete_agent(connection: Connection, agent_id: AgentId, rebind_to: str | None = None) -> None:
    """Delete an agent, free the shards for which it acts, and make another agent of the group the home of its
    shards: ``rebind_to`` or, for None, any; without another agent the shards stay as they are. Records the
    operator's act.

    Raises :class:`NotFound`; :class:`Conflict` while the agent is alive, while it is home to load balancers
    and ``rebind_to`` is None, or if no other agent of the group has the id ``rebind_to``.
    """
    agent = _lock_agent(connection, agent_id)
    if agent.alive:
        raise _still_alive_conflict(agent_id)
    # Also without a request: a shard whose home no longer exists would have to be searched by scanning all shards.
    successor = _first_agent_to_rebind_to(connection, agent)
    if rebind_to is not None:
        successor = _agent_to_rebind_to(connection, agent, rebind_to, "rebind_to")
    elif agent.load_balancers:
        raise _still_home_conflict(agent)
    # its empty shards stay even without a successor: their epochs must keep growing, because the devices' guards hold
    # them
    moved = _rebind_shards(connection, agent, successor.id) if successor is not None else 0
    _free_acting_shards(connection, agent)
    # Before the row goes, because it holds the count.
    store_keepalive_count(connection, agent_id)
    # a keepalive may revive the session meanwhile; then this transaction is rolled back
    deleted = connection.execute(
        delete(_agent).where(_agent.c.id == agent_id, or_(_agent.c.session_id.is_(None), ~is_live()))
    )
    if not deleted.rowcount:
        raise _still_alive_conflict(agent_id)
    rebound = (
        f"; {_shard_count_text(moved)} {_was_or_were(moved)} rebound to {successor.title}"
        if moved and successor
        else ""
    )
    record_operator_action_event(
        connection,
        kind="agent_deleted",
        done=f"{agent.title} was deleted",
        details=rebound,
        environment=agent.environment,
        agent_id=agent_id,
    )


def _still_alive_conflict(agent_id: AgentId) -> Conflict:
    return Conflict(f"Agent {agent_id} is alive: stop it first.")


def _still_home_conflict(agent: Agent) -> Conflict:
    bound = f"{agent.load_balancers} load balancer{'' if agent.load_balancers == 1 else 's'}"
    return Conflict(
        f"Agent {agent.id} is home to {bound}. Name the agent that is to be their home from now on (rebind_to,"
        " --rebind-to); or drain this one, which only lets others serve them for a time; or start it again."
    )


def _first_agent_to_rebind_to(connection: Connection, agent: Agent) -> Agent | None:
    """Return another agent of the agent's device group, preferably a live one; None if there is none."""
    group = read_agents(connection, NO_LOAD_BALANCER_COUNTS, agent.environment, agent.group_number)
    others = sorted((each for each in group if each.id != agent.id), key=lambda each: (not each.alive, each.id))
    return next(iter(others), None)


def _free_acting_shards(connection: Connection, agent: Agent) -> None:
    """Free the shards for which a deleted agent acted. Owners that were to hand over shards to the deleted agent keep
    them, and request their assignments again.
    """
    connection.execute(update(_shard).where(_shard.c.acting_agent_id == agent.id).values(**FREED_SHARD_VALUES))
    givers = connection.scalars(
        select(_shard.c.acting_agent_id).where(_shard.c.handover_to == agent.id).distinct()
    ).all()
    if givers:
        connection.execute(
            update(_shard).where(_shard.c.handover_to == agent.id).values(handover_to=None, handover_at=None)
        )
        mark_assignments_changed(connection, givers)
