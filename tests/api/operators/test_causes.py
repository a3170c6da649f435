"""One problem for each cause, with its consequences in the text and a command that helps."""

import shlex
from typing import Any

import pytest

from evenkeel.api.operators.causes import SystemState, explain_problems
from evenkeel.core.control.agents import AgentLiveness
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.lists import LoadBalancerSummary, StuckLoadBalancers
from evenkeel.core.control.shards import ShardCount
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.placement.reach import Reachability, ReachabilityKind

DEVICE = "192.0.2.11:443"


def agent(name: str, state: str = "alive", group: int = 1, environment: str = "prod") -> AgentLiveness:
    return AgentLiveness(
        id=AgentId(f"id-{name}"),
        host=name,
        alive=state == "alive",
        silent=state == "silent",
        environment=environment,
        group_number=group,
    )


def reach(kind: ReachabilityKind, *away: str, tenants: int = 1, driver: str = "haproxy") -> UnreachableGroup:
    return UnreachableGroup(
        environment="prod", number=1, reach=Reachability(kind=kind, away=away), tenants=tenants, device_driver=driver
    )


def stuck(group: int | None = 1, **values: Any) -> StuckLoadBalancers:
    return StuckLoadBalancers(environment="prod", group_number=group, **values)


def shown(*waits: StuckLoadBalancers, outage: str = "", **found: Any) -> list[tuple[str, str, str]]:
    usual: dict[str, Any] = {"halted": (), "agents": (agent("h1"), agent("h2")), "shards": (), "groups": ()}
    summary = LoadBalancerSummary(
        by_status={}, by_operating_status={}, waiting=0, oldest_pending_seconds=0.0, stuck=waits
    )
    findings = SystemState(outage=outage, load_balancers=summary, **usual | found)
    return [(one.kind, one.text, one.remedy) for one in explain_problems(findings)]


def unserved(count: int) -> tuple[ShardCount, ...]:
    return (ShardCount(environment="prod", total=9, unserved=count),)


HALTED = (Environment(name="prod", device_driver="noop", halted_at=1.0, halted_reason="2 of 2 agents fell silent"),)


def test_a_system_without_trouble_has_no_problem() -> None:
    assert shown() == []


def test_a_silent_agent_is_one_problem_with_its_shards_and_load_balancers() -> None:
    problems = shown(
        stuck(waiting=3, example="lb-1", pending_seconds=500.0, failed=1),
        agents=(agent("h1", "silent"), agent("h2", "silent"), agent("h3", group=2)),
        shards=unserved(4),
        groups=(reach(ReachabilityKind.UNWATCHED),),
    )
    assert problems == [
        (
            "agents_silent",
            "2 agents are silent: h1, h2; 4 shards are not served; 1 load balancer is in ERROR;"
            " 3 load balancers are PENDING with a reason",
            "restart them: on h1, h2: systemctl restart evenkeel-agent",
        )
    ]


def test_a_silent_agent_beside_a_live_one_is_replaced_by_a_command_and_explains_no_load_balancer() -> None:
    problems = shown(stuck(failed=1), agents=(agent("h1", "silent"), agent("h2")), shards=unserved(1))
    assert problems == [
        (
            "agents_silent",
            "1 agent is silent: h1; 1 shard is not served",
            "restart them: on h1: systemctl restart evenkeel-agent; if a host is lost:"
            " evenkeel agent delete h1 --rebind-to h2",
        ),
        ("load_balancers_error", "1 load balancer is in ERROR", "evenkeel loadbalancer list --status ERROR"),
    ]


def test_a_halted_environment_is_one_problem_with_its_agents() -> None:
    problems = shown(
        stuck(waiting=2, example="lb-1"),
        halted=HALTED,
        agents=(agent("h1", "silent"), agent("h2", "silent")),
        shards=unserved(4),
        groups=(reach(ReachabilityKind.UNWATCHED),),
    )
    assert problems == [
        (
            "environment_halted",
            "environment prod is halted: 2 of 2 agents fell silent; 2 agents are silent: h1, h2;"
            " 4 shards are not served; 2 load balancers are PENDING with a reason",
            "bring the agents back: on h1, h2: systemctl restart evenkeel-agent; if they are lost:"
            " evenkeel environment resume prod",
        )
    ]


