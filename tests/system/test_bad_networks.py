"""Networks to which the devices cannot be attached: the reason is that load balancer's, the tenant's others go on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.networking.networks import DeclaredNetwork, NetworkType
from evenkeel.core.resources.model import Subnet
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.system.test_networks import AttachedWorld
from tests.system.test_removed_partitions import DEVICES
from tests.waiting import eventually

REASONS = {
    "unmapped": "physical network 'elsewhere' is not in f5_external_physical_mappings",
    "untagged": "needs an interface with tags",
    "segment": "network net-segment has no segment",
    "tunnel": "is of type gre; the devices are attached to",
    "exhausted": "subnet sub-exhausted has too few addresses for devices",
    "overlap": "10.0.0.0/24 overlaps",
    "interface": "interface (9.9) was not found",
    "taken": "104",
}
"""Subnet of the VIP -> what the load balancer says."""


class BadWorld(AttachedWorld):
    """One tenant, each of whose networks but the first lacks something."""

    agent_options = {"f5_external_physical_mappings": "physnet:1.1:True, bare:1.2:False, broken:9.9:True"}

    async def declare(self) -> None:
        await self._declare("a", 0, 101)
        await self._declare("unmapped", 1, 102, physical_network="elsewhere")
        await self._declare("untagged", 2, 103, physical_network="bare")
        await self._declare("segment", 3, None)
        await self._declare("tunnel", 4, 5000, network_type=NetworkType.GRE, physical_network=None)
        await self._declare("exhausted", 5, 105, addresses=("10.5.0.2-10.5.0.3",))
        await self._declare("overlap", 0, 106)
        await self._declare("interface", 7, 107, physical_network="broken")
        await self._declare("taken", 8, 104)

    async def _declare(
        self, name: str, number: int, segment: int | None, addresses: tuple[str, ...] = (), **changes: Any
    ) -> None:
        values = {"network_type": NetworkType.VLAN, "physical_network": "physnet", "segmentation_id": segment}
        await self.store.operators.add_network(DeclaredNetwork(id=f"net-{name}", name=name, **(values | changes)))
        base = f"10.{number}.0"
        await self.store.operators.add_subnet(
            Subnet(
                id=f"sub-{name}",
                network_id=f"net-{name}",
                cidr=f"{base}.0/24",
                gateway_ip=f"{base}.1",
                allocation_start=f"{base}.20",
                allocation_end=f"{base}.250",
                device_addresses=addresses or (f"{base}.2-{base}.9",),
            )
        )

    async def says(self, load_balancer_id: str, reason: str) -> bool:
        root = await self.root(load_balancer_id)
        return root.provisioning_status == "ERROR" and reason in root.status_reason


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[BadWorld]:
    async with emulated(*DEVICES) as emulator:
        made = BadWorld(tmp_path)
        made.rig, made.emulator = BigIpRig(emulator, "pair"), emulator
        yield made
        await made.close()
        await made.rig.close()


async def test_each_has_its_reason_and_the_others_are_served(world: BadWorld) -> None:
    hand_made = {"name": "hand-made", "tag": 104}
    for name in DEVICES:
        await Hands(world.emulator, name).call("POST", "net/vlan", hand_made)
    await world.start(agents=2)
    await world.declare()
    first = await world.create_in("a")
    await eventually(lambda: world.active(first))
    bad = {name: await world.create_at("a", name) for name in REASONS}
    for name, reason in REASONS.items():
        await eventually(lambda name=name, reason=reason: world.says(bad[name], reason))  # type: ignore[misc]
    # those that can be served are: one that was there, and a new one
    second = await world.create_in("a")
    changed = await world.store.tenants.update_load_balancer(first, {"name": "again"}, project_id=None)
    await world.controllers["c0"].driver.change_accepted(changed)
    for load_balancer_id in (first, second):
        await eventually(lambda lb=load_balancer_id: world.active(lb))  # type: ignore[misc]
    assert world.there("net/vlan", "a") == [["vlan-101"]] * 2  # settled: there may never be another one
    for name in DEVICES:
        shown = await Hands(world.emulator, name).items("net/vlan", "Common")
        assert shown["hand-made"]["tag"] == 104 and "description" not in shown["hand-made"]
