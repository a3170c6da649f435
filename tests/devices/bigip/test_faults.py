"""A device that misbehaves: nothing is written twice, nothing is taken for absent, nobody writes out of turn."""

import asyncio
from typing import Any

import pytest

from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, StaleOwner
from evenkeel.core.ports import Reloadable
from evenkeel.devices.bigip.naming import build_guard
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, at
from tests.devices.services import PROJECT, batch, gone, monitor, pool, service, session_of
from tests.waiting import eventually

COMMIT = {"method": "PATCH", "path": r"/mgmt/tm/transaction/\d+$"}


def add(rig: BigIpRig, **fault: Any) -> int:
    return int(rig.emulator.faults.add(Fault(**fault)))


async def test_a_busy_device_is_queried_again(rig: BigIpRig) -> None:
    agent = rig.owner(retry_time="60")
    add(rig, kind="busy", count=3)
    add(rig, kind="busy", count=2, **COMMIT)
    outcome = await agent.apply(batch(service(), complete=True))
    assert not outcome.outcomes[0].error


async def test_a_restart_of_the_rest_daemon_is_waited_out_and_nothing_counts_as_absent(rig: BigIpRig) -> None:
    agent = rig.owner(retry_time="60")
    await agent.apply(batch(service(), service(2), complete=True))
    content = await rig.content()
    for kind in (
        "busy",
        "unregistered",
    ):  # first the web server answers for it, then it has not registered its paths yet
        add(rig, kind=kind, count=6)
    assert (await agent.apply(batch(service(), service(2), complete=True))).writes == 0
    assert await rig.content() == content
    for kind in ("busy", "unregistered"):
        add(rig, kind=kind, count=4, method="POST|PATCH")
    outcome = await agent.apply(batch(service(members=1)))
    assert outcome.writes == 1 and not outcome.outcomes[0].error
    assert len(rig.commits()) == 2  # first batch with the guard, change


@pytest.mark.parametrize("connections", [1, 3])
async def test_no_more_requests_are_in_flight_than_the_option_allows(rig: BigIpRig, connections: int) -> None:
    agent = rig.owner(connections_max=str(connections))
    await agent.apply(batch(service(), complete=True))
    fault = add(rig, kind="hold", method="GET", path="/mgmt/tm/(ltm|auth|sys)")
    observing = asyncio.create_task(agent.observe())
    reading = asyncio.create_task(agent.apply(batch(service(), complete=True)))
    await eventually(lambda: sum(bool(one["held"]) for one in rig.emulator.write_log.in_flight()) == connections)
    for _ in range(20):
        await asyncio.sleep(0)
        assert len(rig.emulator.write_log.in_flight()) <= connections
    rig.emulator.faults.remove(fault)
    await observing
    assert not (await reading).outcomes[0].error


@pytest.mark.parametrize("kind", ["busy", "mcpd_lost", "refuse", "unregistered", "drop_before"])
async def test_a_device_that_cannot_tell_is_unavailable_and_nothing_is_removed(rig: BigIpRig, kind: str) -> None:
    await rig.owner().apply(batch(service()))
    content = await rig.content()
    agent = rig.owner(retry_time="0.2")
    add(rig, kind=kind)
    for each in (batch(service(2), complete=True), batch(gone())):
        with pytest.raises(DeviceUnavailable):
            await agent.apply(each)
    with pytest.raises(DeviceUnavailable):
        await agent.take_over(PROJECT, 2, session_of(2))
    with pytest.raises(DeviceUnavailable):
        await agent.observe()
    states = await agent.check()
    assert not states[0].reachable and states[0].problem
    rig.emulator.faults.clear()
    assert await rig.content() == content
    assert not (await agent.apply(batch(service(2)))).outcomes[0].error


@pytest.mark.parametrize("kind", ["mcpd_lost", "drop_before", "drop_after"])
async def test_a_lost_answer_to_a_commit_is_looked_into_and_never_repeated_blindly(rig: BigIpRig, kind: str) -> None:
    agent = rig.owner(retry_time="0.2")
    await agent.apply(batch(service(2)))
    before = len(rig.commits())
    add(rig, kind=kind, count=1, **COMMIT)
    outcome = await agent.apply(batch(service()))
    assert not outcome.outcomes[0].error
    assert len(rig.commits()) == before + 1
    assert (await agent.apply(batch(service(), service(2), complete=True))).writes == 0


