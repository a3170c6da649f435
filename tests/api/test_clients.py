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


def judge_with_sdk(sdk: Any, listener_id: str, pool_id: str) -> None:
    """A policy and its rule come, change and go."""
    policy = sdk.create_l7_policy(listener_id=listener_id, action="REDIRECT_TO_POOL", redirect_pool_id=pool_id)
    rule = sdk.create_l7_rule(policy, type="HOST_NAME", compare_type="EQUAL_TO", value="www.example.com")
    assert [row.id for row in sdk.l7_policies(listener_id=listener_id)] == [policy.id]
    assert [row.id for row in sdk.l7_rules(policy)] == [rule.id]
    assert sdk.update_l7_rule(rule, policy, rule_value="a.example.com").rule_value == "a.example.com"
    policy = sdk.update_l7_policy(policy, action="REDIRECT_TO_URL", redirect_url="https://example.com")
    assert (policy.redirect_pool_id, policy.redirect_url, policy.position) == (None, "https://example.com", 1)
    assert sdk.get_l7_policy(policy.id).rules == [{"id": rule.id}]
    sdk.delete_l7_rule(rule, policy)
    sdk.delete_l7_policy(policy)
    assert list(sdk.l7_policies()) == []


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
    assert list(sdk.provider_flavor_capabilities("dev")) == []
    cidrs = sdk.update_listener(listener, allowed_cidrs=["10.9.8.7/8"]).allowed_cidrs
    assert cidrs == ["10.0.0.0/8"]
    moved = sdk.update_member(member, pool.id, monitor_address="10.20.0.9", monitor_port=8081)
    assert (moved.monitor_address, moved.monitor_port) == ("10.20.0.9", 8081)
    judge_with_sdk(sdk, listener.id, pool.id)
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
        sdk.create_load_balancer(name="x", vip_subnet_id=bodies.SUBNET_ID, vip_qos_policy_id="q")
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


async def judge(live: LiveServer, tmp_path: Path, listener: str, shown: tuple[str, ...]) -> None:
    """A policy and its rule come, change and go."""
    policy = ("--action", "REDIRECT_PREFIX", "--redirect-prefix", "https://example.com", "--redirect-http-code", "308")
    made = await command(live, tmp_path, "l7policy", "create", "--name", "cli-r", *policy, "--wait", listener, *shown)
    assert (made["position"], made["redirect_http_code"]) == (1, 308)
    rule = ("--type", "HEADER", "--key", "X-Kind", "--compare-type", "REGEX", "--value", "^a+$", "--invert")
    made = await command(live, tmp_path, "l7rule", "create", *rule, "--wait", "cli-r", *shown)
    assert (made["key"], made["invert"]) == ("X-Kind", True)
    (row,) = await command(live, tmp_path, "l7rule", "list", "cli-r", *shown)
    assert row["value"] == "^a+$"
    await command(live, tmp_path, "l7rule", "set", "--value", "b", "cli-r", made["id"], "--wait")
    await command(live, tmp_path, "l7policy", "set", "--action", "REJECT", "cli-r", "--wait")
    changed = await command(live, tmp_path, "l7policy", "show", "cli-r", *shown)
    assert (changed["action"], changed["redirect_prefix"]) == ("REJECT", None)
    await command(live, tmp_path, "l7rule", "delete", "cli-r", made["id"], "--wait")
    await command(live, tmp_path, "l7policy", "delete", "cli-r", "--wait")
    assert await command(live, tmp_path, "l7policy", "list", *shown) == []


async def test_command_line_creates_waits_shows_and_deletes_by_name(live: LiveServer, tmp_path: Path) -> None:
    shown = ("-f", "json")
    made = await command(
        live, tmp_path, "create", "--name", "cli", "--vip-subnet-id", "blue", "--project", "p9", "--wait", *shown
    )
    assert (made["provisioning_status"], made["project_id"]) == ("ACTIVE", "p9")
    listen = ("--protocol", "HTTP", "--protocol-port", "80", "--allowed-cidr", "10.0.0.0/8")
    listen += ("--allowed-cidr", "192.0.2.0/24", "--timeout-member-connect", "1000", "--timeout-tcp-inspect", "10")
    listener = await command(live, tmp_path, "listener", "create", "--name", "cli-l", *listen, "--wait", "cli", *shown)
    assert listener["allowed_cidrs"] == ["10.0.0.0/8", "192.0.2.0/24"]
    assert (listener["timeout_member_connect"], listener["timeout_tcp_inspect"]) == (1000, 10)
    pool = ("--protocol", "HTTP", "--lb-algorithm", "SOURCE_IP_PORT", "--listener", "cli-l")
    pool += ("--session-persistence", "type=APP_COOKIE,cookie_name=JSESSIONID")
    await command(live, tmp_path, "pool", "create", "--name", "cli-p", *pool, "--wait", *shown)
    member = ("--address", "10.20.0.1", "--protocol-port", "80", "--subnet-id", "blue", "--monitor-port", "81")
    await command(live, tmp_path, "member", "create", *member, "--wait", "cli-p", *shown)
    monitor = ("--type", "TLS-HELLO", "--delay", "5", "--timeout", "3", "--max-retries", "2")
    await command(live, tmp_path, "healthmonitor", "create", *monitor, "--wait", "cli-p", *shown)
    (capability,) = await command(live, tmp_path, "provider", "capability", "list", "dev", *shown)
    assert (capability["type"], capability["name"]) == ("availability_zone", "environment_group_number")
    await judge(live, tmp_path, "cli-l", shown)
    (listed,) = await command(live, tmp_path, "list", "--project", "p9", *shown)
    assert listed["name"] == "cli"
    status = await command(live, tmp_path, "status", "show", "cli")
    assert status["loadbalancer"]["listeners"][0]["pools"][0]["members"][0]["address"] == "10.20.0.1"
    await command(live, tmp_path, "delete", "cli", "--cascade", "--wait")
    assert await command(live, tmp_path, "list", "--project", "p9", *shown) == []
