"""A database with environments, agents and load balancers for the ownership tests, on each kind of database."""

import contextlib
import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine, event, insert, select, text, update
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.placement import AssignStep
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import Keepalive, Register, ReportApplied, ReportReceipt, SessionState
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, Vip
from evenkeel.core.resources.statuses import HaType, ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.database import Database, open_database
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.operators.store import SqlOperators
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.writing.certificates import certificate_id
from tests.store.conftest import empty
from tests.waiting import eventually

TTL_SECONDS = 600.0
"""No session expires by itself while a test runs: see :meth:`World.expire`."""

TABLES = {
    LoadBalancer: schema.load_balancer,
    Listener: schema.listener,
    Pool: schema.pool,
    Member: schema.member,
    HealthMonitor: schema.health_monitor,
}

WAITING = {
    "postgresql": (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ),
    "mariadb": (
        "SELECT count(*) FROM information_schema.innodb_trx AS t"
        " JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
        " WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()"
    ),
}
LOCK_POLL_SECONDS = 0.25
"""MariaDB renews ``innodb_trx`` only for a query that comes 0.1 s or more after the last one, whoever sent that."""


class World:
    """The store under test, and ways to set the scene and to look behind it."""

    def __init__(self, url: str, other_url: str | None = None) -> None:
        self.url = url
        self._urls = itertools.cycle((other_url or url, url))
        self.db = open_database(url)
        self.store = SqlStore(self.db, StoreOptions(pending_deadline_seconds=100.0))
        self._others: list[Database] = []

    async def start(self) -> None:
        await self.db.write(empty)
        await self.environment("east")

    async def close(self) -> None:
        for database in (self.db, *self._others):
            await database.close()

    def another_controller(self) -> SqlStore:
        """The same database as another process sees it; on a cluster, by each node in turn."""
        database = open_database(next(self._urls))
        self._others.append(database)
        return SqlStore(database, StoreOptions(pending_deadline_seconds=100.0))

    @property
    def operator(self) -> SqlOperators:
        """What operators see, on the same database."""
        return self.store.operators

    async def live(self, agent_id: str) -> bool:
        """The agent's session stands."""
        return agent_id in {session.agent_id for session in await self.store.scheduling.read_live_sessions()}

    # -- scenes

    async def environment(self, name: str, driver: str = "bigip") -> None:
        row = {"name": name, "device_driver": driver, "created_at": db_now()}
        await self.db.write(lambda c: c.execute(insert(schema.environment).values(**row)))

    async def agent(self, agent_id: str, **changes: Any) -> SessionState:
        return await self.store.ownership.register(registration(agent_id, **changes), ttl_seconds=TTL_SECONDS)

    async def expire(self, agent_id: str) -> None:
        """The agent's session has ended by time."""
        await self.change(schema.agent, agent_id, session_expires_at=db_now() - 1.0)

    async def settle(self, agent_id: str) -> None:
        """The agent has been live for an hour."""
        await self.change(schema.agent, agent_id, session_started_at=db_now() - 3600.0)

    async def tenant(self, project_id: str = "p1", *, home: str = "a1", number: int = 1) -> ShardOwner:
        """A placed load balancer of a tenant; returns the owner of the shard."""
        load_balancer = await self.load_balancer(project_id=project_id)
        placement = await self.store.scheduling.place_load_balancer(load_balancer.id, "east", project_id, number, home)
        assert placement is not None
        return placement.owner

    async def load_balancer(self, **changes: Any) -> LoadBalancer:
        load_balancer = root(**changes)
        await self.add(load_balancer)
        return load_balancer

    async def placed_trees(self, number: int) -> list[LoadBalancer]:
        """Placed load balancers of one tenant with one of each kind below each, stored in one transaction."""
        roots = [root() for _ in range(number)]
        await self.add(*roots, *(each for load_balancer in roots for each in below(load_balancer)[1]))
        for load_balancer in roots:
            await self.store.scheduling.place_load_balancer(load_balancer.id, "east", load_balancer.project_id, 1, "a1")
        return roots

    async def add(self, *objects: Any) -> None:
        """Store tenant objects as they are."""

        def store(connection: Any) -> None:
            # in the order given, for children name their parents
            for kind, some in itertools.groupby(objects, type):
                insert_rows(connection, TABLES[kind], [row_from_resource(each) for each in some])

        await self.db.write(store)

    async def tree(self, load_balancer: LoadBalancer, *, revision: int = 1) -> dict[str, str]:
        """One of each kind below the load balancer; their ids by kind."""
        ids, objects = below(load_balancer, revision)
        await self.add(*objects)
        return ids

    async def certificate(
        self,
        load_balancer: LoadBalancer,
        reference: str,
        *,
        kind: str = "certificate",
        owner_id: str = "listener-1",
        facts: CertificateFacts | None = None,
    ) -> str:
        """A reference that something of the load balancer has; the id of its row."""
        id_ = certificate_id(load_balancer.project_id, reference, CertificateKind(kind))
        row: dict[str, Any] = {"id": id_, "project_id": load_balancer.project_id, "reference": reference, "kind": kind}
        row |= {"sha256": "a" * 64, "announced_sha256": "a" * 64, "problem": ""}
        row |= {"checked_at": db_now(), "next_check_at": db_now()}
        row["facts"] = None if facts is None else msgspec.json.encode(facts).decode()
        use = {"owner_id": owner_id, "certificate_id": id_, "load_balancer_id": load_balancer.id}
        await self.db.write(lambda c: insert_if_absent(c, schema.certificate, row))
        await self.db.write(lambda c: c.execute(insert(schema.certificate_use).values(**use)))
        return id_

    async def now(self) -> float:
        """The database's time."""
        due_work = await self.store.scheduling.read_due_work(
            settle_seconds=0.0, breaker_window_seconds=0.0, homes=False
        )
        return due_work.now_seconds

    async def change(self, table: Any, id_: str, **values: Any) -> None:
        await self.db.write(lambda c: c.execute(update(table).where(table.c.id == id_).values(**values)))

    async def tenant_changes(self, load_balancer_id: str, **values: Any) -> None:
        """The API accepted a change: a newer revision is pending."""
        table = schema.load_balancer
        status = ProvisioningStatus.PENDING_UPDATE.value
        changes = {"provisioning_status": status, "pending_deadline": db_now() + 100.0} | values
        await self.change(table, load_balancer_id, revision=table.c.revision + 1, **changes)

    async def placed(self, *, home: str = "a1", group_number: int = 1, **changes: Any) -> LoadBalancer:
        """A load balancer in the tenant's shard of the group."""
        load_balancer = await self.load_balancer(**changes)
        await self.store.scheduling.place_load_balancer(
            load_balancer.id, "east", load_balancer.project_id, group_number, home
        )
        return load_balancer

    async def report(self, *outcomes: Applied, agent_id: str = "a1", project_id: str = "p1") -> ReportReceipt:
        """The owner of the tenant's shard reports, at the shard's epoch."""
        shard = await self.shard_of(project_id)
        report = ReportApplied(
            agent_id=agent_id,
            session_id=f"session-of-{agent_id}",
            shard_id=shard.id,
            epoch=shard.epoch,
            outcomes=outcomes,
        )
        return await self.store.reports.record_applied(report)

    # -- looks

    async def row(self, table: Any, id_: str) -> Any:
        return await self.db.read(lambda c: c.execute(select(table).where(table.c.id == id_)).first())

    async def rows(self, table: Any) -> list[Any]:
        return await self.db.read(lambda c: list(c.execute(select(table))))

    async def load_balancer_row(self, id_: str) -> Any:
        return await self.row(schema.load_balancer, id_)

    async def shard(self, shard_id: str) -> Any:
        return await self.row(schema.shard, shard_id)

    async def shard_of(self, project_id: str, number: int = 1) -> Any:
        found = [
            row for row in await self.rows(schema.shard) if (row.project_id, row.group_number) == (project_id, number)
        ]
        return found[0] if found else None

    async def assignments_revision(self, agent_id: str) -> int:
        return int((await self.row(schema.agent, agent_id)).assignments_revision)

    async def events(self, *kinds: str) -> list[Any]:
        """Events of those kinds, or all, oldest first."""
        found = sorted(await self.rows(schema.event), key=lambda row: row.id)
        return [row for row in found if not kinds or row.kind in kinds]

    async def until_a_lock_is_waited_for(self) -> None:
        """On a server: wait until a statement of this database is blocked by another transaction."""
        query = text(WAITING[self.db.sync_engines()[0].dialect.name])

        async def is_blocked() -> bool:
            return bool(await self.db.read(lambda c: c.scalar(query)))

        await eventually(is_blocked, every_seconds=LOCK_POLL_SECONDS)


