"""The short version of ``scripts/soak --minutes``: faults of every kind while tenants write, and what became of it."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.acceptance.history import report
from tests.acceptance.history.checker import check
from tests.acceptance.history.events import read
from tests.acceptance.history.faults import WEIGHTS
from tests.acceptance.history.run import Plan, Run
from tests.acceptance.history.site import Server
from tests.services.mariadb import MariaDB
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import RabbitMQ

pytestmark = [pytest.mark.acceptance, pytest.mark.services, pytest.mark.timeout(2400)]

OF_BOTH = (("database", "kill"), ("database", "restart"), ("agent", "kill"), ("agent", "stop"))
"""Databases' own faults, and takeovers."""
SHORT = Plan(
    seed=1,
    fault_seconds=100.0,
    tenants=4,
    load_balancers_each=3,
    fault_pause_seconds=1.5,
    once=(
        *OF_BOTH,
        *(("controller", fault) for fault in ("kill", "freeze", "stop")),
        *(("agent", fault) for fault in ("freeze", "blink")),
        ("broker", "kill"),
    ),
)
SHORT_OF_OTHERS = replace(SHORT, once=(*OF_BOTH, *(fault for fault in WEIGHTS if fault not in SHORT.once)))
"""Each fault comes once in one of the two, those of :data:`OF_BOTH` in both."""
LONG = Plan(seed=1, fault_seconds=75.0)


async def run(plan: Plan, directory: Path, broker: RabbitMQ, database: Server, url: str) -> None:
    """Asserts promises, and that there was something to keep them against; never how quick anything was."""
    file = await Run(plan, directory, broker, database, url).carry_out()
    verdict = await asyncio.to_thread(lambda: check(read(file)))
    print(report.table(verdict))
    assert not verdict.broken, f"{report.problems(verdict)}\nhistory: {file}"
    assert verdict.recovery_seconds is not None
    assert verdict.counts["of these failed"] == 0
    assert verdict.counts["requests acknowledged"] > plan.tenants * plan.load_balancers_each
    assert verdict.takeovers


async def test_nothing_is_lost_stuck_or_stale_on_rabbitmq_and_postgresql(
    tmp_path: Path, own_rabbitmq: RabbitMQ, own_postgresql: PostgreSQL, own_postgresql_database: str
) -> None:
    await run(SHORT, tmp_path, own_rabbitmq, own_postgresql, own_postgresql_database)


async def test_nothing_is_lost_stuck_or_stale_on_rabbitmq_and_mariadb(
    tmp_path: Path, own_rabbitmq: RabbitMQ, own_mariadb: MariaDB, own_mariadb_database: str
) -> None:
    await run(SHORT_OF_OTHERS, tmp_path, own_rabbitmq, own_mariadb, own_mariadb_database)


async def test_more_writes_and_faults_lose_nothing_on_rabbitmq_and_postgresql(
    tmp_path: Path, own_rabbitmq: RabbitMQ, own_postgresql: PostgreSQL, own_postgresql_database: str
) -> None:
    await run(LONG, tmp_path, own_rabbitmq, own_postgresql, own_postgresql_database)


async def test_more_writes_and_faults_lose_nothing_on_rabbitmq_and_mariadb(
    tmp_path: Path, own_rabbitmq: RabbitMQ, own_mariadb: MariaDB, own_mariadb_database: str
) -> None:
    await run(LONG, tmp_path, own_rabbitmq, own_mariadb, own_mariadb_database)
