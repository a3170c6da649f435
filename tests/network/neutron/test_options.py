"""Ports of VIPs in a real Neutron: additional addresses, QoS policies and security groups, and their changes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from openstack.connection import Connection

from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.networking.network import PortOptions, WantedVip
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.worlds import World, neutron_world

pytestmark = NEEDS_NEUTRON

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with neutron_world(request) as found:
        yield found


def subnet(neutron: Connection, world: World, cidr: str, **more: Any) -> str:
    version = 6 if ":" in cidr else 4
    made = neutron.network.create_subnet(
        network_id=world.network_id, ip_version=version, cidr=cidr, project_id=world.project_id, **more
    )
    return str(made.id)


def group(neutron: Connection, project_id: str, name: str) -> str:
    return str(neutron.network.create_security_group(name=name, project_id=project_id).id)


def policy(neutron: Connection, project_id: str) -> str:
    return str(neutron.network.create_qos_policy(name="gold", project_id=project_id).id)


def wanted(options: PortOptions | None) -> Callable[[], Awaitable[PortOptions | None]]:
    async def read() -> PortOptions | None:
        return options

    return read


async def test_additional_vips_are_addresses_of_the_one_port(neutron: Connection, world: World) -> None:
    four, six = subnet(neutron, world, "10.78.0.0/24"), subnet(neutron, world, "2001:db8::/64")
    more = [WantedVip(subnet_id=four), WantedVip(subnet_id=six, address="2001:db8::77")]

    plan = await world.plan(subnet_id=world.subnet_id, load_balancer_id="lb-1", additional=more)

    port = neutron.network.get_port(plan.port_id)
    held = {fixed["subnet_id"]: fixed["ip_address"] for fixed in port.fixed_ips}
    assert held == {each.subnet_id: each.address for each in (plan, *plan.additional)}
    assert held[six] == "2001:db8::77" and set(held) == {world.subnet_id, four, six}
    assert await world.driver.release_vip(world.claims.standing["lb-1"])
    assert not list(neutron.network.ports(network_id=world.network_id))


async def test_an_additional_address_in_use_is_a_conflict_and_leaves_nothing(neutron: Connection, world: World) -> None:
    four = subnet(neutron, world, "10.78.0.0/24")
    more = [WantedVip(subnet_id=four, address="10.78.0.9")]
    await world.plan(subnet_id=world.subnet_id, load_balancer_id="first", additional=more)

    with pytest.raises(Conflict, match=r"10\.78\.0\.9 is in use"):
        await world.plan(subnet_id=world.subnet_id, load_balancer_id="second", additional=more)
    assert list(world.claims.standing) == ["first"]
    assert len(list(neutron.network.ports(network_id=world.network_id))) == 1


async def test_unfit_additional_vips_are_refused_before_anything_is_taken(neutron: Connection, world: World) -> None:
    other = neutron.network.create_network(project_id=world.project_id)
    away = neutron.network.create_subnet(
        network_id=other.id, ip_version=4, cidr="10.80.0.0/24", project_id=world.project_id
    )
    for more, why in (
        (WantedVip(subnet_id=world.subnet_id), "Duplicate VIP subnet"),
        (WantedVip(subnet_id=away.id), "same network"),
    ):
        with pytest.raises(Invalid, match=why):
            await world.plan(subnet_id=world.subnet_id, additional=[more])
    with pytest.raises(NotFound, match=UNKNOWN):
        await world.plan(subnet_id=world.subnet_id, additional=[WantedVip(subnet_id=UNKNOWN)])
    neutron.network.delete_network(other)
    assert not world.claims.standing and not list(neutron.network.ports(network_id=world.network_id))


async def test_of_a_tenants_own_port_only_what_it_has_can_be_an_additional_vip(
    neutron: Connection, world: World
) -> None:
    four = subnet(neutron, world, "10.78.0.0/24")
    fixed = [{"subnet_id": world.subnet_id}, {"subnet_id": four, "ip_address": "10.78.0.9"}]
    port = neutron.network.create_port(network_id=world.network_id, fixed_ips=fixed, project_id=world.project_id)

    mine: dict[str, Any] = {"port_id": port.id, "subnet_id": world.subnet_id}
    plan = await world.plan(**mine, additional=[WantedVip(subnet_id=four)])
    assert [each.address for each in plan.additional] == ["10.78.0.9"]
    assert not plan.tell_network
    with pytest.raises(Invalid, match=r"10\.78\.0\.8 not found on VIP port"):
        await world.plan(**mine, additional=[WantedVip(subnet_id=four, address="10.78.0.8")])
    with pytest.raises(Invalid, match="Duplicate VIP subnet"):
        await world.plan(**mine, additional=[WantedVip(subnet_id=world.subnet_id)])
    gold = policy(neutron, world.project_id)
    assert (await world.plan(**mine, options=PortOptions(qos_policy_id=gold))).tell_network


async def test_a_new_port_has_the_policy_and_the_groups(neutron: Connection, world: World) -> None:
    gold, web = policy(neutron, world.project_id), group(neutron, world.project_id, "web")

    options = PortOptions(qos_policy_id=gold, security_group_ids=(web,))
    plan = await world.plan(subnet_id=world.subnet_id, options=options)

    port = neutron.network.get_port(plan.port_id)
    assert (port.qos_policy_id, port.security_group_ids) == (gold, [web])


async def test_a_policy_or_group_that_does_not_exist_or_anothers_is_not_found_and_nothing_is_taken(
    neutron: Connection, world: World
) -> None:
    theirs = {"qos_policy_id": policy(neutron, "somebody"), "security_group_ids": (group(neutron, "somebody", "x"),)}
    for options, why in (
        (PortOptions(qos_policy_id=UNKNOWN), "VIP QoS Policy"),
        (PortOptions(qos_policy_id=theirs["qos_policy_id"]), "VIP QoS Policy"),  # type: ignore[arg-type]
        (PortOptions(security_group_ids=(UNKNOWN,)), "Security Group"),
        (PortOptions(security_group_ids=theirs["security_group_ids"]), "Security Group"),  # type: ignore[arg-type]
    ):
        with pytest.raises(NotFound, match=why):
            await world.plan(subnet_id=world.subnet_id, options=options)
    assert not world.claims.standing and not list(neutron.network.ports(network_id=world.network_id))


async def test_a_port_is_changed_to_what_is_wanted_and_back_to_neutrons_own(neutron: Connection, world: World) -> None:
    gold, web = policy(neutron, world.project_id), group(neutron, world.project_id, "web")
    plan = await world.plan(subnet_id=world.subnet_id)
    before = neutron.network.get_port(plan.port_id).security_group_ids

    await world.driver.set_options(plan.port_id, wanted(PortOptions(qos_policy_id=gold, security_group_ids=(web,))))
    port = neutron.network.get_port(plan.port_id)
    assert (port.qos_policy_id, port.security_group_ids) == (gold, [web])
    await world.driver.set_options(plan.port_id, wanted(PortOptions(security_group_ids=None)))
    port = neutron.network.get_port(plan.port_id)
    assert (port.qos_policy_id, port.security_group_ids) == (None, [web])
    await world.driver.set_options(plan.port_id, wanted(PortOptions()))
    assert neutron.network.get_port(plan.port_id).security_group_ids == before
    await world.driver.set_options(plan.port_id, wanted(None))
    await world.driver.set_options(UNKNOWN, wanted(PortOptions(qos_policy_id=gold)))


async def test_older_port_options_do_not_overwrite_newer_ones(neutron: Connection, world: World) -> None:
    old, new = group(neutron, world.project_id, "old"), group(neutron, world.project_id, "new")
    plan = await world.plan(subnet_id=world.subnet_id)
    asked: list[str] = []

    async def read() -> PortOptions:
        if not asked:  # another controller tells what is newer, in between
            neutron.network.update_port(plan.port_id, security_groups=[new])
        asked.append(old if not asked else new)
        return PortOptions(security_group_ids=(asked[-1],))

    await world.driver.set_options(plan.port_id, read)

    assert asked == [old, new]
    assert neutron.network.get_port(plan.port_id).security_group_ids == [new]


async def test_a_group_that_went_meanwhile_is_a_conflict(neutron: Connection, world: World) -> None:
    plan = await world.plan(subnet_id=world.subnet_id)
    with pytest.raises(Conflict, match="refuses to change"):
        await world.driver.set_options(plan.port_id, wanted(PortOptions(security_group_ids=(UNKNOWN,))))
