"""The stock clients against a real server: openstacksdk and the ``openstack`` command line, unpatched."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack import exceptions

from tests.api import bodies
from tests.api.live import LiveServer

COMMAND_SECONDS = 120.0

# the client warns of its own future, which is not ours
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose load balancers become ACTIVE at once."""
    with LiveServer.started(tmp_path_factory.mktemp("clients")) as server:
        yield server


@pytest.fixture
def sdk(live: LiveServer) -> Iterator[Any]:
    """openstacksdk's load balancer proxy, without Keystone."""
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth={"endpoint": live.url}, region_name="x"
    )
    yield connection.load_balancer
    connection.close()


def test_sdk_lives_a_whole_life_cycle(sdk: Any) -> None:
    root = sdk.create_load_balancer(name="web", vip_subnet_id=bodies.SUBNET_ID, project_id="p1", tags=["a"])
    root = sdk.wait_for_load_balancer(root.id, interval=0.1, wait=30)
    assert (root.provisioning_status, root.provider, root.project_id) == ("ACTIVE", "dev", "p1")
    listener = sdk.create_listener(name="l", load_balancer_id=root.id, protocol="HTTP", protocol_port=80)
    pool = sdk.create_pool(name="p", listener_id=listener.id, protocol="HTTP", lb_algorithm="ROUND_ROBIN")
    monitor = sdk.create_health_monitor(pool_id=pool.id, type="HTTP", delay=5, timeout=3, max_retries=2)
    member = sdk.create_member(pool.id, address="10.20.0.1", protocol_port=8080)
    assert sdk.find_load_balancer("web").id == root.id
    assert [row.id for row in sdk.members(pool.id)] == [member.id]
    assert sdk.get_health_monitor(monitor.id).pools == [{"id": pool.id}]
    assert sdk.update_listener(listener, name="l2").name == "l2"
    assert sdk.update_member(member, pool.id, weight=5).weight == 5
    assert sdk.update_pool(pool, session_persistence={"type": "SOURCE_IP"}).session_persistence["type"] == "SOURCE_IP"
    assert sdk.get_load_balancer_statistics(root.id).total_connections == 0
    assert [row.name for row in sdk.providers()] == ["dev"]
    sdk.delete_member(member, pool.id)
    sdk.delete_load_balancer(root.id, cascade=True)
    with pytest.raises(exceptions.NotFoundException):
        sdk.get_load_balancer(root.id)


def test_sdk_creates_fully_populated_and_pages_through_lists(sdk: Any) -> None:
    body = bodies.populated(name="full", project_id="pages")["loadbalancer"]
    root = sdk.create_load_balancer(**body)
    others = [sdk.create_load_balancer(name=f"n-{n}", vip_subnet_id=bodies.SUBNET_ID, project_id="pages") for n in "ab"]
    assert len(root.listeners) == len(root.pools) == 1
    listed = [row.id for row in sdk.load_balancers(project_id="pages", limit=1)]
    assert listed == [root.id, *(other.id for other in others)]


def test_sdk_tells_the_fault(sdk: Any) -> None:
    with pytest.raises(exceptions.BadRequestException, match="VIP must contain one of"):
        sdk.create_load_balancer(name="x")
    with pytest.raises(exceptions.HttpException, match="not built") as caught:
        sdk.create_load_balancer(name="x", vip_subnet_id=bodies.SUBNET_ID, availability_zone="az")
    assert caught.value.status_code == 501


# -- the command line


async def command(live: LiveServer, home: Path, *words: str) -> Any:
    """Run ``openstack loadbalancer …``; its JSON output."""
    program = Path(sys.executable).with_name("openstack")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "OS_AUTH_TYPE": "none", "OS_ENDPOINT": live.url}
    process = await asyncio.create_subprocess_exec(
        program,
        "loadbalancer",
        *words,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(COMMAND_SECONDS):
        output, errors = await process.communicate()
    assert process.returncode == 0, f"openstack loadbalancer {' '.join(words)}: {errors.decode()}"
    return json.loads(output) if output.strip() else None


async def test_command_line_creates_waits_shows_and_deletes_by_name(live: LiveServer, tmp_path: Path) -> None:
    shown = ("-f", "json")
    made = await command(
        live, tmp_path, "create", "--name", "cli", "--vip-subnet-id", "blue", "--project", "p9", "--wait", *shown
    )
    assert (made["provisioning_status"], made["project_id"]) == ("ACTIVE", "p9")
    listen = ("--protocol", "HTTP", "--protocol-port", "80")
    await command(live, tmp_path, "listener", "create", "--name", "cli-l", *listen, "--wait", "cli", *shown)
    pool = ("--protocol", "HTTP", "--lb-algorithm", "ROUND_ROBIN", "--listener", "cli-l")
    await command(live, tmp_path, "pool", "create", "--name", "cli-p", *pool, "--wait", *shown)
    member = ("--address", "10.20.0.1", "--protocol-port", "80", "--subnet-id", "blue")
    await command(live, tmp_path, "member", "create", *member, "--wait", "cli-p", *shown)
    (listed,) = await command(live, tmp_path, "list", "--project", "p9", *shown)
    assert listed["name"] == "cli"
    status = await command(live, tmp_path, "status", "show", "cli")
    assert status["loadbalancer"]["listeners"][0]["pools"][0]["members"][0]["address"] == "10.20.0.1"
    await command(live, tmp_path, "delete", "cli", "--cascade", "--wait")
    assert await command(live, tmp_path, "list", "--project", "p9", *shown) == []