async def test_a_lost_answer_to_a_takeover_is_looked_into(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), epoch=1))
    add(rig, kind="drop_after", count=1, **COMMIT)
    await rig.owner().take_over(PROJECT, 2, session_of(2))
    with pytest.raises(StaleOwner):
        await rig.owner().apply(batch(service(2), epoch=1))


async def test_a_commit_that_hangs_and_is_given_up_cannot_happen_later(rig: BigIpRig) -> None:
    agent = rig.owner(commit_timeout="5")
    await agent.apply(batch(service()))
    add(rig, kind="hold", count=1, **COMMIT)
    await agent.apply(batch(service(members=1)))
    await agent.apply(batch(service(members=5)))
    content = await rig.content()
    rig.emulator.faults.release(None)
    refused = [entry for entry in rig.emulator.write_log.entries(after=0) if entry["event"] == "transaction_dropped"]
    assert refused
    assert await rig.content() == content
    assert (await agent.apply(batch(service(members=5), complete=True))).writes == 0


async def test_a_batch_held_up_on_its_way_is_refused_after_a_takeover(rig: BigIpRig) -> None:
    slow, quick = rig.owner(), rig.owner()
    await slow.apply(batch(service(), epoch=1))
    add(rig, kind="hold", count=1, **COMMIT)
    late = asyncio.create_task(slow.apply(batch(service(2), epoch=1)))
    await eventually(lambda: any(one["held"] for one in rig.emulator.write_log.in_flight()))
    await quick.apply(batch(service(), epoch=2, complete=True))
    content = await rig.content()
    rig.emulator.faults.release(None)
    with pytest.raises(StaleOwner):
        await late
    assert await rig.content() == content


async def test_a_silent_device_does_not_hold_anybody_up_for_long(rig: BigIpRig) -> None:
    agent = rig.owner(request_timeout="5", connect_timeout="3", commit_timeout="5")
    await agent.apply(batch(service()))
    fault = add(rig, kind="unreachable")
    for _ in range(2):
        with pytest.raises(DeviceUnavailable):
            await agent.apply(batch(service(members=1)))
    rig.emulator.faults.remove(fault)
    assert not (await agent.apply(batch(service(members=1)))).outcomes[0].error


async def test_an_expired_token_is_renewed(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service()))
    for token in (await rig.hands.call("GET", "../shared/authz/tokens")).get("items", ()):
        await rig.hands.call("DELETE", f"../shared/authz/tokens/{token['name']}")
    assert not (await agent.apply(batch(service(2)))).outcomes[0].error
    assert rig.emulator.request_counts["bigip-1"]["logins"] >= 2


async def test_a_corrected_password_is_used_at_once(rig: BigIpRig) -> None:
    agent = rig.agent(icontrol_password="wrong")
    assert "password" in (await agent.check())[0].problem
    assert isinstance(agent, Reloadable) and "icontrol_password" in agent.reloaded_options
    with pytest.raises(ValueError, match="ca_file: /nowhere"):
        agent.reload(rig.options(ca_file="/nowhere"))
    agent.reload(rig.options())
    (state,) = await agent.check()
    assert state.reachable and not state.problem


async def test_a_wrong_password_is_reported_and_not_shown(rig: BigIpRig) -> None:
    agent = rig.owner(icontrol_password="hunter2")
    with pytest.raises(DeviceUnavailable) as refusal:
        await agent.take_over(PROJECT, 1, session_of(1))
    assert "password" in str(refusal.value) and "hunter2" not in str(refusal.value)
    problem = (await agent.check())[0].problem
    assert "password" in problem and "hunter2" not in problem


async def test_a_certificate_of_an_unknown_authority_is_not_accepted(rig: BigIpRig) -> None:
    state = (await rig.owner(ca_file="").check())[0]
    assert not state.reachable and "certificate" in state.problem
    assert (await rig.owner(ca_file="", verify_tls="false").check())[0].reachable


