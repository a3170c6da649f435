"""Ports of a switch-over in a real Neutron: an amphora's pairs, and the VIP's port on its way to us and back."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openstack.connection import Connection

from evenkeel.cli.client import Client
from evenkeel.cli.moving_in.switching.source import MOVING_OWNER, OCTAVIA_OWNER, Amphora, AmphoraSource
from evenkeel.core.networking.network import PortOptions
from tests.network.conftest import NEEDS_NEUTRON
from tests.network.worlds import World, neutron_world

pytestmark = NEEDS_NEUTRON

VIP, OTHER = "10.77.0.50", "10.77.0.51"
HOST = "host-1"


@pytest.fixture
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with neutron_world(request) as found:
        yield found


@pytest.fixture
def source(neutron_url: str) -> AmphoraSource:
    client = Client([neutron_url], timeout_seconds=60.0)
    return AmphoraSource(client, client)


def made_port(neutron: Connection, world: World, **values: Any) -> Any:
    return neutron.network.create_port(network_id=world.network_id, project_id=world.project_id, **values)


def amphora(neutron: Connection, port_id: str) -> Amphora:
    port = neutron.network.get_port(port_id)
    return Amphora("a-1", "STANDALONE", port_id, tuple(dict(pair) for pair in port.allowed_address_pairs))


def addresses(neutron: Connection, port_id: str) -> list[str]:
    return sorted(pair["ip_address"] for pair in neutron.network.get_port(port_id).allowed_address_pairs)


def test_vips_leave_the_pairs_and_return_and_other_pairs_stay(
    neutron: Connection, world: World, source: AmphoraSource
) -> None:
    # as Octavia sets them, and one of the operator's
    pairs = [{"ip_address": address} for address in (VIP, OTHER, "10.77.0.99")]
    port = made_port(neutron, world, allowed_address_pairs=pairs)
    for _ in range(2):
        source.remove_addresses(amphora(neutron, port.id), (VIP, OTHER))
        assert addresses(neutron, port.id) == ["10.77.0.99"]
        assert not amphora(neutron, port.id).may_send_from((VIP, OTHER))
    for _ in range(2):
        source.allow_addresses(amphora(neutron, port.id), (VIP, OTHER))
        assert addresses(neutron, port.id) == [VIP, OTHER, "10.77.0.99"]
    assert amphora(neutron, port.id).may_send_from((VIP,))
    neutron.network.delete_port(port)


async def test_vip_port_is_bound_to_our_host_and_unbound_on_the_way_back(
    neutron: Connection, world: World, source: AmphoraSource
) -> None:
    port = made_port(neutron, world, device_owner="Octavia", device_id="lb-1", is_admin_state_up=False)
    for host, is_bound in ((HOST, True), ("", False)):

        async def options(host: str = host) -> PortOptions:
            return PortOptions(security_group_ids=None, binding_host=host)

        await world.driver.set_options(port.id, options)
        found = neutron.network.get_port(port.id)
        assert (found.binding_host_id, source.is_bound(port.id)) == (host, is_bound)
        assert (found.device_owner, found.device_id) == ("Octavia", "lb-1")
    neutron.network.delete_port(port)


def test_port_has_another_owner_while_octavia_deletes_the_load_balancer(
    neutron: Connection, world: World, source: AmphoraSource
) -> None:
    port = made_port(neutron, world, device_owner=OCTAVIA_OWNER, device_id="lb-1")
    for owner in (MOVING_OWNER, OCTAVIA_OWNER):
        source.set_owner(port.id, owner)
        found = source.port(port.id)
        assert found is not None and (found["device_owner"], found["device_id"]) == (owner, "lb-1")
    neutron.network.delete_port(port)
    assert source.port(port.id) is None
