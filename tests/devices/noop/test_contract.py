from typing import Any

import msgspec
import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import Vip
from evenkeel.devices.noop import NoopGroup, NoopMemory, open_group
from evenkeel.devices.noop.memory import Partition
from tests.devices.contract import DeviceContract
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, service, vip


class NoopRig:
    def __init__(self) -> None:
        self.memory = NoopMemory()

    def agent(self) -> Device:
        return NoopGroup(self.memory)

    def _partition(self) -> Partition:
        return self.memory.partitions.setdefault(PROJECT, Partition())

    async def content(self) -> dict[str, Any]:
        # Revisions are no configuration: a real device does not hold them.
        return {name: msgspec.structs.replace(held, revision=0) for name, held in self._partition().holds.items()}

    async def spoil(self) -> None:
        holds = self._partition().holds
        for name in holds:
            holds[name] = service(99, members=1)

    async def add_foreign(self) -> None:
        self._partition().foreign.add("hand-made")

    async def foreign(self) -> dict[str, Any]:
        return dict.fromkeys(self._partition().foreign)


class TestNoop(DeviceContract):
    has_plans = False
    retires = True

    @pytest.fixture
    def rig(self) -> NoopRig:
        return NoopRig()


async def test_a_device_out_of_reach_is_unavailable_and_reports_it() -> None:
    memory = NoopMemory()
    group = NoopGroup(memory)
    memory.reachable = False
    with pytest.raises(DeviceUnavailable):
        await Owner(group).apply(batch(service()))
    assert [(state.reachable, bool(state.problem)) for state in await group.check()] == [(False, True)]


async def test_an_address_is_taken_as_long_as_its_load_balancer_has_it_whoever_changed_that() -> None:
    memory = NoopMemory()
    owner = Owner(NoopGroup(memory))

    async def error() -> str:
        (outcome,) = (await owner.apply(batch(service(2, vip=vip(1))))).outcomes
        return outcome.error

    await owner.apply(batch(service(1)))
    assert await error() == f"address {vip(1).address} is held by load balancer lb-1"
    await owner.apply(batch(service(1, vip=vip(3))))
    assert await error() == ""
    await owner.apply(batch(gone(2)))
    memory.partitions[PROJECT].holds["by hand"] = service(4, load_balancer_id="by hand", vip=vip(1))
    memory.reindex_addresses()
    assert await error() == f"address {vip(1).address} is held by load balancer by hand"
    memory.partitions[PROJECT].holds.clear()
    assert await error() == ""


async def test_noop_reports_no_statuses_and_no_statistics() -> None:
    group = open_group({}, environment="dev", group_number=1, host="h")
    await Owner(group).apply(batch(service()))
    seen = await group.observe()
    assert not seen.statuses and not seen.statistics and seen.devices


async def test_noop_declares_that_it_carries_no_traffic() -> None:
    assert not open_group({}, environment="dev", group_number=1, host="h").facts.carries_traffic


async def test_additional_vips_are_held_as_the_vip_is() -> None:
    group = NoopGroup(NoopMemory())
    assert not (await Owner(group).apply(batch(service(1, additional_vips=(vip(77),))))).outcomes[0].error
    for other in (service(2, vip=vip(77)), service(2, additional_vips=(vip(1),))):
        (outcome,) = (await Owner(group).apply(batch(other))).outcomes
        assert "is held by load balancer lb-1" in outcome.error
    assert not (await Owner(group).apply(batch(service(1), service(2, vip=vip(77))))).outcomes[1].error


def test_options_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="colour"):
        open_group({"colour": "blue"}, environment="dev", group_number=1, host="h")


async def test_noop_capacity_is_counted_or_as_set() -> None:
    memory = NoopMemory()
    group = NoopGroup(memory)
    await Owner(group).apply(batch(service(members=3)))
    memory.figures = {"ssltps": 7.0, "tenant_count": 2.0}
    found = await group.capacity(["tenant_count", "node_count", "ssltps", "vlan_count"])
    assert found == {"tenant_count": 3.0, "node_count": 3.0, "ssltps": 7.0}
    memory.reachable = False
    with pytest.raises(DeviceUnavailable):
        await group.capacity(["tenant_count"])


async def test_one_address_in_two_networks_is_no_conflict() -> None:
    group = NoopGroup(NoopMemory())
    other = Vip(address=vip(1).address, subnet_id="other", network_id="other-network", port_id="p")
    assert not (await Owner(group).apply(batch(service(1, vip=vip(1))))).outcomes[0].error
    assert not (await Owner(group).apply(batch(service(2, vip=other)))).outcomes[0].error
