"""Random device groups as rows: agents in every state, shards in every relation to them, every setting."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from evenkeel.core.kit.values import Value
from evenkeel.core.placement import AgentSnapshot, GroupSnapshot, ShardSnapshot, handover_overdue
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.ownership.agent_views import read_agents_with_groups
from evenkeel.store.records import schema
from evenkeel.store.scheduling.rules import read_group_rules
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.conftest import empty

T = TypeVar("T")

SETTLE_SECONDS = 60.0
TTL_SECONDS = 2_000.0
AGENTS = ("a", "b", "c")
DELETED = "deleted"
"""An agent that shards name and that is not there any more."""
ANY_TIME = (-1_000.0, -2.0, 1_000.0)
"""Seconds from the database's time: long ago and just now, far from every limit; and written before that clock was set
back."""


class AgentRow(Value):
    """An agent, by default one that is up; times are seconds from the database's time."""

    id: str
    session: bool = True
    started: float = -1_000.0
    expires: float = 1_000.0
    admin_state_up: bool = True
    forced_down: bool = False
    failback_asked: bool = False
    reachable_devices: int | None = 2
    reachable_since: float | None = -1_000.0
    reported: float = -2.0


TROUBLES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"expires": -2.0},
    {"expires": -1_000.0},
    {"expires": 10_000.0},
    {"session": False},
    {"admin_state_up": False},
    {"admin_state_up": False},
    {"forced_down": True},
    {"started": -2.0},
    {"started": 1_000.0},
    {"failback_asked": True},
    {"reachable_devices": 1},
    {"reachable_devices": 1},
    {"reachable_devices": 0},
    {"reachable_devices": None},
    {"reachable_since": -2.0},
    {"reachable_since": 1_000.0},
    {"reachable_since": None},
    {"reported": -1_000.0},
)
"""What may be otherwise with an agent."""


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


def _agent(random: Random, id_: str) -> AgentRow:
    troubles = random.choice(((), (), *((trouble,) for trouble in TROUBLES), random.sample(TROUBLES, 2)))
    return AgentRow(**{"id": id_} | {name: value for trouble in troubles for name, value in trouble.items()})


def _shard(random: Random) -> ShardRow:
    first, second, third = random.sample(AGENTS, 3)
    home = random.choice((first,) * 6 + (DELETED,))
    acting = random.choice((first, first, second, second, None, DELETED))
    if random.random() < 0.7:
        return ShardRow(home=home, acting=acting, handover_to=None, handover_at=None)
    to = random.choice((first, second, third, DELETED))
    return ShardRow(home=home, acting=acting, handover_to=to, handover_at=random.choice((None, *ANY_TIME)))


def _rows(seed: int) -> Rows:
    """Drawn evenly: what Hypothesis draws by itself is mostly alike, and the rule needs several things at once."""
    random = Random(seed)
    return Rows(
        agents=tuple(_agent(random, id_) for id_ in AGENTS if random.random() < 0.9),
        shards=tuple(_shard(random) for _ in range(random.randint(1, 5))),
        reschedule=random.choice((*(RescheduleMode.CONTROL,) * 4, *RescheduleMode)),
        failback=random.choice((FailbackMode.AUTO, *FailbackMode)),
        halted=random.random() < 0.2,
    )


rows = st.integers(0, 2**32 - 1).map(_rows)


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
    insert_rows(connection, schema.agent, [_agent_row(agent, now) for agent in group.agents])
    insert_rows(
        connection, schema.shard, [_shard_row(str(number), each, now) for number, each in enumerate(group.shards)]
    )


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
    agents = read_agents_with_groups(connection, SETTLE_SECONDS, loads=True)
    rules, _ = read_group_rules(connection, agents)
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
