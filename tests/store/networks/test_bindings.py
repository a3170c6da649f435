"""Ports of VIPs and of devices' addresses follow the host of their devices."""

from msgspec.structs import replace
from sqlalchemy import delete

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.network import DeviceBinding
from evenkeel.store.records import schema
from tests.store.networks.scenes import LAYOUT, load_balancer
from tests.store.networks.test_facts import known, make_ports, read
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

ATTEMPTS = Backoff(initial_seconds=600.0, max_seconds=600.0)


async def take(world: World) -> set[str]:
    return set(await world.store.attachments.take_due_bindings(limit=10, backoff=ATTEMPTS))


async def test_ports_of_addresses_are_bound_again_when_the_host_of_the_group_changes(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1)
    await world.store.attachments.store_network_facts([known(1)])
    made = await make_ports(world, (await read(world)).needs.ports[id_])
    assert not await take(world)
    # the agent tells the ports, with the addresses
    (one,) = (await read(world)).page.services[0].networks[0].subnets
    assert [each.port_id for each in one.addresses] == [each.port_id for each in made]

    await world.expire("a1")
    await world.agent("a1", network_layout=replace(LAYOUT, binding_host="bigips-1"))
    claims = {each.claim.claim_id: each.port_id for each in made}
    assert await take(world) == set(claims) and not await take(world), "one controller has them"
    store = world.store.attachments
    first, second, third = claims
    wanted = DeviceBinding(claim_id=first, port_id=claims[first], host="bigips-1")
    assert await store.find_binding(first) == wanted
    await store.record_binding(first, "bigips-1")
    assert await store.find_binding(first) is None

    # changed once more while a controller bound the second one
    await world.expire("a1")
    await world.agent("a1", network_layout=replace(LAYOUT, binding_host="bigips-2"))
    await store.record_binding(second, "bigips-1")
    assert await take(world) == set(claims)
    for claim_id in (first, second):
        await store.record_binding(claim_id, "bigips-2")
    assert len(await world.rows(schema.device_port_binding)) == 1

    # a port that is given back needs none
    await world.db.write(lambda connection: connection.execute(delete(schema.device_address)))
    assert await store.find_binding(third) is None
    await store.record_binding(third, None)
    assert not await world.rows(schema.device_port_binding)


async def test_an_agent_with_the_same_host_changes_nothing(world: World) -> None:
    layout = replace(LAYOUT, binding_host="bigips-1")
    await world.agent("a1", network_layout=layout)
    id_ = await load_balancer(world, 1)
    await world.store.attachments.store_network_facts([known(1)])
    await make_ports(world, (await read(world)).needs.ports[id_])
    await world.expire("a1")
    await world.agent("a1", network_layout=layout)
    assert not await take(world)