def root(**changes: Any) -> LoadBalancer:
    id_ = changes.pop("id", None) or str(uuid.uuid4())
    values: dict[str, Any] = {
        "project_id": "p1",
        "provider": "east",
        "vip": Vip(address=id_, subnet_id="s1", network_id="n1", port_id="port"),
    }
    return LoadBalancer(id=id_, **(values | changes))


def below(load_balancer: LoadBalancer, revision: int = 1) -> tuple[dict[str, str], tuple[Any, ...]]:
    """One of each kind below the load balancer: their ids by kind, and the objects."""
    common = {"load_balancer_id": load_balancer.id, "project_id": load_balancer.project_id, "revision": revision}
    ids = {kind: f"{kind}-{load_balancer.id}"[:36] for kind in ("listener", "pool", "member", "monitor")}
    return ids, (
        Pool(id=ids["pool"], protocol="HTTP", lb_algorithm="ROUND_ROBIN", **common),
        Listener(id=ids["listener"], protocol="HTTP", protocol_port=80, default_pool_id=ids["pool"], **common),
        Member(id=ids["member"], pool_id=ids["pool"], address="10.0.0.9", protocol_port=80, **common),
        HealthMonitor(id=ids["monitor"], pool_id=ids["pool"], type="HTTP", delay=5, timeout=3, max_retries=2, **common),
    )


