"""Random device groups as rows: agents in every state, shards in every relation to them, every setting."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from evenkeel.core.placement import AgentSnapshot, GroupSnapshot, ShardSnapshot, handover_overdue
from evenkeel.core.statuses import FailbackMode, RescheduleMode
from evenkeel.core.values import Value
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership.agent_views import read_agents
from evenkeel.store.records import schema
from evenkeel.store.scheduling.due_shards import read_rules
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.conftest import empty

T = TypeVar("T")

SETTLE_SECONDS = 60.0
TTL_SECONDS = 20.0
AGENTS = ("a", "b", "c", "d")
DELETED = "deleted"
"""An agent that shards name and that is not there any more."""
BEFORE = (-1_000.0, -2.0)
"""Seconds from the database's time: long ago and just now, far from every limit."""
ANY_TIME = (*BEFORE, 1_000.0)
"""1000: written before the database's clock was set back."""


class AgentRow(Value):
    """An agent; times are seconds from the database's time."""

    id: str
    session: bool
    started: float
    expires: float
    admin_state_up: bool
    forced_down: bool
    failback_asked: bool
    reachable_devices: int | None
    reachable_since: float | None
    reported: float


class ShardRow(Value):
    """A shard."""

    home: str
    acting: str | None
    handover_to: str | None
    handover_at: float | None


class Rows(Value):
    """One device group: number 1 of environment ``prod``."""

    agents: tuple[AgentRow, ...]
    shards: tuple[ShardRow, ...]
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    failback: FailbackMode = FailbackMode.AUTO
    halted: bool = False


def _agent(id_: str) -> st.SearchStrategy[AgentRow]:
    mostly = st.sampled_from((True, True, True, False))
    return st.builds(
        AgentRow,
        id=st.just(id_),
        session=mostly,
        started=st.sampled_from(ANY_TIME),
        expires=st.sampled_from((10.0, 10.0, 10.0, *ANY_TIME)),
        admin_state_up=mostly,
        forced_down=mostly.map(lambda value: not value),
        failback_asked=st.booleans(),
        reachable_devices=st.sampled_from((None, 0, 1, 2, 2)),
        reachable_since=st.sampled_from((None, *ANY_TIME)),
        reported=st.sampled_from(BEFORE),
    )


somebody = st.sampled_from((*AGENTS, DELETED))
nobody_else = st.one_of(st.none(), st.none(), somebody)
shard_rows = st.builds(
    ShardRow,
    home=somebody,
    acting=st.one_of(somebody, somebody, st.none()),
    handover_to=nobody_else,
    handover_at=st.sampled_from((None, *ANY_TIME)),
)
rows = st.builds(
    Rows,
    agents=st.sets(st.sampled_from(AGENTS)).flatmap(lambda ids: st.tuples(*(_agent(id_) for id_ in sorted(ids)))),
    shards=st.lists(shard_rows, min_size=1, max_size=5).map(tuple),
    reschedule=st.sampled_from((RescheduleMode.CONTROL, *RescheduleMode)),
    failback=st.sampled_from(FailbackMode),
    halted=st.sampled_from((False, False, True)),
)


class RuleWorld:
    """A database on SQLite that holds one random device group at a time."""

    def __init__(self, store: SqlStore, runner: asyncio.Runner) -> None:
        self.store = store
        self._runner = runner

    def run(self, work: Awaitable[T]) -> T:
        """Wait for it."""

        async def wait() -> T:
            return await work

        return self._runner.run(wait())

    def read(self, op: Callable[[Connection], T]) -> T:
        """Look at the database."""
        return self.run(self.store.database.read(op))

    def write(self, op: Callable[[Connection], T]) -> T:
        """Change the database."""
        return self.run(self.store.database.write(op))

    def fill(self, group: Rows) -> None:
        """Let the database hold this and nothing else. Shards have their place in the list as id, and epoch 4."""
        self.write(lambda connection: _fill(connection, group))

    def everything(self) -> GroupSnapshot:
        """The device group with all its shards: what the rule would see if reading cost nothing."""
        return self.read(_everything)


def _fill(connection: Connection, group: Rows) -> None:
    empty(connection)
    now = connection.scalar(select(db_now())) or 0.0
    environment = {"failback": group.failback.value, "halted_at": now if group.halted else None}
    connection.execute(
        insert(schema.environment).values(name="prod", device_driver="noop", created_at=0.0, **environment)
    )
    place = {
        "environment": "prod",
        "number": 1,
        "endpoints": "[]",
        "reschedule": group.reschedule.value,
        "created_at": 0.0,
    }
    connection.execute(insert(schema.device_group).values(device_driver="noop", ha_type="pair", **place))
    for agent in group.agents:
        connection.execute(insert(schema.agent).values(**_agent_row(agent, now)))
    for number, shard in enumerate(group.shards):
        connection.execute(insert(schema.shard).values(**_shard_row(str(number), shard, now)))


def _agent_row(agent: AgentRow, now: float) -> dict[str, Any]:
    since = agent.reachable_since
    return {
        "id": agent.id,
        "environment": "prod",
        "group_number": 1,
        "host": agent.id,
        "device_driver": "noop",
        "ha_type": "pair",
        "session_id": f"session-{agent.id}" if agent.session else None,
        "session_started_at": now + agent.started,
        "session_expires_at": now + agent.expires,
        "session_ttl_seconds": TTL_SECONDS,
        "admin_state_up": agent.admin_state_up,
        "forced_down": agent.forced_down,
        "failback_asked": agent.failback_asked,
        "reachable_devices": agent.reachable_devices,
        "sight_since": None if since is None else now + since,
        "reported_at": now + agent.reported,
        "created_at": 0.0,
    }


def _shard_row(id_: str, shard: ShardRow, now: float) -> dict[str, Any]:
    return {
        "id": id_,
        "environment": "prod",
        "group_number": 1,
        "project_id": f"project-{id_}",
        "home_agent_id": shard.home,
        "acting_agent_id": shard.acting,
        "epoch": 4,
        "handover_to": shard.handover_to,
        "handover_at": None if shard.handover_at is None else now + shard.handover_at,
        "created_at": 0.0,
    }


def _everything(connection: Connection) -> GroupSnapshot:
    agents = read_agents(connection, SETTLE_SECONDS, loads=True)
    rules, _ = read_rules(connection, agents)
    shards = connection.execute(select(schema.shard, db_now().label("now")).order_by(schema.shard.c.id))
    group = rules["prod", 1].group
    return GroupSnapshot(
        shards=tuple(shard_view(row) for row in shards),
        agents=group.agents,
        reschedule=group.reschedule,
        failback=group.failback,
        halted=group.halted,
    )


def shard_view(row: Any) -> ShardSnapshot:
    """Of a row with ``now``."""
    return ShardSnapshot(
        id=row.id,
        home=row.home_agent_id,
        acting=row.acting_agent_id,
        epoch=row.epoch,
        handover_to=row.handover_to,
        overdue=handover_overdue(row.handover_to, row.handover_at, now=row.now),
    )


def by_id(group: GroupSnapshot) -> dict[str, AgentSnapshot]:
    """The group's agents."""
    return {agent.id: agent for agent in group.agents}


@pytest.fixture(name="rule_world", scope="module")
def rule_world_fixture(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuleWorld]:
    """One database for all examples of a module."""
    path = tmp_path_factory.mktemp("rule") / "store.db"
    shutil.copy(sqlite_template, path)
    with asyncio.Runner() as runner:

        async def opened() -> SqlStore:
            return open_store(f"sqlite:///{path}")

        store = runner.run(opened())
        yield RuleWorld(store, runner)
        runner.run(store.close())
