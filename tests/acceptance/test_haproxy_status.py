"""A member's failure is told by HAProxy to the tenant at once; nobody has to look first."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.verdicts import MONITOR, failure_seconds
from tests.acceptance.websites import create, website
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

NEVER_SECONDS = 3600.0


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Nobody looks at statuses before an hour has passed."""
    options = {"DEFAULT": {"status_interval": NEVER_SECONDS, "service_resync_interval": NEVER_SECONDS}}
    made = Cluster(tmp_path, environment="told", device="haproxy", agent_options=options)
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_agent("host-1"), *(made.start_backend(number) for number in (1, 2)))
        yield made
    finally:
        await asyncio.to_thread(made.close)


async def test_member_failure_and_recovery_reach_the_api_without_an_observation(cluster: Cluster) -> None:
    place = choose_vip_address(random.Random())
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, "watched")
        fields = website(subnet["id"], place.address, {"HTTP": place.port}, cluster.backend_ports, monitor=MONITOR)
        await create(tenant, fields)
        await settled(tenant)
        await failure_seconds(cluster, tenant, 2)
        await request_id_reaches_all_logs(cluster, tenant, http)


async def request_id_reaches_all_logs(cluster: Cluster, tenant: Tenant, http: aiohttp.ClientSession) -> None:
    """The id in the answer to a change is in the logs of controller, agent and daemon."""
    url = f"{cluster.controllers[0]}{LBAAS}/pools/{tenant.pool_id}"
    body = {"pool": {"lb_algorithm": "LEAST_CONNECTIONS"}}
    async with http.put(url, json=body, headers={"X-Project-Id": tenant.project_id}) as answer:
        assert answer.status == 200, await answer.text()
        request_id = answer.headers["x-openstack-request-id"]
    told = {
        "controller-1": "write accepted",
        "agent-host-1": "load balancer applied",
        "devices": "write accepted",
    }

    def all_logged() -> bool:
        return all(
            any(event in line and request_id in line for line in log.read_text().splitlines())
            for log, event in ((cluster.directory / "logs" / f"{name}.log", event) for name, event in told.items())
        )

    await eventually(all_logged, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