def test_an_outage_explains_agents_halts_and_changes_but_no_error() -> None:
    problems = shown(
        stuck(waiting=2, example="lb-1", failed=1, pending_seconds=500.0),
        outage="message broker",
        halted=HALTED,
        agents=(agent("h1", "silent"),),
        shards=unserved(4),
        groups=(reach(ReachabilityKind.UNWATCHED),),
    )
    assert [kind for kind, _, _ in problems] == ["load_balancers_error"]


@pytest.mark.parametrize(("driver", "daemon"), [("haproxy", True), ("bigip", False)])
def test_devices_of_which_none_is_reached_are_one_problem_with_a_check_of_each(driver: str, daemon: bool) -> None:
    (problem,) = shown(
        stuck(waiting=2, example="lb-1", failed=1),
        stuck(group=None, pending_seconds=1.0),
        groups=(reach(ReachabilityKind.NONE, DEVICE, driver=driver),),
    )
    kind, text, remedy = problem
    assert (kind, text) == (
        "device_group_unusable",
        f"no device of device group prod/1 can be reached: {DEVICE}; 1 load balancer is in ERROR;"
        " 2 load balancers are PENDING with a reason",
    )
    assert remedy.startswith(f"on h1: curl -kv --max-time 5 https://{DEVICE}/")
    assert ("systemctl status evenkeel-haproxyd" in remedy) is daemon
    assert "device list" not in remedy


def test_one_device_of_a_pair_that_is_out_of_reach_explains_no_load_balancer() -> None:
    problems = shown(stuck(failed=1), groups=(reach(ReachabilityKind.REACHED, DEVICE),))
    assert [kind for kind, _, _ in problems] == ["devices_out_of_reach", "load_balancers_error"]


def test_a_group_whose_agents_were_stopped_is_a_problem_with_its_shards() -> None:
    problems = shown(
        agents=(agent("h1", "stopped"),), shards=unserved(2), groups=(reach(ReachabilityKind.UNWATCHED, tenants=2),)
    )
    assert problems == [
        (
            "device_group_unusable",
            "no agent of device group prod/1 is up, so its devices are not observed; 2 shards are not served",
            "on h1: systemctl restart evenkeel-agent",
        )
    ]


def test_load_balancers_that_wait_for_something_else_are_explained_by_the_name_of_one() -> None:
    problems = shown(stuck(group=None, waiting=2, example="lb-1"), stuck(group=1, pending_seconds=61.0))
    assert problems == [
        ("load_balancers_waiting", "2 load balancers are PENDING with a reason", "evenkeel explain lb-1"),
        ("pending_long", "the oldest change is PENDING for 61 s", "evenkeel loadbalancer list --pending"),
    ]


def test_names_of_hosts_and_devices_are_quoted_for_a_shell() -> None:
    evil = "$(reboot)"
    for found in (
        {"agents": (agent(evil, "silent"), agent("h2"))},
        {"groups": (reach(ReachabilityKind.NONE, evil),)},
    ):
        ((_, _, remedy),) = shown(**found)
        commands = [part for part in remedy.split(": ", 1)[1].split("; ") if "evenkeel agent" in part or "curl" in part]
        assert commands
        for command in commands:
            assert shlex.quote(evil) in command or shlex.quote(f"https://{evil}/") in command


def test_a_problem_has_its_objects_and_its_commands_one_by_one() -> None:
    silent = agent("h 2", "silent")
    summary = LoadBalancerSummary(by_status={}, by_operating_status={}, waiting=0, oldest_pending_seconds=0.0)
    (found,) = explain_problems(
        SystemState(outage="", halted=(), agents=(agent("h1"), silent), shards=(), groups=(), load_balancers=summary)
    )
    assert [(one.kind, one.id, one.name) for one in found.objects] == [("agent", "id-h 2", "h 2")]
    assert [(one.command, one.host) for one in found.commands] == [
        ("systemctl restart evenkeel-agent", "h 2"),
        ("evenkeel agent delete 'h 2' --rebind-to h1", ""),
    ]
    assert all(one.command in found.remedy for one in found.commands)
