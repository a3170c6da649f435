"""Random load balancers come and go in random networks of a tenant: what is left is what the rest needs."""

import asyncio
import json
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import NetworkType, ServiceNetwork
from tests.devices.bigip.network_world import ADJACENT, balancer, hosts_of, network, subnet, there, tunnel, with_vtep
from tests.devices.bigip.rig import BigIpRig, bigip
from tests.devices.owner import Owner
from tests.devices.services import batch, gone

few = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # an example takes seconds
)
NUMBERS = (1, 2, 3)
"""Of load balancers."""
NETWORKS = (1, 2, 3, 4)

Places = tuple[int, frozenset[int]]
"""The network of the VIP, and those of members."""
places = st.none() | st.tuples(st.sampled_from(NETWORKS), st.frozensets(st.sampled_from(NETWORKS)))
steps = st.lists(st.tuples(st.sampled_from(NUMBERS), places), min_size=1, max_size=6)


def network_of(number: int, device: str) -> ServiceNetwork:
    own = subnet(number, [device], snat=number % 2)
    if number == 2:
        return tunnel(2, own, vteps=("192.0.2.77",))
    if number == 3:
        return tunnel(3, own, kind=NetworkType.GRE)
    if number == 4:
        flat = NetworkType.FLAT
        return network(4, own, network_type=flat, physical_network="flatnet", segmentation_id=None)
    return network(number, own)


def definition(number: int, where: Places | None, revision: int, device: str) -> ServiceDefinition:
    if where is None:
        return gone(number, revision=revision)
    vip, members = where
    used = [vip, *sorted(members - {vip})]
    addresses = tuple(f"10.{each}.0.{200 + number}" for each in sorted(members))
    networks = tuple(network_of(each, device) for each in used)
    return balancer(number, *networks, members=addresses, revision=revision)


async def look(rig: BigIpRig) -> tuple[Any, Any]:
    """Of the default route only that it is there: it is that of the load balancer that came first."""
    found = await there(rig)
    return {key: "" if key.startswith("net/route ") else item for key, item in found.items()}, await rig.content()


async def apply(owner: Owner, *services: ServiceDefinition, complete: bool = False, epoch: int = 1) -> int:
    outcome = await owner.apply(batch(*services, complete=complete, epoch=epoch))
    assert not [one.error for one in outcome.outcomes if one.error]
    writes: int = outcome.writes
    return writes


@few
@given(history=steps)
def test_random_history_leaves_the_networks_that_its_end_state_needs(history: list[tuple[int, Places | None]]) -> None:
    async def run() -> None:
        async with bigip("bigip-1") as rig, bigip("bigip-1") as new:
            for each in (rig, new):
                await with_vtep(each)
            (device,) = hosts_of(rig)
            owner = rig.owner(**ADJACENT)
            left: dict[int, ServiceDefinition] = {}
            for revision, (number, where) in enumerate(history, 1):
                left[number] = definition(number, where, revision, device)
                await apply(owner, left[number])
            rest = [one for one in left.values() if not one.deleted]
            assert await apply(owner, *rest, complete=True) == 0
            # another agent, which reads everything, finds nothing to do either
            assert await apply(rig.owner(**ADJACENT), *rest, complete=True, epoch=2) == 0
            found, content = await look(rig)
            if not rest:
                assert not found
            await apply(new.owner(**ADJACENT), *(on(one, device, hosts_of(new)[0]) for one in rest), complete=True)
            assert renamed(await look(new), hosts_of(new)[0], device) == (found, content)

    asyncio.run(run())


def on(service: ServiceDefinition, before: str, now: str) -> ServiceDefinition:
    """The same for a device with another name."""
    text = msgspec.json.encode(service).decode().replace(before, now)
    return msgspec.json.decode(text, type=ServiceDefinition)


def renamed(value: Any, before: str, now: str) -> Any:
    text = json.dumps(value).replace(before.replace(":", "-"), now.replace(":", "-"))
    first, second = json.loads(text)
    return first, second
