"""How many requests things cost: the reason why this driver was written."""

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.devices import reachability
from evenkeel.devices.bigip.icontrol import client
from tests.devices.bigip.rig import BigIpRig, at
from tests.devices.services import PROJECT, batch, gone, listener, pool, service, session_of


@pytest.fixture(autouse=True)
def _no_busy_machine_is_a_silent_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers ask a device that has been silent for a second whether it lives, which would be a request more."""
    monkeypatch.setattr(reachability, "SILENCE_BEFORE_PROBE_SECONDS", 60.0)


async def test_a_new_tenants_first_load_balancer_costs_at_most_10_requests(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.check()
    rig.emulator.reset_counts()
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(members=3), complete=True))
    assert rig.counts() == {"reads": 0, "writes": 10}


async def test_the_same_step_by_step_costs_at_most_33_requests(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.check()
    rig.emulator.reset_counts()
    await agent.take_over(PROJECT, 1, session_of(1))
    steps = (
        service(listeners=(), pools=()),
        service(listeners=(listener(default_pool_id=None),), pools=()),
        *(service(pools=(pool(members=members, monitor=None),)) for members in (0, 1, 2, 3)),
        service(members=3),
    )
    counts = []
    for revision, step in enumerate(steps, 1):
        outcome = await agent.apply(batch(replace(step, revision=revision), complete=revision == 1))
        assert not outcome.outcomes[0].error
        counts.append(rig.counts())
    # A change has at least four: its transaction, the guard, one object, and the commit.
    assert [count["writes"] for count in counts] == [7, 4, 5, 4, 4, 4, 5]
    assert not any(count["reads"] for count in counts)


async def test_the_second_load_balancer_costs_a_request_an_object(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    rig.counts()
    await agent.apply(batch(service(2)))
    assert rig.counts() == {"reads": 0, "writes": 7}


async def test_a_member_more_costs_at_most_5_requests(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(members=3)))
    rig.counts()
    await agent.apply(batch(service(members=4)))
    counts = rig.counts()
    assert counts["reads"] + counts["writes"] <= 5
    assert counts["reads"] <= 1


async def test_a_pass_over_what_is_so_already_costs_two_reads(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    rig.counts()
    for each in (service(), service(2)):
        await agent.apply(batch(each))
        assert rig.counts() == {"reads": 2, "writes": 0}


async def test_a_light_pass_finds_what_was_changed_on_pools_and_listeners(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service()))
    for path, changes in (
        (at("ltm/pool", "pool-1"), {"loadBalancingMode": "least-connections-member"}),
        (at("ltm/pool", "pool-1"), {"members": []}),
        (at("ltm/virtual", "listener-1"), {"disabled": True}),
    ):
        content = await rig.content()
        await rig.hands.call("PATCH", path, changes)
        assert (await agent.apply(batch(service()))).writes == 1
        assert await rig.content() == content


async def test_everything_is_read_again_when_the_last_time_was_long_ago(rig: BigIpRig) -> None:
    agent = rig.owner(full_read_interval="0")
    await agent.apply(batch(service()))
    content = await rig.content()
    await rig.hands.call("PATCH", at("ltm/monitor/http", "monitor-1"), {"interval": 99})
    assert (await agent.apply(batch(service()))).writes == 1
    assert await rig.content() == content


async def test_looking_at_200_load_balancers_costs_at_most_8_reads(rig: BigIpRig) -> None:
    agent = rig.owner()
    services: list[ServiceDefinition] = [service(number, members=1) for number in range(1, 201)]
    outcome = await agent.apply(batch(*services))
    assert not any(one.error for one in outcome.outcomes)
    rig.counts()
    seen = await agent.observe()
    assert rig.counts()["reads"] <= 8
    found = {(one.kind, one.id): one.status for one in seen.statuses}
    assert len(found) == 4 * 200
    assert found["loadbalancer", "lb-200"] in OperatingStatus
    assert {one.listener_id for one in seen.statistics} == {f"listener-{number}" for number in range(1, 201)}


async def test_a_takeover_of_a_tenant_that_exists_costs_at_most_6_requests(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), epoch=1))
    agent = rig.owner()
    rig.counts()
    await agent.take_over(PROJECT, 2, session_of(2))
    counts = rig.counts()
    assert counts["reads"] + counts["writes"] <= 6
    await agent.take_over(PROJECT, 2, session_of(2))
    assert rig.counts() == {"reads": 0, "writes": 0}


async def test_a_session_logs_in_once(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    await agent.observe()
    assert rig.emulator.request_counts["bigip-1"]["logins"] == 1


async def test_a_change_of_one_object_among_100_listeners_costs_at_most_5_requests(rig: BigIpRig) -> None:
    agent = rig.owner()
    listeners = tuple(listener(number, protocol_port=1000 + number) for number in range(1, 101))
    pools = tuple(pool(number, members=10) for number in range(1, 101))
    whole = service(listeners=listeners, pools=pools)
    await agent.apply(batch(replace(whole, listeners=listeners[:-1], pools=pools[:-1])))
    rig.counts()
    # a listener with its pool and monitor
    await agent.apply(batch(replace(whole, revision=2)))
    assert rig.counts() == {"reads": 0, "writes": 6}
    changed = replace(pools[-1], lb_algorithm="LEAST_CONNECTIONS")
    await agent.apply(batch(replace(whole, revision=3, pools=(*pools[:-1], changed))))
    counts = rig.counts()
    assert counts["reads"] + counts["writes"] <= 5


async def test_removing_an_empty_partition_costs_9_requests(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.check()
    await agent.apply(batch(service(), complete=True))
    await agent.apply(batch(gone()))
    await agent.apply(batch(complete=True))
    rig.counts()
    assert not (await agent.retire(PROJECT, 1, session_of(1))).left
    assert rig.counts() == {"reads": 1, "writes": 8}
    assert not (await agent.retire(PROJECT, 1, session_of(1))).left
    assert rig.counts() == {"reads": 2, "writes": 0}


async def test_pools_with_members_are_read_in_pages(rig: BigIpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemons of a device have not the time for hundreds of them in one answer."""
    services = [service(number, members=2) for number in range(1, 8)]
    await rig.owner().apply(batch(*services, complete=True))
    agent = rig.owner()
    await agent.observe()
    rig.counts()
    whole = await agent.observe()
    usual = rig.counts()["reads"]
    monkeypatch.setattr(client, "EXPANDED_ITEMS_MAX", 3)
    assert (await agent.observe()).statuses == whole.statuses
    assert rig.counts()["reads"] == usual + 2
    assert (await rig.owner().apply(batch(*services, complete=True, epoch=1))).writes == 0
    monkeypatch.setattr(client, "EXPANDED_ITEMS_MAX", 7)
    await agent.observe()
    rig.counts()
    await agent.observe()
    assert rig.counts()["reads"] == usual
