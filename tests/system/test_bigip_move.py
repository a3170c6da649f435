"""A load balancer moves between two BIG-IPs on its tenant's VLAN, while a client asks all the time.

In real time: frames between network namespaces and the emulators' data planes, and the kernel's TCP.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from emulator_tests.wired_site import Host, WiredSite, wired
from evenkeel.core.control.move_requests import MoveProgress, MoveRequest
from evenkeel.core.control.moves import MoveStep
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.ports import Device
from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig
from tests.system.test_network_traffic import CLIENT, MEMBERS, VIP, WiredWorld
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

pytestmark = pytest.mark.real_time
DEVICES = {1: "bigip-1", 2: "bigip-2"}
"""The device of each device group."""
VLAN = 101
ATTACHED = {
    "f5_global_routed_mode": "False",
    "f5_external_physical_mappings": "physnet:1.1:True",
    "full_read_interval": "0",
}


class TwoGroups(WiredWorld):
    """An agent and a BIG-IP in each of two device groups."""

    rigs: dict[int, BigIpRig]
    emulators: dict[int, Emulator]

    def _group_of(self, host: str) -> int:
        return 2 if host.startswith("k") else 1

    def _device_of(self, host: str) -> Device:
        number = self._group_of(host)
        return self.rigs[number].agent(environment=ENVIRONMENT, group_number=number, **ATTACHED)

    async def move(self, id_: str) -> None:
        request = MoveRequest(
            project_id=ProjectId("a"),
            environment=ENVIRONMENT,
            group_number=2,
            load_balancer_ids=(LoadBalancerId(id_),),
            home_agent_id=AgentId(default_agent_id(ENVIRONMENT, 2, "k0")),
            whole_project=True,
        )
        for change in await self.store.operators.begin_moves(request):
            await self.controllers["c0"].driver.change_accepted(change)

    async def progress(self, id_: str) -> MoveProgress:
        (found,) = await self.store.operators.moves(load_balancer_id=LoadBalancerId(id_))
        return found

    async def is_at(self, id_: str, step: MoveStep) -> bool:
        return (await self.progress(id_)).step is step

    def held(self) -> dict[int, int]:
        """Number of the tenant's virtual addresses and VLANs on the device of each group."""
        found = {}
        for number, name in DEVICES.items():
            device = self.emulators[number].devices[name]
            paths = [*device.objects("ltm/virtual-address", "sys_a"), *device.objects("net/vlan", "sys_a")]
            found[number] = len(paths)
        return found


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[TwoGroups]:
    async with AsyncExitStack() as stack:
        site: WiredSite = await stack.enter_async_context(wired(*DEVICES.values()))
        made = TwoGroups(tmp_path)
        made.site, made.rigs, made.emulators = site, {}, {}
        made.retire_seconds = 0.1
        for number, name in DEVICES.items():
            cables = {name: site.cables[name]}
            emulator = Emulator(devices=[name], ha="standalone", users={"admin": "admin"}, cables=cables)
            made.emulators[number] = await stack.enter_async_context(emulator)
            made.rigs[number] = BigIpRig(emulator, "standalone")
        yield made
        await made.close()
        for rig in made.rigs.values():
            await rig.close()


async def asking(client: Host, found: Counter[str]) -> None:
    """A connection for each request, without end."""
    while True:
        try:
            async with asyncio.timeout(5.0):
                (name,) = await client.ask(VIP)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            found["failed"] += 1
            await asyncio.sleep(0.05)
        else:
            found[name] += 1


async def online(world: TwoGroups, id_: str) -> bool:
    return (await world.root(id_)).operating_status == "ONLINE"


async def test_a_load_balancer_moves_with_its_network_address_and_traffic(world: TwoGroups) -> None:
    await world.start(controllers=1, agents=1)
    await world.declare_own("a", segmentation_id=VLAN)
    client = world.site.host("client", f"{CLIENT}/24", vlan=VLAN)
    for address in MEMBERS:
        await world.site.server(address, f"{address}/24", vlan=VLAN)
    id_ = await world.serve("a")
    await eventually(lambda: world.active(id_))
    await world.start_agent("k0")
    found: Counter[str] = Counter()
    task = asyncio.create_task(asking(client, found))

    async def answered(more: int) -> None:
        had = found.total() - found["failed"]
        await eventually(lambda: found.total() - found["failed"] >= had + more)

    await answered(20)
    assert found["failed"] == 0
    await world.move(id_)
    await eventually(lambda: world.is_at(id_, MoveStep.DONE))
    await answered(20)
    failed = found["failed"]
    await answered(20)  # settled: no request may fail any more
    assert found["failed"] == failed
    task.cancel()
    gap = (await world.progress(id_)).gap_seconds
    assert gap is not None
    assert gap > 0.0
    assert set(found) <= {*MEMBERS, "failed"}
    await eventually(lambda: online(world, id_))
    await eventually(lambda: world.held()[1] == 0)
    assert world.held()[2] == 2
