"""Facts from a network service: asked for once, stored, read again, forgotten; ports of devices' addresses."""

import asyncio
import uuid
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.attachment import DeviceAddressPort, DevicePort, KnownSubnet, NetworkToReread
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import AddressUse, MemberHost, NetworkType
from evenkeel.core.ports import FoundServices
from evenkeel.core.protocol.messages import ReportState
from evenkeel.store.engine.clock import db_now
from evenkeel.store.networks.facts import CHANGE_DELAY_SECONDS
from evenkeel.store.records import schema
from tests.store.networks.scenes import LAYOUT, load_balancer, network, subnet
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]

ALWAYS = -1000.0
"""Facts read now are older than this."""
BACKOFF = Backoff(initial_seconds=0.0, max_seconds=0.0)


def known(number: int, *, base: str | None = None, **changes: Any) -> KnownSubnet:
    """A VXLAN network of ``p1`` as a network service describes it."""
    values: dict[str, Any] = {
        "network_type": NetworkType.VXLAN,
        "physical_network": None,
        "name": f"net-{number}",
        "project_id": "p1",
        "from_service": True,
    }
    nothing: dict[str, Any] = dict.fromkeys(("reserved", "device_addresses"), ())
    nothing |= dict.fromkeys(("allocation_start", "allocation_end"), "")
    shown = subnet(number, name=f"sub-{number}", **nothing)
    return KnownSubnet(subnet=shown, network=network(number, **(values | changes)))


async def read(world: World, problems: dict[Any, str] | None = None) -> FoundServices:
    """What a controller reads for the owner of ``p1``'s shard."""
    shard = await world.shard_of("p1")
    return await world.store.ownership.services(
        "a1",
        "session-of-a1",
        shard.id,
        shard.epoch,
        load_balancer_ids=None,
        after_id="",
        limit=100,
        unattachable=problems or {},
    )


async def taken(world: World, port: DevicePort, address: str) -> DeviceAddressPort:
    """A port that was made."""
    claim = PortClaim(claim_id=str(uuid.uuid4()), device_owner="network:evenkeel", device_id="x")
    await world.store.device_ports.store_claim(claim, grace_seconds=600.0)
    return DeviceAddressPort(port=port, address=address, port_id=str(uuid.uuid4()), claim=claim)


async def make_ports(world: World, ports: tuple[DevicePort, ...], base: str = "10.1.0") -> list[DeviceAddressPort]:
    shard = await world.shard_of("p1")
    made = [await taken(world, port, f"{base}.{number}") for number, port in enumerate(ports, 5)]
    for each in made:
        assert await world.store.attachments.store_address(shard.id, each)
    return made


async def due(world: World) -> set[str]:
    found = await world.store.device_ports.take_due_claims(limit=100, backoff=BACKOFF)
    return {each.claim.claim_id for each in found}


async def test_from_an_unknown_subnet_to_a_definition(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1, members=(1,))
    found = await read(world)
    assert found.needs.subnets == {id_: {"sub-1"}} and "not known" in found.page.services[0].problem
    assert (await read(world, {id_: "Neutron is away"})).page.services[0].problem == "Neutron is away"

    await world.store.attachments.store_network_facts([known(1)])
    found = await read(world)
    ports = found.needs.ports[id_]
    assert not found.needs.subnets and not found.page.services
    assert [(each.use, each.owner, each.index) for each in ports] == [
        (AddressUse.SELF, "10.0.0.1:443", 0),
        (AddressUse.SELF, "10.0.0.2:443", 0),
        (AddressUse.SNAT, "traffic-group-1", 0),
    ]
    assert found.needs.members == {("net-1", "10.1.0.99")}
    assert (await read(world, {id_: "no free address"})).page.services[0].problem == "no free address"

    made = await make_ports(world, ports)
    host = MemberHost(address="10.1.0.99", mac_address="fa:16:3e:00:00:01", vtep="192.0.2.1")
    await world.store.attachments.store_hosts("net-1", {"10.1.0.99": host})
    found = await read(world)
    (one,) = found.page.services[0].networks
    assert not found.needs and (one.id, one.route_domain, one.segmentation_id) == ("net-1", 1, 101)
    assert [each.address for each in one.subnets[0].addresses] == [each.address for each in made]
    assert one.subnets[0].hosts == (host,)
    assert await due(world) == set()

    await world.tenant_changes(id_, deleted=True)
    await world.report(applied(id_, revision=2))
    assert await due(world) == {each.claim.claim_id for each in made}


