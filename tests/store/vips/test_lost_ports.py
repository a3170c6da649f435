"""VIPs' ports that were deleted at the network service: found page by page, and made again once, come what may."""

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import update

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.network import MissingVipPort, PortClaim, PortMark, PortToUpdate, VipPortId
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, PROJECT, add_agent, bare, new_id, placed, vip

FAR = 1000.0
HOST = f"host-of-{AGENT}"


def claim(load_balancer_id: str) -> PortClaim:
    return PortClaim(claim_id=load_balancer_id, device_owner="Octavia", device_id=f"lb-{load_balancer_id}")


async def with_port(store: SqlStore, number: int = 9, **values: Any) -> LoadBalancer:
    """A load balancer whose VIP has a port at the network service."""
    id_ = new_id()
    await store.claims.store_claim(claim(id_), grace_seconds=FAR)
    plan = vip(address=f"10.0.0.{number}", port_id=new_id(), claim=claim(id_))
    change = await store.tenants.create_load_balancer(bare(id=id_, **values), plan)
    (root,) = change.resources
    assert isinstance(root, LoadBalancer)
    return root


def port_of(root: LoadBalancer) -> VipPortId:
    assert root.vip is not None
    return VipPortId(load_balancer_id=root.id, port_id=root.vip.port_id)


async def page(store: SqlStore, limit: int = 10, older_seconds: float = FAR) -> tuple[VipPortId, ...]:
    return await store.lost_ports.take_ports_to_check(older_seconds=older_seconds, limit=limit)


async def due(store: SqlStore) -> tuple[str, ...]:
    return await store.ports.take_load_balancers_due_for_port_update(
        limit=10, backoff=Backoff(initial_seconds=200.0, max_seconds=300.0)
    )


async def events(store: SqlStore, kind: str) -> list[str]:
    found = await store.operators.events(limit=50)
    return [each.text for each in found if each.kind == kind]


async def test_every_port_is_looked_for_once_in_an_interval(store: SqlStore) -> None:
    roots = [await with_port(store, number) for number in range(1, 6)]
    expected = sorted((port_of(root) for root in roots), key=lambda each: each.load_balancer_id)
    assert await page(store) == ()  # the search begins

    pages = [await page(store, 2) for _ in range(3)]

    assert [each for some in pages for each in some] == expected
    assert await page(store, 2) == ()
    assert await page(store, 10, older_seconds=0.0) == tuple(expected)


async def test_of_several_controllers_one_gets_a_page(store: SqlStore) -> None:
    await page(store)
    roots = [await with_port(store, number) for number in range(1, 4)]
    found = await asyncio.gather(*(page(store) for _ in range(4)))
    assert sorted(each.load_balancer_id for some in found for each in some) == sorted(root.id for root in roots)


async def lost(store: SqlStore) -> tuple[LoadBalancer, PortToUpdate]:
    root = await with_port(store)
    assert await store.lost_ports.record_lost_ports([port_of(root)]) == (root.id,)
    found = await store.ports.find_due_port(root.id)
    assert found is not None
    return root, found


async def test_a_lost_port_is_due_and_states_how_to_make_it_again(store: SqlStore) -> None:
    root, found = await lost(store)
    assert root.vip is not None
    assert found.lost == MissingVipPort(
        project_id=root.project_id,
        network_id=root.vip.network_id,
        addresses=((root.vip.subnet_id, "10.0.0.9"),),
        mark=PortMark(name=f"octavia-lb-{root.id}", device_owner="Octavia", device_id=f"lb-{root.id}"),
    )
    assert await due(store) == (root.id,)
    assert "was deleted at the network service" in await store.operators.port_problem(root.id)
    assert len(await events(store, "vip_port_lost")) == 1
    # what is known is not found again
    assert await page(store) == () == await page(store)
    assert await store.lost_ports.record_lost_ports([port_of(root)]) == ()
    # and not forgotten because other options of the port were set
    assert not await store.ports.record_port_updated(found)

    assert await said(store, root) == await store.operators.port_problem(root.id)

    await store.lost_ports.record_recreation_failure(root.id, "another port has its address")
    assert await said(store, root) == "another port has its address"
    assert await store.operators.port_problem(root.id) == "another port has its address"


async def said(store: SqlStore, root: LoadBalancer) -> str:
    return (await store.tenants.get(LoadBalancer, root.id, project_id=None)).status_reason


async def test_the_new_port_takes_the_place_of_the_lost_one_and_is_bound(store: SqlStore) -> None:
    root, found = await lost(store)
    assert await store.lost_ports.begin_recreation(root.id)
    assert await store.lost_ports.record_new_port(found, "new-port")

    assert (await store.tenants.get(LoadBalancer, root.id, project_id=None)).vip.port_id == "new-port"
    again = await store.ports.find_due_port(root.id)
    assert again is not None and (again.port_id, again.lost) == ("new-port", None)
    assert (await said(store, root), await store.operators.port_problem(root.id)) == ("", "")
    assert len(await events(store, "vip_port_made_again")) == 1
    assert not await store.lost_ports.record_new_port(found, "another"), "of two controllers one has made it"
    assert not await store.lost_ports.begin_recreation(root.id)
    # released with the load balancer
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)
    (released,) = await store.claims.take_due_claims(limit=9, backoff=Backoff(initial_seconds=9.0, max_seconds=9.0))
    assert released.claim.port_id == "new-port"


