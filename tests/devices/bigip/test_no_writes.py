"""One device of a pair answers, and takes no writes."""

from collections.abc import Iterator
from typing import Any

import pytest

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, OwnershipGuardLost, StaleOwner
from evenkeel.core.resources.model import Vip
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import response_error
from evenkeel.devices.bigip.naming import BigIpNames
from icontrol_emulator import Fault
from tests.devices.bigip.rig import ENVIRONMENT, PARTITION, BigIpRig, Hands
from tests.devices.services import PROJECT, batch, service, session_of

BUSY = Fault(kind="busy", device="bigip-2", method="POST", path="transaction")
REFUSES = Fault(kind="refuse_transaction", device="bigip-2")
EITHER = pytest.mark.parametrize("fault", [BUSY, REFUSES], ids=["busy", "refuses"])
QUICK = {"retry_time": "0.1"}


def away(pair: BigIpRig) -> str:
    return pair.emulator.devices["bigip-2"].url.removeprefix("https://")


async def epochs(pair: BigIpRig, name: str) -> list[str]:
    """The epochs of the guards that the device holds."""
    groups = await Hands(pair.emulator, name).items("ltm/data-group/internal", PARTITION)
    return [one["records"][0]["data"] for name, one in groups.items() if name.startswith("evenkeel_guard_")]


async def same_on_both(pair: BigIpRig) -> bool:
    first, second = [await Hands(pair.emulator, name).content() for name in pair.emulator.devices]
    return first == second != {}


def taken(outcome: PartitionOutcome) -> list[int]:
    return [one.revision for one in outcome.outcomes if not one.error]


@EITHER
async def test_one_that_takes_no_guard_lags_and_gets_everything_when_it_does(pair: BigIpRig, fault: Fault) -> None:
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    before = await Hands(pair.emulator, "bigip-2").content()
    pair.emulator.faults.add(fault)
    new = pair.agent(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))
    for revision, complete in ((2, True), (3, False), (4, True)):
        wanted = batch(service(revision=revision, members=1), epoch=2, complete=complete)
        outcome = await new.apply(wanted)
        assert taken(outcome) == [revision] and outcome.lagging == (away(pair),)
    assert await Hands(pair.emulator, "bigip-2").content() == before
    assert await epochs(pair, "bigip-1") == ["2"] and await epochs(pair, "bigip-2") == ["1"]
    pair.emulator.faults.clear()
    outcome = await new.apply(batch(service(revision=4, members=1), epoch=2, complete=True))
    assert not outcome.lagging and outcome.writes == 1 and await same_on_both(pair)
    assert await epochs(pair, "bigip-2") == ["2"]


@EITHER
async def test_one_that_takes_the_guard_late_is_not_built_from_one_change(pair: BigIpRig, fault: Fault) -> None:
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    before = await Hands(pair.emulator, "bigip-2").content()
    pair.emulator.faults.add(fault)
    new = pair.agent(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))
    await new.apply(batch(service(), service(2), epoch=2, complete=True))
    pair.emulator.faults.clear()
    for _ in range(2):
        with pytest.raises(OwnershipGuardLost):
            await new.apply(batch(service(2, members=1), epoch=2))
    assert await Hands(pair.emulator, "bigip-2").content() == before
    await new.take_over(PROJECT, 2, session_of(2))
    outcome = await new.apply(batch(service(), service(2, members=1), epoch=2, complete=True))
    assert not outcome.lagging and await same_on_both(pair)


@EITHER
async def test_a_newer_owner_there_is_never_taken_for_a_device_that_lags(pair: BigIpRig, fault: Fault) -> None:
    await pair.owner().apply(batch(service(), epoch=1, complete=True))
    pair.emulator.faults.add(fault)
    late, newer = pair.agent(**QUICK), pair.agent(**QUICK)
    await late.take_over(PROJECT, 2, session_of(2))
    pair.emulator.faults.clear()
    pair.emulator.faults.add(Fault(kind="refuse", device="bigip-1"))
    await newer.take_over(PROJECT, 3, session_of(3))
    await newer.apply(batch(service(members=3), epoch=3, complete=True))
    pair.emulator.faults.clear()
    content = await Hands(pair.emulator, "bigip-2").content()
    for complete in (True, False):
        with pytest.raises(StaleOwner) as refusal:
            await late.apply(batch(service(members=1), epoch=2, complete=complete))
        assert refusal.value.seen_epoch == 3
    assert await Hands(pair.emulator, "bigip-2").content() == content and await epochs(pair, "bigip-2") == ["3"]


async def test_without_one_that_takes_writes_the_reason_is_reported(pair: BigIpRig) -> None:
    pair.emulator.faults.add(Fault(kind="refuse_transaction"))
    new = pair.agent(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))  # the partition is new: its guard comes with the first objects
    for complete in (True, False):
        with pytest.raises(DeviceUnavailable, match="refused by an injected fault"):
            await new.apply(batch(service(), epoch=2, complete=complete))
    assert all(state.reachable for state in await new.check()), "they answer"


