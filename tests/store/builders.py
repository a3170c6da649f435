"""Short ways to say what a test is about."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from msgspec.structs import replace
from sqlalchemy import select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
    Vip,
)
from evenkeel.core.tls.certificates import CertificateFacts
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.reports.applied import CHILD_TABLES
from evenkeel.store.sql_store import SqlStore
from tests.waiting import eventually

PROJECT = "project-1"
AGENT = "agent-1"
SESSION = "session-of-agent-1"
SHARD = "shard-1"
NOWHERE = Vip(address="", subnet_id="", network_id="nowhere", port_id="")
FACTS = CertificateFacts(
    subject="CN=www",
    issuer="CN=ca",
    common_name="www",
    dns_names=("www.example.org",),
    addresses=(),
    not_before=datetime(2026, 1, 1, tzinfo=UTC),
    not_after=datetime(2036, 1, 1, tzinfo=UTC),
    key_type="ecdsa",
    key_bits=256,
)


def new_id() -> str:
    return str(uuid4())


def load_balancer(**values: Any) -> LoadBalancer:
    defaults = {"id": new_id(), "project_id": PROJECT, "vip": NOWHERE, "provider": "prod"}
    return LoadBalancer(**defaults | values)


def listener(**values: Any) -> Listener:
    defaults = {
        "id": new_id(),
        "load_balancer_id": "",
        "project_id": PROJECT,
        "protocol": "HTTP",
        "protocol_port": 80,
    }
    return Listener(**defaults | values)


def pool(**values: Any) -> Pool:
    defaults = {
        "id": new_id(),
        "load_balancer_id": "",
        "project_id": PROJECT,
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
    }
    return Pool(**defaults | values)


def member(number: int = 1, **values: Any) -> Member:
    defaults = {
        "id": new_id(),
        "pool_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "address": f"10.1.{number // 250}.{number % 250 + 1}",
        "protocol_port": 8080,
    }
    return Member(**defaults | values)


def monitor(**values: Any) -> HealthMonitor:
    defaults = {
        "id": new_id(),
        "pool_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "type": "HTTP",
        "delay": 5,
        "timeout": 3,
        "max_retries": 2,
    }
    return HealthMonitor(**defaults | values)


def l7policy(**values: Any) -> L7Policy:
    defaults = {
        "id": new_id(),
        "listener_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "action": "REJECT",
    }
    return L7Policy(**defaults | values)


def rate_limit_policy(**values: Any) -> RateLimitPolicy:
    fields: dict[str, Any] = {
        "id": new_id(),
        "listener_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "action": "DENY",
    }
    return RateLimitPolicy(**{**fields, **values})


def rate_limit_rule(**values: Any) -> RateLimitRule:
    fields: dict[str, Any] = {
        "id": new_id(),
        "rate_limit_policy_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "metric": "REQUESTS",
        "threshold": 50,
    }
    return RateLimitRule(**{**fields, **values})


def l7rule(number: int = 1, **values: Any) -> L7Rule:
    defaults = {
        "id": new_id(),
        "l7policy_id": "",
        "load_balancer_id": "",
        "project_id": PROJECT,
        "type": "PATH",
        "compare_type": "EQUAL_TO",
        "value": f"/{number}",
    }
    return L7Rule(**defaults | values)


def with_policies(stored: LoadBalancerTree, policies: int = 2, rules: int = 2) -> LoadBalancerTree:
    """The first listener has policies that send to the first pool, each with rules."""
    at = stored.listeners[0]
    made = tuple(
        l7policy(
            listener_id=at.id,
            load_balancer_id=stored.load_balancer.id,
            position=place,
            action="REDIRECT_TO_POOL",
            redirect_pool_id=stored.pools[0].id,
        )
        for place in range(1, policies + 1)
    )
    conditions = tuple(
        l7rule(number, l7policy_id=each.id, load_balancer_id=stored.load_balancer.id)
        for each in made
        for number in range(rules)
    )
    return replace(stored, l7policies=made, l7rules=conditions)


def tree(*, listeners: int = 1, members: int = 2, **root: Any) -> LoadBalancerTree:
    """A load balancer with one pool that all listeners send to, members and a monitor."""
    top = load_balancer(**root)
    group = pool(load_balancer_id=top.id)
    return LoadBalancerTree(
        load_balancer=top,
        listeners=tuple(
            listener(load_balancer_id=top.id, protocol_port=80 + number, default_pool_id=group.id)
            for number in range(listeners)
        ),
        pools=(group,),
        members=tuple(member(number, pool_id=group.id, load_balancer_id=top.id) for number in range(members)),
        health_monitors=(monitor(pool_id=group.id, load_balancer_id=top.id),),
    )


def bare(**root: Any) -> LoadBalancerTree:
    return LoadBalancerTree(load_balancer=load_balancer(**root))


def vip(**values: Any) -> VipPlan:
    defaults = {
        "subnet_id": "subnet-1",
        "network_id": "network-1",
        "port_id": new_id(),
        "allocation_start": "10.0.0.1",
        "allocation_end": "10.0.255.254",
    }
    return VipPlan(**defaults | values)


async def create(store: SqlStore, what: LoadBalancerTree | None = None, **plan: Any) -> LoadBalancerTree:
    """Store it, and return it as it is stored."""
    change: Change = await store.tenants.create_load_balancer(what or tree(), vip(**plan))
    assert change.tree is not None
    return change.tree


async def add_agent(
    store: SqlStore, agent_id: str = AGENT, *, group: int = 1, ttl_seconds: float | None = 600.0, **values: Any
) -> None:
    """An agent with a live session (none if ``ttl_seconds`` is None), and its device group."""
    session: dict[str, Any] = {}
    if ttl_seconds is not None:
        session = {
            "session_id": SESSION if agent_id == AGENT else new_id(),
            "session_started_at": db_now(),
            "session_expires_at": db_now() + ttl_seconds,
            "session_ttl_seconds": abs(ttl_seconds),
        }
    group_row = {
        "environment": "prod",
        "number": group,
        "device_driver": "noop",
        "ha_type": "standalone",
        "reschedule": "control",
        "endpoints": "[]",
        "created_at": db_now(),
    }
    agent_row = {
        "id": agent_id,
        "environment": "prod",
        "group_number": group,
        "host": f"host-of-{agent_id}",
        "device_driver": "noop",
        "ha_type": "standalone",
        "created_at": db_now(),
    }

    def op(connection: Any) -> None:
        there = schema.device_group.select().where(schema.device_group.c.number == group)
        if connection.execute(there).first() is None:
            connection.execute(schema.device_group.insert().values(group_row))
        connection.execute(schema.agent.insert().values(agent_row | session | values))

    await store.database.write(op)


async def add_shard(store: SqlStore, shard_id: str = SHARD, **values: Any) -> None:
    """The shard of PROJECT on group 1, served by AGENT."""
    row = {
        "id": shard_id,
        "environment": "prod",
        "group_number": 1,
        "project_id": PROJECT,
        "home_agent_id": AGENT,
        "acting_agent_id": AGENT,
        "epoch": 1,
        "created_at": db_now(),
    }
    await store.database.write(lambda connection: connection.execute(schema.shard.insert().values(row | values)))


async def placed(store: SqlStore) -> None:
    """From now on, load balancers of PROJECT are placed when they are made."""
    await add_agent(store)
    await add_shard(store)


async def confirm(store: SqlStore, load_balancer_id: str) -> None:
    """The device confirmed everything: all ACTIVE."""

    def op(connection: Any) -> None:
        for table in CHILD_TABLES:
            connection.execute(
                update(table).where(table.c.load_balancer_id == load_balancer_id).values(provisioning_status="ACTIVE")
            )
        root = schema.load_balancer
        connection.execute(
            update(root)
            .where(root.c.id == load_balancer_id)
            .values(provisioning_status="ACTIVE", applied_revision=root.c.revision, pending_deadline=None)
        )

    await store.database.write(op)


async def column(store: SqlStore, table: Any, object_id: str, name: str) -> Any:
    """One column of one row, for what no port shows."""
    statement = table.select().with_only_columns(table.c[name]).where(table.c.id == object_id)
    return await store.database.read(lambda connection: connection.scalar(statement))


async def next_moment(store: SqlStore) -> None:
    """What is made from now on is younger than what is there: SQLite's clock shows milliseconds."""

    async def clock() -> float:
        return await store.database.query(lambda connection: connection.scalar(select(db_now()))) or 0.0

    async def has_gone_on() -> bool:
        return await clock() > before

    before = await clock()
    await eventually(has_gone_on, every_seconds=0.001)


def ids(values: Sequence[Any]) -> list[str]:
    return [value.id for value in values]