async def test_a_port_of_a_load_balancer_that_goes_meanwhile_is_found_by_its_marks(store: SqlStore) -> None:
    root, found = await lost(store)
    assert await store.lost_ports.begin_recreation(root.id)
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)

    assert not await store.lost_ports.record_new_port(found, "new-port")
    assert not await store.lost_ports.begin_recreation(root.id)
    (released,) = await store.claims.take_due_claims(limit=9, backoff=Backoff(initial_seconds=9.0, max_seconds=9.0))
    assert released.claim == claim(root.id) and released.age_seconds < 600


async def test_a_tenants_own_port_that_is_lost_is_made_again_as_ours(store: SqlStore) -> None:
    id_ = new_id()
    own = PortClaim(claim_id=id_, device_owner="", device_id="", port_id="own")
    change = await store.tenants.create_load_balancer(bare(id=id_), vip(address="10.0.0.9", port_id="own", claim=own))
    assert not change.tell_network
    assert await store.lost_ports.record_lost_ports([VipPortId(load_balancer_id=id_, port_id="own")]) == (id_,)

    found = await store.ports.find_due_port(id_)
    assert found is not None and found.lost is not None
    assert found.lost.mark == PortMark(name=f"octavia-lb-{id_}", device_owner="Octavia", device_id=f"lb-{id_}")

    assert await store.lost_ports.begin_recreation(id_)
    await store.tenants.delete_load_balancer(id_, cascade=True, project_id=None)
    (released,) = await store.claims.take_due_claims(limit=9, backoff=Backoff(initial_seconds=9.0, max_seconds=9.0))
    assert released.claim == claim(id_)


async def test_a_tenants_own_port_that_is_there_after_all_stays_the_tenants(store: SqlStore) -> None:
    id_ = new_id()
    own = PortClaim(claim_id=id_, device_owner="", device_id="", port_id="own")
    await store.tenants.create_load_balancer(bare(id=id_), vip(address="10.0.0.9", port_id="own", claim=own))
    await store.lost_ports.record_lost_ports([VipPortId(load_balancer_id=id_, port_id="own")])
    found = await store.ports.find_due_port(id_)
    assert found is not None

    await store.lost_ports.record_found_port(found)

    again = await store.ports.find_due_port(id_)
    assert again is not None and (again.port_id, again.lost) == ("own", None)
    assert await store.operators.port_problem(id_) == ""
    await store.tenants.delete_load_balancer(id_, cascade=True, project_id=None)
    (released,) = await store.claims.take_due_claims(limit=9, backoff=Backoff(initial_seconds=9.0, max_seconds=9.0))
    assert released.claim == own


async def test_a_tenants_own_port_is_let_go_with_its_load_balancer(store: SqlStore) -> None:
    id_ = new_id()
    own = PortClaim(claim_id=id_, device_owner="", device_id="", port_id="own")
    await store.tenants.create_load_balancer(bare(id=id_), vip(address="10.0.0.9", port_id="own", claim=own))
    await store.tenants.delete_load_balancer(id_, cascade=True, project_id=None)

    (released,) = await store.claims.take_due_claims(limit=9, backoff=Backoff(initial_seconds=9.0, max_seconds=9.0))
    assert released.claim == own and released.claim.borrowed


# -- binding


@pytest.mark.parametrize(("binding_host", "expected"), [("", HOST), ("bigips", "bigips")])
async def test_the_port_is_bound_when_it_is_known_where(store: SqlStore, binding_host: str, expected: str) -> None:
    root = await with_port(store)
    assert await store.ports.find_due_port(root.id) is None
    await place(store, root)
    await set_layout(store, NetworkLayout(binding_host=binding_host))

    found = await store.ports.find_due_port(root.id)
    assert found is not None and found.options.binding_host == expected and await due(store) == (root.id,)
    assert await store.ports.record_port_updated(found) and await store.ports.find_due_port(root.id) is None


async def test_a_load_balancer_that_is_placed_while_its_port_is_set_is_bound_afterwards(store: SqlStore) -> None:
    root = await with_port(store)
    await store.tenants.update_load_balancer(root.id, {"vip_qos_policy_id": "gold"}, project_id=None, tell_network=True)
    read = await store.ports.find_due_port(root.id)
    assert read is not None and read.options.binding_host is None
    await place(store, root)

    assert not await store.ports.record_port_updated(read)
    found = await store.ports.find_due_port(root.id)
    assert found is not None and found.options.binding_host == HOST


async def test_a_load_balancer_that_is_placed_when_it_is_made_has_its_port_bound(store: SqlStore) -> None:
    await placed(store)
    root = await with_port(store)
    found = await store.ports.find_due_port(root.id)
    assert found is not None and found.options.binding_host == HOST
    # without a port at the network service there is nothing to bind
    change = await store.tenants.create_load_balancer(bare(), vip(address="10.0.0.99"))
    assert not change.tell_network and await store.ports.find_due_port(change.load_balancer_id) is None


async def place(store: SqlStore, root: LoadBalancer) -> None:
    await add_agent(store)
    assert await store.scheduling.place_load_balancer(root.id, "prod", PROJECT, 1, AGENT) is not None


async def set_layout(store: SqlStore, layout: NetworkLayout) -> None:
    group = schema.device_group
    values = {"network_layout": msgspec.json.encode(layout).decode()}
    statement = update(group).values(values)
    await store.database.write(lambda connection: connection.execute(statement))