@EITHER
async def test_one_that_takes_no_first_guard_lags_and_gets_everything_when_it_does(
    pair: BigIpRig, fault: Fault
) -> None:
    new = pair.agent(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))
    pair.emulator.faults.add(fault)
    for revision, complete in ((1, True), (2, False)):
        outcome = await new.apply(batch(service(revision=revision), epoch=2, complete=complete))
        assert taken(outcome) == [revision] and outcome.lagging == (away(pair),)
    assert not await epochs(pair, "bigip-2")
    pair.emulator.faults.clear()
    outcome = await new.apply(batch(service(revision=2), epoch=2, complete=True))
    assert not outcome.lagging and await same_on_both(pair)
    assert await epochs(pair, "bigip-2") == ["2"]


@pytest.fixture
def read_only(pair: BigIpRig, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Hosts that refuse whatever is created."""
    hosts: set[str] = set()
    send = IControl.send

    async def refusing(self: IControl, method: str, path: str, **given: Any) -> dict[str, Any]:
        if self.host in hosts and method == "POST" and not path.startswith("/mgmt/tm/transaction"):
            body = b'{"code":400,"message":"01070734:3: Configuration error: read-only"}'
            raise response_error(self.host, 400, body)
        return await send(self, method, path, **given)

    monkeypatch.setattr(IControl, "send", refusing)
    return hosts


@pytest.mark.parametrize("epoch", [1, 2])
async def test_one_that_refuses_a_new_tenants_partition_lags(pair: BigIpRig, read_only: set[str], epoch: int) -> None:
    agent = pair.agent(**QUICK)
    read_only.add(away(pair))
    await agent.take_over(PROJECT, epoch, session_of(epoch))
    outcome = await agent.apply(batch(service(), epoch=epoch, complete=True))
    assert taken(outcome) == [1] and outcome.lagging == (away(pair),)
    read_only.clear()
    outcome = await agent.apply(batch(service(), epoch=epoch, complete=True))
    assert not outcome.lagging and await same_on_both(pair)


async def test_one_whose_partition_is_somebody_elses_does_not_lag(pair: BigIpRig) -> None:
    """Trying again would never help, so it is told at once."""
    stranger = BigIpNames(environment="other", prefix=ENVIRONMENT, group=1).marked_description("partition")
    await Hands(pair.emulator, "bigip-2").call("POST", "auth/partition", {"name": PARTITION, "description": stranger})
    with pytest.raises(DeviceRejected, match="belongs to device group other/1"):
        await pair.agent(**QUICK).take_over(PROJECT, 1, session_of(1))


async def test_one_that_refuses_every_commit_of_its_owner_lags_and_no_load_balancer_is_to_blame(pair: BigIpRig) -> None:
    agent = pair.agent(**QUICK)
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(), complete=True))
    before = await Hands(pair.emulator, "bigip-2").content()
    pair.emulator.faults.add(REFUSES)
    for complete in (False, True):
        outcome = await agent.apply(batch(service(revision=2, members=1), service(2), complete=complete))
        assert taken(outcome) == [2, 1] and outcome.lagging == (away(pair),)
    assert await Hands(pair.emulator, "bigip-2").content() == before
    pair.emulator.faults.clear()
    outcome = await agent.apply(batch(service(revision=2, members=1), service(2), complete=True))
    assert not outcome.lagging and await same_on_both(pair)


async def test_load_balancer_gets_the_reason_if_all_devices_refuse_every_commit(pair: BigIpRig) -> None:
    agent = pair.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    pair.emulator.faults.add(Fault(kind="refuse_transaction"))
    outcome = await agent.apply(batch(service(revision=2, members=1)))
    assert not outcome.lagging and "refused by an injected fault" in outcome.outcomes[0].error


async def test_one_that_refuses_a_load_balancer_and_takes_others_is_believed(pair: BigIpRig) -> None:
    agent = pair.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    stranger = {"name": "somebody-elses", "destination": "10.99.0.1:80"}
    await Hands(pair.emulator, "bigip-2").call("POST", "ltm/virtual", stranger)
    vip = Vip(address="10.99.0.1", subnet_id="s", network_id="n", port_id="p")
    outcome = await agent.apply(batch(service(2, vip=vip)))
    assert not outcome.lagging and "10.99.0.1 already exists" in outcome.outcomes[0].error


async def test_an_owner_that_is_refused_everything_because_a_newer_one_came_is_stale(pair: BigIpRig) -> None:
    old = pair.agent(**QUICK)
    await old.take_over(PROJECT, 1, session_of(1))
    await old.apply(batch(service(), complete=True))
    await pair.owner(**QUICK).take_over(PROJECT, 2, session_of(2))
    pair.emulator.faults.add(REFUSES)
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=1), epoch=1))
