"""Every ``lbaas-*`` command of the old ``neutron`` command line against a running controller and agent."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from neutronclient.shell import NeutronShell

from tests.api import bodies
from tests.api.client_shell import Ran, commands_named
from tests.api.neutron.conftest import Shell
from tests.api.stack import Stack
from tests.api.subnet import SUBNET
from tests.waiting import until

HTTP_SECONDS = 120.0

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def lbaas(shell: Shell) -> Shell:
    """Runs ``neutron lbaas-…``."""
    return lambda name, *words: shell(f"lbaas-{name}", *words)


@pytest.fixture
def root(lbaas: Shell, ran: Callable[..., Ran], stack: Stack) -> Iterator[Any]:
    """A load balancer, gone at the end with what tests left below it."""
    made = lbaas("loadbalancer-create", "--name", "lb1", SUBNET.name)
    yield made
    url = f"{stack.url}/v2/lbaas/loadbalancers/{made['id']}"
    httpx.delete(url, params={"cascade": "true"}, timeout=HTTP_SECONDS).raise_for_status()
    until(lambda: ran("lbaas-loadbalancer-show", made["id"]).code == 1)


def test_load_balancers_live_a_whole_life(lbaas: Shell, ran: Callable[..., Ran]) -> None:
    made = lbaas(
        "loadbalancer-create",
        "--name",
        "life",
        "--description",
        "d",
        "--vip-address",
        "10.10.0.77",
        "--admin-state-down",
        bodies.SUBNET_ID,
    )
    assert (made["vip_address"], made["admin_state_up"], made["operating_status"]) == ("10.10.0.77", False, "DISABLED")
    lbaas("loadbalancer-update", "life", "--name", "other", "--admin-state-up", "True")
    shown = lbaas("loadbalancer-show", "other")
    assert (shown["id"], shown["admin_state_up"], shown["provider"]) == (made["id"], True, "dev")
    assert [row["name"] for row in lbaas("loadbalancer-list", "--provider", "dev")] == ["other"]
    assert lbaas("loadbalancer-list", "-c", "id", "-P", "1") == [{"id": made["id"]}]
    assert lbaas("loadbalancer-stats", "other")["total_connections"] == 0
    lbaas("loadbalancer-delete", "other")
    until(lambda: ran("lbaas-loadbalancer-show", made["id"]).code == 1)


def test_listeners_and_pools_live_a_whole_life(lbaas: Shell, root: Any) -> None:
    listener = lbaas(
        "listener-create", "--name", "web", "--loadbalancer", "lb1", "--protocol", "HTTP", "--protocol-port", "80"
    )
    lbaas("listener-update", "web", "--connection-limit", "7", "--description", "d")
    assert lbaas("listener-show", "web")["connection_limit"] == 7
    pool = lbaas(
        "pool-create",
        "--name",
        "servers",
        "--listener",
        "web",
        "--protocol",
        "HTTP",
        "--lb-algorithm",
        "ROUND_ROBIN",
        "--session-persistence",
        "type=APP_COOKIE,cookie_name=sid",
    )
    assert pool["session_persistence"] == {"type": "APP_COOKIE", "cookie_name": "sid"}
    lbaas("pool-update", "servers", "--no-session-persistence", "--lb-algorithm", "SOURCE_IP")
    shown = lbaas("pool-show", "servers")
    assert not shown["session_persistence"] and shown["lb_algorithm"] == "SOURCE_IP"
    assert shown["listeners"] == [{"id": listener["id"]}]
    assert lbaas("listener-list", "--loadbalancer", "lb1")[0]["default_pool_id"] == pool["id"]
    assert [row["id"] for row in lbaas("pool-list")] == [pool["id"]]
    lbaas("pool-delete", "servers")
    lbaas("listener-delete", "web")


def test_members_and_monitors_live_a_whole_life(lbaas: Shell, root: Any) -> None:
    lbaas("pool-create", "--name", "p", "--loadbalancer", "lb1", "--protocol", "HTTP", "--lb-algorithm", "ROUND_ROBIN")
    member = lbaas(
        "member-create", "--name", "m", "--subnet", "blue", "--address", "10.20.0.9", "--protocol-port", "8080", "p"
    )
    lbaas("member-update", "m", "p", "--weight", "9", "--admin-state-up", "False")
    shown = lbaas("member-show", "m", "p")
    assert (shown["weight"], shown["admin_state_up"]) == (9, False)
    assert [row["id"] for row in lbaas("member-list", "p")] == [member["id"]]
    monitor = lbaas(
        "healthmonitor-create", "--name", "h", "--pool", "p", "--type", "HTTP", "--delay", "5", "--timeout", "3",
        "--max-retries", "2", "--url-path", "/up", "--expected-codes", "200,201",
    )  # fmt: skip
    assert monitor["max_retries_down"] == 3
    lbaas("healthmonitor-update", "h", "--delay", "7")
    assert lbaas("healthmonitor-show", "h")["delay"] == 7
    assert [row["id"] for row in lbaas("healthmonitor-list")] == [monitor["id"]]
    lbaas("healthmonitor-delete", "h")
    lbaas("member-delete", "m", "p")
    until(lambda: lbaas("member-list", "p") == [])


def test_policies_and_rules_live_a_whole_life(lbaas: Shell, root: Any) -> None:
    lbaas("listener-create", "--name", "l", "--loadbalancer", "lb1", "--protocol", "HTTP", "--protocol-port", "80")
    pool = lbaas(
        "pool-create", "--name", "t", "--loadbalancer", "lb1", "--protocol", "HTTP", "--lb-algorithm", "ROUND_ROBIN"
    )
    policy = lbaas(
        "l7policy-create", "--name", "y", "--listener", "l", "--action", "REDIRECT_TO_POOL", "--redirect-pool", "t"
    )
    assert policy["redirect_pool_id"] == pool["id"] and policy["position"] == 1
    lbaas("l7policy-update", "y", "--action", "REDIRECT_TO_URL", "--redirect-url", "https://example.com/")
    assert lbaas("l7policy-show", "y")["redirect_url"] == "https://example.com/"
    rule = lbaas("l7rule-create", "--type", "PATH", "--compare-type", "STARTS_WITH", "--value", "/a", "y")
    lbaas("l7rule-update", rule["id"], "y", "--invert", "--value", "/b")
    shown = lbaas("l7rule-show", rule["id"], "y")
    assert (shown["value"], shown["invert"]) == ("/b", True)
    assert [row["id"] for row in lbaas("l7rule-list", "y")] == [rule["id"]]
    assert [row["id"] for row in lbaas("l7policy-list")] == [policy["id"]]
    lbaas("l7rule-delete", rule["id"], "y")
    lbaas("l7policy-delete", "y")


def test_status_tree_is_shown(lbaas: Shell, root: Any, ran: Callable[..., Ran]) -> None:
    lbaas("listener-create", "--name", "l", "--loadbalancer", "lb1", "--protocol", "HTTP", "--protocol-port", "80")
    tree = json.loads(ran("lbaas-loadbalancer-status", "lb1").output)
    assert [row["name"] for row in tree["loadbalancer"]["listeners"]] == ["l"]


def test_agent_and_load_balancer_find_each_other(lbaas: Shell, shell: Shell, root: Any) -> None:
    (agent,) = shell("agent-list")
    assert agent["agent_type"] == "Loadbalancerv2 agent" and agent["binary"] == "evenkeel-agent"
    assert shell("agent-show", agent["id"])["alive"] is True
    until(lambda: lbaas("loadbalancer-show", "lb1")["provisioning_status"] == "ACTIVE")  # it has a place
    hosting = lbaas("agent-hosting-loadbalancer", "lb1")
    assert (hosting["id"] if isinstance(hosting, dict) else hosting[0]["id"]) == agent["id"]
    assert [row["id"] for row in lbaas("loadbalancer-list-on-agent", agent["id"])] == [root["id"]]


def test_agent_is_drained_and_not_forgotten_while_it_lives(shell: Shell, ran: Callable[..., Ran]) -> None:
    (agent,) = shell("agent-list")
    shell("agent-update", agent["id"], "--admin-state-down")
    assert shell("agent-show", agent["id"])["admin_state_up"] is False
    shell("agent-update", agent["id"], "--admin-state-up")
    refused = ran("agent-delete", agent["id"])
    assert refused.code == 1 and "alive" in refused.errors + refused.output


def test_further_requests_of_the_neutron_command_line_are_answered(shell: Shell) -> None:
    assert "lbaasv2" in {row["alias"] for row in shell("ext-list")}
    assert SUBNET.name in [row["name"] for row in shell("subnet-list")]
    assert SUBNET.network_id in [row["id"] for row in shell("net-list")]
    shell("quota-update", "--tenant-id", "p9", "--loadbalancer", "7")
    assert shell("quota-show", "--tenant-id", "p9")["loadbalancer"] == 7
    shell("quota-delete", "--tenant-id", "p9")
    assert shell("quota-show", "--tenant-id", "p9")["loadbalancer"] == -1
    assert shell("flavor-list") == []


def test_refusals_are_reported_by_their_names(ran: Callable[..., Ran], root: Any) -> None:
    missing = ran("lbaas-listener-show", "nothing")
    assert missing.code == 1 and "Unable to find listener" in missing.errors
    taken = ran("lbaas-loadbalancer-create", "--vip-address", root["vip_address"], SUBNET.name)
    assert taken.code == 1 and "is in use on network" in taken.errors


def test_every_command_is_driven() -> None:
    commands = {name for name, _ in NeutronShell("2.0").command_manager if name.startswith("lbaas-")}
    assert len(commands) == 39
    assert commands == commands_named(__file__, runner="lbaas", prefix="lbaas-")