async def test_reading_again_requests_nothing_and_costs_the_same(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    sizes = []
    for number in (1, 2, 3):
        id_ = await load_balancer(world, number, members=(number,))
        await world.store.attachments.store_network_facts([known(number)])
        await make_ports(world, (await read(world)).needs.ports[id_], f"10.{number}.0")
        address = f"10.{number}.0.99"
        await world.store.attachments.store_hosts(
            f"net-{number}", {address: MemberHost(address=address, mac_address="")}
        )
        with statements() as seen:
            assert not (await read(world)).needs
        sizes.append(len(seen.sent))
    assert sizes[1] == sizes[2]


async def test_an_address_that_is_not_needed_any_more_is_not_stored(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1)
    await world.store.attachments.store_network_facts([known(1)])
    ports = (await read(world)).needs.ports[id_]
    shard = await world.shard_of("p1")
    first, second = await taken(world, ports[0], "10.1.0.5"), await taken(world, ports[0], "10.1.0.6")
    assert await world.store.attachments.store_address(shard.id, first)
    assert not await world.store.attachments.store_address(shard.id, second)  # another controller was faster
    late = await taken(world, ports[1], "10.1.0.7")
    await world.store.device_ports.abandon_claim(late.claim)
    assert await due(world) == {late.claim.claim_id}
    with pytest.raises(NetworkUnavailable, match="being deleted"):
        await world.store.attachments.store_address(shard.id, late)
    await world.tenant_changes(id_, deleted=True)
    await world.report(applied(id_, revision=2))
    assert not await world.store.attachments.store_address(shard.id, await taken(world, ports[2], "10.1.0.8"))
    assert await world.rows(schema.device_address) == []


async def test_a_tenant_gets_no_devices_into_networks_of_others(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    mine = await load_balancer(world, 1)
    other = await load_balancer(world, 1, members=(2,))
    await world.store.attachments.store_network_facts([known(1), known(2, project_id="p2")])
    found = await read(world)
    assert found.needs.ports.keys() == {mine}
    assert "another project" in found.page.services[0].problem and found.page.services[0].load_balancer_id == other


async def test_nor_into_subnets_that_operators_declared_for_others(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    for number, project_id in ((1, "p1"), (2, "p2")):
        await world.operator.add_network(network(number))
        await world.operator.add_subnet(subnet(number, project_id=project_id))
    mine, other = await load_balancer(world, 1), await load_balancer(world, 1, members=(2,))
    found = {each.load_balancer_id: each for each in (await read(world)).page.services}
    assert found[mine].networks and "another project" in found[other].problem


async def test_changed_facts_and_moved_members_make_load_balancers_due(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_, other = await load_balancer(world, 1), await load_balancer(world, 2)
    facts = [known(1), known(2)]
    store = world.store.attachments
    assert await store.store_network_facts(facts) == ()
    await read(world)
    assert await store.store_network_facts(facts) == ()
    (change,) = await store.store_network_facts([known(1, mtu=1400), facts[1]])
    assert (change.load_balancer_id, change.revision) == (id_, 2)
    gateway = replace(facts[1], subnet=replace(facts[1].subnet, gateway_ip="10.2.0.254"))
    (change,) = await store.store_network_facts([gateway])
    assert (change.load_balancer_id, change.revision) == (other, 2)
    here = MemberHost(address="10.1.0.99", mac_address="fa:16:3e:00:00:01", vtep="192.0.2.1")
    assert await store.store_hosts("net-1", {"10.1.0.99": here}) == ()
    assert await store.store_hosts("net-1", {"10.1.0.99": here}) == ()
    (change,) = await store.store_hosts("net-1", {"10.1.0.99": replace(here, vtep="192.0.2.2")})
    assert (change.load_balancer_id, change.revision) == (id_, 3)


async def test_due_facts_are_taken_once_and_unused_facts_deleted(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await load_balancer(world, 1, members=(1,))
    store = world.store.attachments
    await store.store_network_facts([known(1), known(2)])
    await read(world)
    for address in ("10.1.0.99", "10.1.0.98"):  # there is no member any more at the second one
        await store.store_hosts("net-1", {address: MemberHost(address=address, mac_address="")})
    assert await store.take_due_network_facts(older_seconds=3600.0, limit=10) == ()
    expected = NetworkToReread(network_id="net-1", subnets=frozenset({"sub-1"}), members=frozenset({"10.1.0.99"}))
    assert await store.take_due_network_facts(older_seconds=ALWAYS, limit=10) == (expected,)
    names = await world.store.database.read(lambda connection: set(connection.scalars(select(schema.subnet.c.id))))
    assert "sub-2" not in names and len(await world.rows(schema.member_host)) == 1
    assert [each.id for each in await world.operator.networks()] == ["net-1"]


async def test_operators_cannot_change_what_the_network_service_says(world: World) -> None:
    await world.store.attachments.store_network_facts([known(1)])
    with pytest.raises(Conflict, match="come from the network service"):
        await world.operator.update_network(known(1).network)  # type: ignore[arg-type]


async def test_networks_whose_ports_moved_are_read_soon_but_not_all_the_time(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    await world.agent("a3", group_number=3, network_layout=LAYOUT)
    await load_balancer(world, 1)
    store = world.store.attachments
    await store.store_network_facts([known(1), known(2)])
    await read(world)

    async def moved(agent_id: str, *network_ids: str) -> set[str]:
        state = ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", moved_networks=network_ids)
        await world.store.ownership.record_state(state)
        return {each.network_id for each in await store.take_due_network_facts(older_seconds=3000.0, limit=9)}

    assert await moved("a1", "net-1", "net-2") == set(), "it was read just now"
    table = schema.network
    await world.store.database.write(
        lambda connection: connection.execute(table.update().values(read_at=db_now() - CHANGE_DELAY_SECONDS - 1.0))
    )
    assert await moved("a3", "net-1") == set(), "another group's devices"
    assert await moved("a1", "net-1", "net-2", "elsewhere") == {"net-1"}
    assert await moved("a1", "net-1") == set()


async def test_facts_that_the_network_service_lacked_are_read_again_soon(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1, members=(1,))
    store = world.store.attachments
    await store.store_network_facts([known(1)])
    await make_ports(world, (await read(world)).needs.ports[id_])
    assert not (await read(world)).page.services[0].networks[0].subnets[0].hosts
    expected = NetworkToReread(network_id="net-1", subnets=frozenset({"sub-1"}), members=frozenset({"10.1.0.99"}))
    for _ in range(2):
        await store.record_unanswered_hosts({"net-1": ["10.1.0.99"]})
        assert await store.take_due_network_facts(older_seconds=3600.0, limit=10) == (expected,)

    nowhere = MemberHost(address="10.1.0.99", mac_address="")
    assert await store.store_hosts("net-1", {"10.1.0.99": nowhere}, late=True) == ()
    host = replace(nowhere, mac_address="fa:16:3e:00:00:01", vtep="192.0.2.1")
    (change,) = await store.store_hosts("net-1", {"10.1.0.99": host}, late=True)
    assert (change.load_balancer_id, change.revision) == (id_, 2)
    for address, late in (("10.1.0.98", False), ("10.1.0.97", True)):
        found = {address: replace(host, address=address)}
        assert len(await store.store_hosts("net-1", found, late=late)) == late


async def test_host_of_a_member_that_becomes_known_is_a_change_once(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1, members=(1,))
    store = world.store.attachments
    await store.store_network_facts([known(1)])
    await make_ports(world, (await read(world)).needs.ports[id_])
    host = MemberHost(address="10.1.0.99", mac_address="fa:16:3e:00:00:01", vtep="192.0.2.1")
    await store.record_unanswered_hosts({"net-1": ["10.1.0.99"]})
    assert not (await read(world)).page.services[0].networks[0].subnets[0].hosts

    (change,) = await store.store_hosts("net-1", {"10.1.0.99": host})

    assert (change.load_balancer_id, change.revision) == (id_, 2)
    assert (await read(world)).page.services[0].networks[0].subnets[0].hosts == (host,)
    await store.record_unanswered_hosts({"net-1": ["10.1.0.99"]})
    assert (await read(world)).page.services[0].networks[0].subnets[0].hosts == (host,)


async def test_hosts_that_several_learn_at_once_are_stored(world: World) -> None:
    await world.agent("a1", network_layout=LAYOUT)
    id_ = await load_balancer(world, 1, members=(1,))
    stores = [each.attachments for each in (world.store, world.another_controller())]
    await stores[0].store_network_facts([known(1)])
    await make_ports(world, (await read(world)).needs.ports[id_])
    hosts = [
        MemberHost(address=f"10.1.0.{number}", mac_address="fa:16:3e:00:00:01", vtep="192.0.2.1") for number in (98, 99)
    ]
    for given in ([hosts[1]], hosts):
        found = {each.address: each for each in given}
        await asyncio.gather(*(each.store_hosts("net-1", found) for each in stores * 2))
    stored = await world.rows(schema.member_host)
    assert sorted((row.address, row.vtep) for row in stored) == [(each.address, each.vtep) for each in hosts]
