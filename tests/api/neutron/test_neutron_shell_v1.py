"""Every ``lb-*`` command of the old ``neutron`` command line against a running controller and agent."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from neutronclient.common.exceptions import NotFound
from neutronclient.shell import NeutronShell
from neutronclient.v2_0 import client as neutron_client

from tests.api.client_shell import Ran, commands_named
from tests.api.neutron.conftest import Shell
from tests.api.stack import Stack
from tests.api.subnet import SUBNET
from tests.waiting import until

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def lb(shell: Shell) -> Shell:
    """Runs ``neutron lb-…``."""
    return lambda name, *words: shell(f"lb-{name}", *words)


@pytest.fixture
def pool(lb: Shell, ran: Callable[..., Ran]) -> Iterator[Any]:
    """A pool, gone at the end with what tests left of it."""
    made = lb(
        "pool-create", "--name", "p1", "--protocol", "HTTP", "--lb-method", "ROUND_ROBIN", "--subnet-id", SUBNET.name
    )
    yield made
    for vip in lb("vip-list"):
        ran("lb-vip-delete", vip["id"])  # a test's own deletion may have come to its end since
        gone(ran, "lb-vip-show", vip["id"])
    lb("pool-delete", made["id"])
    gone(ran, "lb-pool-show", made["id"])


def gone(ran: Callable[..., Ran], command: str, object_id: str) -> None:
    """The device has let go of it."""
    until(lambda: ran(command, object_id).code == 1)


def new_vip(lb: Shell, *words: str) -> Any:
    common = ("--name", "v1", "--protocol-port", "80", "--protocol", "HTTP", "--subnet-id", SUBNET.name)
    return lb("vip-create", *common, "p1", *words)


def test_pools_live_a_whole_life(lb: Shell, ran: Callable[..., Ran]) -> None:
    made = lb(
        "pool-create", "--name", "life", "--description", "d", "--protocol", "TCP", "--lb-method", "SOURCE_IP",
        "--subnet-id", SUBNET.id, "--provider", "dev", "--admin-state-down",
    )  # fmt: skip
    assert (made["provider"], made["lb_method"], made["admin_state_up"]) == ("dev", "SOURCE_IP", False)
    until(lambda: lb("pool-show", "life")["status"] == "ACTIVE")
    lb("pool-update", "life", "--name", "other", "--lb-method", "LEAST_CONNECTIONS")
    shown = lb("pool-show", "other")
    assert (shown["id"], shown["lb_method"]) == (made["id"], "LEAST_CONNECTIONS")
    assert [row["id"] for row in lb("pool-list", "--name", "other")] == [made["id"]]
    assert lb("pool-stats", "other")["total_connections"] == 0
    lb("pool-delete", "other")
    gone(ran, "lb-pool-show", made["id"])


def test_vips_live_a_whole_life(lb: Shell, pool: Any, ran: Callable[..., Ran]) -> None:
    cookie = ("--session-persistence", "type=dict", "cookie_name=sid,type=APP_COOKIE")
    made = new_vip(lb, "--address", "10.10.0.99", "--connection-limit", "9", *cookie)
    assert (made["address"], made["connection_limit"]) == ("10.10.0.99", 9)
    assert made["session_persistence"] == {"type": "APP_COOKIE", "cookie_name": "sid"}
    until(lambda: lb("vip-show", "v1")["status"] == "ACTIVE")
    assert lb("pool-show", "p1")["vip_id"] == made["id"]  # settled: set with the creation of the VIP
    lb("vip-update", "v1", "--connection-limit", "11")
    until(lambda: lb("vip-show", "v1")["status"] == "ACTIVE")
    assert [row["address"] for row in lb("vip-list")] == ["10.10.0.99"]
    refused = ran("lb-pool-delete", "p1")
    assert refused.code == 1 and "still in use by vip" in refused.errors
    lb("vip-delete", "v1")
    gone(ran, "lb-vip-show", made["id"])
    again = new_vip(lb, "--address", "10.10.0.99")
    until(lambda: lb("vip-show", again["id"])["status"] == "ACTIVE")


def test_members_live_a_whole_life(lb: Shell, pool: Any, ran: Callable[..., Ran]) -> None:
    new_vip(lb)
    made = lb("member-create", "--address", "10.20.0.9", "--protocol-port", "8080", "--weight", "3", "p1")
    assert made["weight"] == 3
    lb("member-update", made["id"], "--weight", "9", "--admin-state-up", "False")
    until(lambda: lb("member-show", made["id"])["status"] == "ACTIVE")
    shown = lb("member-show", made["id"])
    assert (shown["weight"], shown["admin_state_up"]) == (9, False)
    assert [row["id"] for row in lb("member-list")] == [made["id"]]
    lb("member-delete", made["id"])
    gone(ran, "lb-member-show", made["id"])


def test_monitors_live_a_whole_life(lb: Shell, pool: Any) -> None:
    made = lb(
        "healthmonitor-create", "--type", "HTTP", "--delay", "5", "--timeout", "3", "--max-retries", "2",
        "--url-path", "/up", "--expected-codes", "200,201",
    )  # fmt: skip
    assert made["url_path"] == "/up"
    lb("healthmonitor-associate", made["id"], "p1")
    assert lb("pool-show", "p1")["health_monitors"] == [made["id"]]
    lb("healthmonitor-update", made["id"], "--delay", "7")
    assert lb("healthmonitor-show", made["id"])["delay"] == 7
    assert [row["id"] for row in lb("healthmonitor-list")] == [made["id"]]
    lb("healthmonitor-disassociate", made["id"], "p1")
    lb("healthmonitor-delete", made["id"])
    until(lambda: lb("healthmonitor-list") == [])


def test_agent_and_pool_find_each_other(lb: Shell, shell: Shell, pool: Any) -> None:
    (agent,) = shell("agent-list")
    until(lambda: lb("pool-show", "p1")["status"] == "ACTIVE")
    hosting = lb("agent-hosting-pool", "p1")
    assert (hosting["id"] if isinstance(hosting, dict) else hosting[0]["id"]) == agent["id"]
    assert [row["id"] for row in lb("pool-list-on-agent", agent["id"])] == [pool["id"]]


def test_a_pool_of_lbaas_v1_is_one_of_v2(lb: Shell, shell: Shell, pool: Any) -> None:
    vip = new_vip(lb)

    (root,) = shell("lbaas-loadbalancer-list")
    assert root["vip_address"] == vip["address"]
    assert [row["id"] for row in shell("lbaas-pool-list")] == [pool["id"]]
    assert [row["id"] for row in shell("lbaas-listener-list")] == [vip["id"]]


def test_refusals_are_reported_by_their_names(lb: Shell, pool: Any, ran: Callable[..., Ran]) -> None:
    new_vip(lb)
    second = ran(
        "lb-vip-create", "--name", "v2", "--protocol-port", "81", "--protocol", "HTTP", "--subnet-id", SUBNET.id, "p1"
    )
    assert second.code == 1 and "already" in second.errors
    missing = ran("lb-vip-show", "nothing")
    assert missing.code == 1 and "Unable to find vip" in missing.errors


def test_the_python_bindings_work_as_well(stack: Stack, pool: Any, lb: Shell) -> None:
    client = neutron_client.Client(endpoint_url=f"{stack.url}/neutron", auth_strategy="noauth")
    wanted = {"subnet_id": SUBNET.id, "protocol": "HTTP", "protocol_port": 80, "pool_id": pool["id"]}
    vip = client.create_vip({"vip": wanted})["vip"]
    assert [row["id"] for row in client.list_vips(pool_id=pool["id"])["vips"]] == [vip["id"]]
    checks = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
    monitor = client.create_health_monitor({"health_monitor": checks})["health_monitor"]
    client.associate_health_monitor(pool["id"], {"health_monitor": {"id": monitor["id"]}})
    assert client.show_pool(pool["id"])["pool"]["health_monitors"] == [monitor["id"]]
    assert client.retrieve_pool_stats(pool["id"])["stats"]["bytes_in"] == 0
    until(lambda: lb("pool-show", "p1")["status"] == "ACTIVE")
    agent = client.get_lbaas_agent_hosting_pool(pool["id"])["agent"]
    assert pool["id"] in {row["id"] for row in client.list_pools_on_lbaas_agent(agent["id"])["pools"]}
    client.disassociate_health_monitor(pool["id"], monitor["id"])
    client.delete_health_monitor(monitor["id"])
    with pytest.raises(NotFound, match=r"Vip nothing could not be found"):
        client.show_vip("nothing")


def test_every_command_is_driven() -> None:
    commands = {name for name, _ in NeutronShell("2.0").command_manager if name.startswith("lb-")}
    assert len(commands) == 25
    assert commands == commands_named(__file__, runner="lb", prefix="lb-")
