"""What everything rests on is there and does no work: a RabbitMQ that blocks publishers, a PostgreSQL that only reads.

Both are named first, by ``status``, ``/healthz/ready`` and the metrics, and nobody is sent to the agents' hosts.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import session
from tests.services.process import free_port
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.services, pytest.mark.timeout(600)]

WATERMARK = "vm_memory_monitor:set_vm_memory_high_watermark"
LIMIT_SECONDS = 120.0
BROKER, DATABASE = "message_broker", "database_writes"


class Scene:
    """A controller and an agent, and what they say of themselves."""

    def __init__(self, cluster: Cluster, http: aiohttp.ClientSession, metrics: dict[str, int]) -> None:
        self.cluster, self.http, self._metrics = cluster, http, metrics

    async def problems(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = (await self.cluster.get_json("/status"))["status"]["problems"]
        return found

    async def kinds(self) -> list[str]:
        return [problem["kind"] for problem in await self.problems()]

    async def readiness(self) -> tuple[int, Any]:
        async with self.http.get(f"{self.cluster.url(1)}/healthz/ready") as answer:
            return answer.status, (await answer.json())["problems"]

    async def health(self) -> tuple[int, str]:
        async with self.http.get(f"{self.cluster.url(1)}/healthz") as answer:
            return answer.status, (await answer.json())["status"]

    async def metric(self, process: str, name: str) -> float:
        async with self.http.get(f"http://127.0.0.1:{self._metrics[process]}/metrics") as answer:
            families = text_string_to_metric_families(await answer.text())
        return next(sample.value for family in families for sample in family.samples if sample.name == name)

    async def is_zero(self, process: str, name: str) -> bool:
        return await self.metric(process, name) == 0

    async def is_well(self) -> bool:
        return not await self.kinds()

    async def agents_are_down(self) -> bool:
        return bool((await self.cluster.get_json("/status"))["status"]["agents"]["down"])


@pytest.fixture
async def scene(tmp_path: Path, own_rabbitmq: RabbitMQ, postgresql_database: str) -> AsyncIterator[Scene]:
    metrics = {"controller": free_port(), "agent": free_port()}
    cluster = Cluster(
        tmp_path,
        environment="outages",
        device="haproxy",
        database=postgresql_database,
        transport_url=own_rabbitmq.url,
        controller_options={"metrics": {"bind_port": metrics["controller"]}},
        agent_options={"metrics": {"bind_port": metrics["agent"]}},
    )
    try:
        await cluster.start_devices()
        await cluster.start_controller(1)
        await cluster.start_agent("host-1")
        async with session() as http:
            made = Scene(cluster, http, metrics)
            await becomes(made.is_well)
            yield made
    finally:
        await asyncio.to_thread(cluster.close)
        own_rabbitmq.evaluate(f"{WATERMARK}({{absolute, 1000000000}})")


async def becomes(so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for it, as long as these outages may take."""
    await eventually(so, within_seconds=LIMIT_SECONDS, every_seconds=0.2)


async def names_first(scene: Scene, kind: str, text: str) -> bool:
    """The outage is the first problem, with this in its text, and agents, silent because of it, are none."""
    problems = await scene.problems()
    kinds = [one["kind"] for one in problems]
    return (
        await scene.agents_are_down()
        and kinds[:1] == [kind]
        and text in problems[0]["text"]
        and "agents_silent" not in kinds
    )


async def test_outage_without_a_lost_connection_is_the_first_problem_and_no_agent_is_blamed(
    scene: Scene, own_rabbitmq: RabbitMQ, postgresql_database: str
) -> None:
    await becomes(lambda: _knows_certificates(scene))
    own_rabbitmq.evaluate(f"{WATERMARK}(0.0001)")
    await becomes(lambda: names_first(scene, BROKER, "blocks publishers"))
    await becomes(lambda: _is_unready(scene, BROKER))
    await becomes(lambda: scene.is_zero("controller", "evenkeel_message_broker_up"))
    await becomes(lambda: scene.is_zero("agent", "evenkeel_agent_message_broker_up"))
    own_rabbitmq.evaluate(f"{WATERMARK}({{absolute, 1000000000}})")
    await becomes(scene.is_well)

    await set_read_only(postgresql_database, "on")
    await becomes(lambda: names_first(scene, DATABASE, "read-only transaction"))
    await becomes(lambda: _is_unready(scene, DATABASE))
    await becomes(lambda: _says_read_only(scene))
    await becomes(lambda: scene.is_zero("controller", "evenkeel_database_writable"))
    await set_read_only(postgresql_database, "off")
    await becomes(scene.is_well)


async def _knows_certificates(scene: Scene) -> bool:
    """Agents report until when the certificates of their devices are valid."""
    (agent,) = (await scene.cluster.get_json("/agents"))["agents"]
    return all(device["certificate_ends_at"] for device in agent["devices"])


async def _says_read_only(scene: Scene) -> bool:
    return await scene.health() == (200, "read_only")


async def _is_unready(scene: Scene, kind: str) -> bool:
    status, kinds = await scene.readiness()
    return status == 503 and kind in kinds


async def set_read_only(url: str, value: str) -> None:
    """As after a fail-over to a standby: new connections only read, and the old ones are gone."""
    connection = await asyncpg.connect(url)
    try:
        name = url.rpartition("/")[2]
        await connection.execute("SET default_transaction_read_only = off")
        await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"
        await connection.execute(others, name)
    finally:
        await connection.close()
