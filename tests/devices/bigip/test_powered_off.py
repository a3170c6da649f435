"""One unit of a pair is switched off while 40 load balancers with 200 members change, and on again.

The devices end up in step, without orphans, and traffic is served all the time.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from msgspec.structs import replace

from emulator_tests.client import Backend, fetch, free_port
from evenkeel.core.devices.service import ServiceDefinition, ServiceMember
from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.devices.owner import Owner
from tests.devices.services import batch, gone, listener, member, pool, service
from tests.services.process import loopback_network
from tests.waiting import eventually

LOAD_BALANCERS = 40
MEMBERS = 5
CHANGES = 40
STEADY = 1
"""The load balancer that is never changed: its clients must not notice anything."""


class Tenant:
    """A tenant's load balancers, on loopback."""

    def __init__(self, backends: list[Backend]) -> None:
        self._backends = backends
        self.port = free_port("127.0.0.1")
        self.services: dict[int, ServiceDefinition] = {}
        self._next = 1
        self._revision = 1

    def create(self) -> ServiceDefinition:
        number, self._next = self._next, self._next + 1
        return self.put(number, MEMBERS)

    def put(self, number: int, members: int) -> ServiceDefinition:
        self._revision += 1
        found = service(
            number,
            revision=self._revision,
            listeners=(listener(number, protocol_port=self.port),),
            pools=(pool(number, members=tuple(self._member(number, place) for place in range(members)), monitor=None),),
        )
        self.services[number] = replace(found, vip=replace(found.vip, address=self.address(number)))
        return self.services[number]

    def delete(self, number: int) -> ServiceDefinition:
        self._revision += 1
        removed = self.services.pop(number)
        return replace(gone(number, revision=self._revision), vip=removed.vip)

    def change(self, rng: random.Random) -> ServiceDefinition:
        others = sorted(self.services.keys() - {STEADY})
        match rng.choice(("create", "delete", "members")):
            case "create":
                return self.create()
            case "delete":
                return self.delete(rng.choice(others))
            case _:
                return self.put(rng.choice(others), rng.randrange(MEMBERS + 1))

    def everything(self) -> list[ServiceDefinition]:
        return list(self.services.values())

    def address(self, number: int) -> str:
        return f"{loopback_network()}.77.{number}"

    def _member(self, number: int, place: int) -> ServiceMember:
        return member(number, place, address="127.0.0.1", protocol_port=self._backends[place].port)


class Visitors:
    """Clients of the steady load balancer, a connection for each request."""

    def __init__(self, address: str, port: int) -> None:
        self._place = address, port
        self.served = 0
        self.lost: list[str] = []
        self.cut = 0
        """Raised when a device is switched off: what it was serving just then is lost, nothing else."""

    async def run(self) -> None:
        while True:
            cut = self.cut
            try:
                await fetch(*self._place)
                self.served += 1
            except (OSError, asyncio.IncompleteReadError) as error:
                if cut == self.cut:
                    self.lost.append(repr(error))
            await asyncio.sleep(0.005)

    async def see(self, count: int) -> None:
        goal = self.served + count
        await eventually(lambda: self.served >= goal)


@pytest.fixture
async def pair_with_traffic() -> AsyncIterator[BigIpRig]:
    async with Emulator(["bigip-1", "bigip-2"], users={"admin": "admin"}, ha="pair") as emulator:
        rig = BigIpRig(emulator, "pair")
        yield rig
        await rig.close()


@pytest.fixture
async def tenant() -> AsyncIterator[Tenant]:
    backends = [await Backend(f"member-{place}").start() for place in range(MEMBERS)]
    yield Tenant(backends)
    for backend in backends:
        await backend.stop()


@pytest.mark.parametrize("unit", ["bigip-1", "bigip-2"])
async def test_a_unit_that_was_off_while_load_balancers_came_and_went_is_in_step_again(
    pair_with_traffic: BigIpRig, tenant: Tenant, unit: str
) -> None:
    rig, emulator, rng = pair_with_traffic, pair_with_traffic.emulator, random.Random(unit)
    agent = rig.owner(allow_loopback_addresses="true", retry_time="0.1", connect_timeout="5", save_interval="0.05")
    for _ in range(LOAD_BALANCERS):
        tenant.create()
    await agent.apply(batch(*tenant.everything(), complete=True))
    visitors = Visitors(tenant.address(STEADY), tenant.port)
    load = [asyncio.create_task(visitors.run()) for _ in range(3)]
    await visitors.see(20)
    visitors.cut += 1
    await emulator.power_off(unit)
    for _ in range(CHANGES):
        outcome = await agent.apply(batch(tenant.change(rng)))
        assert outcome.lagging and not any(one.error for one in outcome.outcomes)
    await visitors.see(20)
    await emulator.power_on(unit)
    await in_step(agent, tenant)
    await visitors.see(20)
    for name in emulator.devices:  # each serves the same
        await serving(name, emulator, visitors.see)
    for task in load:
        task.cancel()
    await asyncio.gather(*load, return_exceptions=True)
    assert not visitors.lost
    first, second = Hands(emulator, "bigip-1"), Hands(emulator, "bigip-2")
    assert await first.content() == await second.content()
    assert set(await first.items("ltm/virtual")) == {f"dev_listener-{n}" for n in tenant.services}
    assert set(await second.items("ltm/pool")) == {f"dev_pool-{n}" for n in tenant.services}
    again = await agent.apply(batch(*tenant.everything(), complete=True))
    assert again.writes == 0 and not again.lagging


async def in_step(agent: Owner, tenant: Tenant) -> None:
    """As the agent does for a device that was lagging: complete passes until none is."""

    for _ in range(100):
        if not (await agent.apply(batch(*tenant.everything(), complete=True))).lagging:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("a device still lags after 100 complete passes")


async def serving(name: str, emulator: Emulator, see: Callable[[int], Awaitable[None]]) -> None:
    """The device takes over and serves."""
    if emulator.devices[name].failover_state != "active":
        (active,) = (each for each, device in emulator.devices.items() if device.failover_state == "active")
        await emulator.failover(active)
    await see(10)