async def test_a_device_that_lost_its_configuration_gets_it_back(rig: BigIpRig) -> None:
    agent = rig.owner(save_interval="0")
    rig.emulator.snapshot("bigip-1", "empty")
    await agent.apply(batch(service(), service(2), complete=True))
    content = await rig.content()
    rig.emulator.restore("bigip-1", "empty")
    outcome = await agent.apply(batch(service(), service(2), complete=True))
    assert not any(one.error for one in outcome.outcomes)
    assert await rig.content() == content


async def test_written_changes_are_saved(rig: BigIpRig) -> None:
    agent = rig.owner(save_interval="0.01")
    await agent.apply(batch(service()))

    def saved() -> bool:
        entries = rig.emulator.write_log.entries(after=0)
        return any(entry["path"].startswith("/mgmt/tm/sys/config") for entry in entries)

    await eventually(saved)


async def test_a_partition_of_another_environment_is_left_alone(rig: BigIpRig) -> None:
    await rig.owner(environment="dev").apply(batch(service()))
    content = await rig.content()
    other = rig.owner(environment="dev_a", prefix="dev")
    with pytest.raises(DeviceRejected, match="belongs to device group dev/1; this is device group dev_a/1"):
        await other.apply(batch(service(2), epoch=9, complete=True))
    assert await rig.content() == content


async def test_environments_whose_names_begin_alike_do_not_touch_each_other(rig: BigIpRig) -> None:
    short, longer = rig.owner(environment="dev"), rig.owner(environment="dev_a")
    await longer.apply(batch(service(1)))
    content = await rig.hands.content(f"dev_a_{PROJECT}")
    await short.apply(batch(service(2)))
    await short.apply(batch(complete=True))
    assert content and await rig.hands.content(f"dev_a_{PROJECT}") == content
    mine = {status.id for status in (await short.observe()).statuses}
    theirs = {status.id for status in (await longer.observe()).statuses}
    assert not mine and "lb-1" in theirs


async def test_many_load_balancers_are_written_in_several_transactions(rig: BigIpRig) -> None:
    agent = rig.owner(commands_max="10")
    outcome = await agent.apply(batch(*(service(number) for number in range(1, 8))))
    assert outcome.writes == 4
    assert not any(one.error for one in outcome.outcomes)
    assert (await agent.apply(batch(*(gone(number) for number in range(1, 8))))).writes >= 4
    assert not await rig.content()


async def test_every_batch_names_the_guard_first(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), service(2), epoch=3, complete=True))
    await agent.apply(batch(service(members=1), gone(2), epoch=3))
    commits = rig.commits()
    name = build_guard(3, session_of(3)).name
    making, changing = (entry["body"]["commands"][0] for entry in commits)
    assert making["method"] == "POST" and making["body"]["name"] == name
    assert changing["method"] == "PATCH" and changing["body"]
    assert changing["uri"].endswith(f"/~{PARTITION}~{name}")
    assert {entry["user_agent"] for entry in commits} == {"evenkeel-agent/host-1"}


async def test_nothing_else_is_written_outside_transactions_than_the_claim_and_the_partition(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), epoch=3, complete=True))
    direct = [entry["path"] for entry in rig.emulator.write_log.entries(after=0) if entry["event"] == "write"]
    assert direct == ["/mgmt/tm/ltm/data-group/internal", "/mgmt/tm/auth/partition"]


async def test_an_object_that_bears_another_environments_mark_is_a_problem_and_stays(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service()))
    await rig.hands.call("PATCH", at("ltm/pool", "pool-1"), {"description": "evenkeel:prod:pool:lb-1:pool-1"})
    outcome = await agent.apply(batch(service(members=1), complete=True))
    assert "prod" in outcome.outcomes[0].error
    assert outcome.writes == 0


async def test_unsupported_monitor_is_the_error_of_its_load_balancer_only(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(2)))
    odd = service(pools=(pool(monitor=monitor(type="SCTP")),))
    outcome = await agent.apply(batch(odd, service(2, members=1), complete=True))
    assert [bool(one.error) for one in outcome.outcomes] == [True, False]
    assert "type SCTP" in outcome.outcomes[0].error
