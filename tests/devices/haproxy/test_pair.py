"""Two hosts that hold the same."""

from typing import Any

import pytest

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable, StaleOwner
from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.driver import _peers_for_host
from evenkeel.haproxyd import wire
from tests.devices.haproxy.features import one_pool, sticky
from tests.devices.haproxy.rig import PARTITION, Box, HaproxyRig
from tests.devices.services import PROJECT, batch, gone, service, session_of
from tests.waiting import eventually


async def plain(box: Box) -> dict[str, Any]:
    """What a box holds, but for where it listens."""
    content = await box.content()
    for one in content.values():
        for frontend in one.get("frontends", ()) if isinstance(one, dict) else ():
            frontend.pop("binds")
    return {name: one for name, one in content.items() if not name.startswith("file frontend")}


def refused(outcome: PartitionOutcome) -> list[str]:
    return [one.load_balancer_id for one in outcome.outcomes if one.error]


async def test_both_get_the_same(pair: HaproxyRig) -> None:
    outcome = await pair.owner().apply(batch(service(), complete=True))
    first, second = pair.boxes
    assert outcome.writes == 2 and not outcome.lagging and not refused(outcome)
    assert await plain(first) == await plain(second) != {}


async def test_one_that_is_away_lags_and_catches_up(pair: HaproxyRig) -> None:
    agent, (first, second) = pair.owner(), pair.boxes
    await agent.apply(batch(service(), service(2), complete=True))
    await second.stop()
    outcome = await agent.apply(batch(service(members=1), gone(2)))
    assert outcome.lagging == (second.host,) and outcome.writes == 1 and not refused(outcome)
    await second.start()
    outcome = await agent.apply(batch(service(members=1), complete=True))
    assert not outcome.lagging and outcome.writes == 1
    assert await plain(first) == await plain(second)


async def test_one_that_returns_has_its_guard_moved_before_anything_else(pair: HaproxyRig) -> None:
    (old, new), (first, second) = (pair.owner(), pair.owner()), pair.boxes
    await old.apply(batch(service(), epoch=1))
    await second.stop()
    await new.take_over(PROJECT, 2, session_of(2))
    await new.apply(batch(service(members=1), epoch=2))
    await second.start()
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    await new.apply(batch(service(members=1), epoch=2, complete=True))
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    assert await plain(first) == await plain(second)


async def test_without_any_it_is_unavailable(pair: HaproxyRig) -> None:
    agent = pair.owner()
    for box in pair.boxes:
        await box.stop()
    with pytest.raises(DeviceUnavailable):
        await agent.apply(batch(service()))
    assert not any(state.reachable for state in await agent.check())


async def test_a_missing_one_is_seen_and_the_other_one_observed(pair: HaproxyRig) -> None:
    agent, (first, second) = pair.owner(), pair.boxes
    await agent.apply(batch(service()))
    await first.stop()
    seen = await agent.observe()
    assert {state.name: state.reachable for state in seen.devices} == {first.host: False, second.host: True}
    assert seen.statuses


async def test_peers_know_each_other_after_the_first_batch(pair: HaproxyRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(one_pool(session_persistence=sticky("SOURCE_IP"))))
    shown = [box.running.partitions.show(PARTITION) for box in pair.boxes]
    assert [one.peers for one in shown] == [(shown[1].peer,), (shown[0].peer,)]
    assert (await agent.apply(batch(complete=False))).writes == 0


async def test_a_client_stays_with_its_member_on_the_other_host(pair: HaproxyRig) -> None:
    agent, (first, second) = pair.owner(), pair.boxes
    await agent.apply(batch(one_pool(session_persistence=sticky("SOURCE_IP"))))
    table = "show table pool-1"
    await eventually(lambda: first.tell("set table pool-1 key ::ffff:192.0.2.1 data.server_id 1"))

    async def arrived() -> bool:
        return "192.0.2.1" in await second.tell(table)

    await eventually(arrived)


async def test_two_daemons_of_one_name_cannot_be_a_pair(rig: HaproxyRig) -> None:
    same = f"https://{rig.box.host},https://{rig.box.host.replace('127.0.0.1', 'localhost')}"
    agent = open_group(rig.options(haproxyd_url=same, ha_type="pair"), environment="dev", group_number=1, host="host-1")
    states = await agent.check()
    await agent.close()
    assert all("reports the name 'one' too" in state.problem for state in states)


async def test_hosts_with_different_content_in_two_observations_are_out_of_sync(pair: HaproxyRig) -> None:
    def unchecked(members: int) -> ServiceDefinition:
        return one_pool(members=members, monitor=None)

    agent, (first, second) = pair.owner(), pair.boxes
    await agent.apply(batch(unchecked(3), service(2), complete=True))
    await second.stop()
    await agent.apply(batch(unchecked(1)))
    await second.start()

    async def reasons() -> dict[str, str]:
        seen = await agent.observe()
        return {one.id: one.reason for one in seen.statuses if one.id == "lb-1" and one.reason}

    async def found() -> bool:
        both = ", ".join(sorted((first.host, second.host)))
        return await reasons() == {"lb-1": f"not in step with the other devices: {both}"}

    await eventually(found)
    await agent.apply(batch(unchecked(1), service(2), complete=True))
    assert await reasons() == {}


def test_a_daemon_that_tells_no_certificate_is_introduced_to_nobody() -> None:
    old = wire.HaproxyPeer(name="two", address="127.0.0.1", port=1)
    new = wire.HaproxyPeer(name="three", address="127.0.0.1", port=2, certificate="PEM")
    receipts = {
        peer.name: wire.Receipt(outcomes=(), how="nothing", peer=peer)
        for peer in (wire.HaproxyPeer(name="one", address="127.0.0.1", port=3, certificate="PEM"), old, new)
    }
    assert _peers_for_host(receipts, "one") == (new,)
