"""A tenant aims its load balancer at the operators' API, which trusts its own host. With real processes."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from evenkeel.demo.processes import stop_all
from evenkeel.demo.workspace import Workspace, written_file_condition
from evenkeel.haproxyd import wire
from tests.api import bodies
from tests.api.personas import ADMIN, MEMBER
from tests.haproxyd.daemonworld import Client, Daemon
from tests.services.process import free_port

SUBNET = {"id": bodies.SUBNET_ID, "name": "vips", "cidr": "203.0.113.0/24"}
START_SECONDS = 120.0


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[str]:
    """URL of a controller behind a gateway: whoever connects from its own host is who the headers say."""
    workshop = Workspace(tmp_path, start_seconds=START_SECONDS)
    file = workshop.announcement_path("controller.url")
    sections = {
        "DEFAULT": {"transport_url": f"embedded://{tmp_path}/bus.db", "environments": "dev:noop"},
        "database": {"connection": f"sqlite:///{tmp_path}/evenkeel.db"},
        "api": {"bind_port": 0, "endpoint_file": file},
        "identity": {"kind": "trusted_headers"},
    }
    try:
        process = workshop.create_process("controller", "evenkeel.cmd.controller", sections)
        await workshop.run(process, written_file_condition(file), "its URL")
        yield file.read_text().strip()
    finally:
        stop_all(tuple(workshop.processes.values()))


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    """With a short name, because of the sockets in it."""
    made = Path(tempfile.mkdtemp(prefix="own-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def aimed_at(url: str, vip: str, port: int) -> wire.LoadBalancerConfig:
    """Requests to the VIP go to that API, in whoever's name."""
    bind = wire.Bind(address=vip, port=port)
    target = wire.BackendServer(name="target", address="127.0.0.1", port=int(url.rpartition(":")[2]))
    front = wire.Frontend(name="front", binds=(bind,), lines=("mode http", "default_backend back"))
    back = wire.Backend(name="back", lines=("mode http",), servers=(target,))
    return wire.LoadBalancerConfig(id="lb1", revision=1, frontends=(front,), backends=(back,))


async def refused(client: Client, wanted: wire.LoadBalancerConfig) -> str:
    (outcome,) = (await client.sent("p1", wire.PartitionChange(epoch=1, load_balancers=(wanted,)))).outcomes
    return outcome.error


async def test_the_api_refuses_the_member(api: str) -> None:
    member = {"address": "127.0.0.1", "protocol_port": int(api.rpartition(":")[2])}
    pool = {"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [member]}
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
    body = bodies.load_balancer(listeners=[listener], provider="dev")
    async with aiohttp.ClientSession(api) as http:
        async with http.post("/evenkeel/v1/subnets", json={"subnet": SUBNET}, headers=ADMIN.headers) as answer:
            assert answer.status == 201, await answer.text()
        async with http.post("/v2/lbaas/loadbalancers", json=body, headers=MEMBER.headers) as answer:
            assert answer.status == 400
            assert "127.0.0.1 is not a valid option for member address" in await answer.text()


async def test_the_daemon_refuses_it_whoever_sends_it(api: str, folder: Path) -> None:
    daemon = Daemon(folder, allow_loopback_addresses=False)
    try:
        await daemon.start()
        async with daemon.client() as client:
            said = await refused(client, aimed_at(api, "203.0.113.9", free_port()))
            assert said.startswith("backend back: server target: address is '127.0.0.1'; a unicast address")
            held = await client.ask(wire.PartitionConfig, "GET", "/v1/partitions/p1")
            assert held.load_balancers == ()
    finally:
        daemon.clean_up()


async def test_allowed_loopback_lets_a_tenant_reach_services_of_the_host(api: str, folder: Path) -> None:
    """Loopback is allowed: the tenant is admin, but does not reach the daemon itself."""
    daemon = Daemon(folder)
    try:
        await daemon.start()
        own = daemon.endpoint_file.read_text().strip()
        port = free_port()
        async with daemon.client() as client, aiohttp.ClientSession() as http:
            assert "where this daemon's API is" in await refused(client, aimed_at(own, "127.0.0.1", port))
            await client.patch("p1", wire.PartitionChange(epoch=1, load_balancers=(aimed_at(api, "127.0.0.1", port),)))
            async with http.get(f"http://127.0.0.1:{port}/evenkeel/v1/agents", headers=ADMIN.headers) as answer:
                assert answer.status == 200
        assert "tenants may use loopback addresses" in (folder / "log").read_text()
    finally:
        daemon.clean_up()