def registration(agent_id: str, **changes: Any) -> Register:
    values: dict[str, Any] = {
        "session_id": f"session-of-{agent_id}",
        "environment": "east",
        "group_number": 1,
        "host": f"host-of-{agent_id}",
        "device_driver": "bigip",
        "ha_type": HaType.PAIR,
    }
    number = changes.get("group_number", 1)  # each group has devices of its own
    values["endpoints"] = (f"10.0.{number - 1}.1", f"10.0.{number - 1}.2")
    return Register(agent_id=agent_id, **(values | changes))


def applied(load_balancer_id: str, revision: int = 1, error: str = "") -> Applied:
    return Applied(load_balancer_id=load_balancer_id, revision=revision, error=error)


class Statements(list[str]):
    """What was sent to the database."""

    @property
    def sent(self) -> list[str]:
        return [each for each in self if not each.startswith(("BEGIN", "COMMIT", "ROLLBACK"))]


@contextlib.contextmanager
def statements() -> Iterator[Statements]:
    """Collects all statements of the process."""
    seen = Statements()

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture(name="world")
async def world_fixture(database_url: str, other_database_url: str) -> AsyncIterator[World]:
    """One world on each database."""
    async with started(database_url, other_database_url) as world:
        yield world


@pytest.fixture(name="server_world")
async def server_world_fixture(server_url: str) -> AsyncIterator[World]:
    """A world on a server, for races between transactions that overlap."""
    async with started(server_url) as world:
        yield world


@contextlib.asynccontextmanager
async def started(url: str, other_url: str | None = None) -> AsyncIterator[World]:
    world = World(url, other_url)
    await world.start()
    try:
        yield world
    finally:
        await world.close()


def alive(agent_id: str, session_id: str = "", *, waited_seconds: float = 0.0, **call: Any) -> ArrivedKeepalive:
    """A keepalive of the agent's session."""
    sent = Keepalive(agent_id=agent_id, session_id=session_id or f"session-of-{agent_id}", **call)
    return ArrivedKeepalive(call=sent, waited_seconds=waited_seconds)


@contextlib.asynccontextmanager
async def open_transaction(world: World) -> AsyncIterator[Any]:
    """A transaction on a server that stays open inside the block: ``run(op)`` works in it."""
    kind, _, rest = world.url.partition("://")
    driver = {"postgresql": "postgresql+asyncpg", "mysql": "mariadb+asyncmy"}[kind]
    engine = create_async_engine(f"{driver}://{rest}", poolclass=NullPool, isolation_level="READ COMMITTED")
    try:
        async with engine.begin() as connection:
            yield connection.run_sync
    finally:
        await engine.dispose()


async def assign_one(store: SqlStore, shard_id: str, seen_epoch: int, agent_id: str) -> ShardOwner | None:
    """Try one takeover. Its new owner; None if it failed."""
    owners = await store.scheduling.assign_shards(
        [AssignStep(shard_id=shard_id, seen_epoch=seen_epoch, agent_id=agent_id)]
    )
    return owners[0] if owners else None
