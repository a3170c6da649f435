"""A worker of a controller is killed while tenants write: the others go on, and everything accepted becomes ACTIVE."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster, controller_name
from tests.acceptance.tenant import LIMIT_SECONDS, Tenant, session, settled
from tests.services.rabbitmq import SharedRabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.services, pytest.mark.timeout(900)]

TENANTS = 4
KILLS = 2
ANSWERS = 10
"""Of each tenant's writer between two kills."""
PAUSE_SECONDS = 0.2
"""Between a writer's requests."""


@pytest.fixture
async def cluster(tmp_path: Path, rabbitmq: SharedRabbitMQ, postgresql_database: str) -> AsyncIterator[Cluster]:
    made = Cluster(
        tmp_path,
        environment="work",
        database=postgresql_database,
        transport_url=rabbitmq.url,
        emulator_arguments=["--no-data-plane"],
        controller_options={"DEFAULT": {"workers": 2, "session_ttl": 10.0}},
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await made.start_agent("host-1")
        yield made
    finally:
        made.close()


class Writer:
    """Adds members to a tenant's pool. ``broken``: how many requests had no answer."""

    def __init__(self, http: aiohttp.ClientSession, cluster: Cluster, project_id: str) -> None:
        self.tenant = Tenant(http, cluster.controllers, project_id)
        self.answers = 0
        self.broken = 0
        self._number = 0

    async def write(self) -> None:
        self._number += 1
        before = len(self.tenant.acknowledged)
        await self.tenant.add_member(self._number)
        if len(self.tenant.acknowledged) > before:
            self.answers += 1
        else:
            self.broken += 1


def serving(cluster: Cluster, worker: int) -> list[int]:
    """Process ids with which the worker has served."""
    log = cluster.processes[controller_name(1)].log.read_text()
    return [int(pid) for pid in re.findall(rf'event="worker serves" worker={worker} pid=(\d+)', log)]


async def test_a_killed_worker_breaks_its_connections_only_and_loses_nothing(cluster: Cluster) -> None:
    await eventually(lambda: serving(cluster, 1) and serving(cluster, 2), within_seconds=LIMIT_SECONDS)
    subnet = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    one_shot = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
    async with session() as kept, one_shot:
        writers = [Writer((kept, one_shot)[n % 2], cluster, f"project-{n}") for n in range(TENANTS)]
        await asyncio.gather(*(writer.tenant.create(made["subnet"]["id"]) for writer in writers))
        stop = asyncio.Event()

        async def write(writer: Writer) -> None:
            while not stop.is_set():
                await writer.write()
                await asyncio.sleep(PAUSE_SECONDS)

        writing = [asyncio.create_task(write(writer)) for writer in writers]
        try:
            for number in range(KILLS):
                victim = number % 2 + 1
                before = [writer.answers for writer in writers]
                await eventually(
                    lambda before=before: all(w.answers >= b + ANSWERS for w, b in zip(writers, before, strict=True)),
                    within_seconds=LIMIT_SECONDS,
                )
                served = serving(cluster, victim)
                os.kill(served[-1], signal.SIGKILL)
                await eventually(
                    lambda victim=victim, served=served: len(serving(cluster, victim)) > len(served),
                    within_seconds=LIMIT_SECONDS,
                )
        finally:
            stop.set()
            await asyncio.gather(*writing)
        tenants = [writer.tenant for writer in writers]
        await settled(*tenants)
        for writer in writers:
            assert not writer.tenant.refused
            assert writer.tenant.acknowledged <= await writer.tenant.members()
            # at a time a writer has one connection, which the killed worker may have had
            assert writer.broken <= KILLS, [each.broken for each in writers]
    seen = (await cluster.get_json("/controllers"))["controllers"]
    assert sorted(row["host"].rpartition(" ")[2] for row in seen) == ["1", "2"]
