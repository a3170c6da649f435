"""Who watches a device group hears of the ports that it serves, not of those that it refused or gave up."""

import inspect
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.watched_device import notify_after_changes
from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome, service_outcome
from evenkeel.core.ports import device as device_ports
from evenkeel.core.resources.model import Vip
from tests.devices.bigip.network_world import balancer, network, subnet
from tests.devices.bigip.test_common_networks import left, networks, shared
from tests.devices.services import batch, gone, service


class Device:
    name = "group"

    async def apply(self, given: PartitionBatch) -> PartitionOutcome:
        refused = given.services[1]
        outcomes = [service_outcome(each, "no" if each is refused else "") for each in given.services]
        return PartitionOutcome(outcomes=tuple(outcomes), writes=1)


async def test_ports_of_what_was_applied_are_reported() -> None:
    heard: list[tuple[str, ...]] = []
    device = notify_after_changes(Device(), heard.append)  # type: ignore[arg-type]
    services = [
        replace(service(number), vip=Vip(address="10.0.0.1", subnet_id="s", network_id="n", port_id=f"port-{number}"))
        for number in (1, 2, 3)
    ]
    outcome = await device.apply(batch(*services, gone(4), replace(service(5), vip=None)))
    assert heard == [("port-1", "port-3")] and outcome.writes == 1
    assert device.name == "group"  # type: ignore[attr-defined]


async def test_ports_of_addresses_that_devices_have_are_reported_too() -> None:
    heard: list[tuple[str, ...]] = []
    device = notify_after_changes(Device(), heard.append)  # type: ignore[arg-type]
    made = subnet(1, ["device"])
    addresses = tuple(replace(each, port_id=f"port-{each.use.value}") for each in made.addresses)
    on_it = balancer(1, network(1, replace(made, addresses=(*addresses, *subnet(2, ["other"]).addresses))))
    await device.apply(batch(on_it, replace(balancer(2, network(2, made)), load_balancer_id="refused")))
    assert heard == [("p", "port-self", "port-snat")]


async def test_networks_that_projects_share_have_ports_but_no_vip() -> None:
    heard: list[tuple[str, ...]] = []
    device = notify_after_changes(Device(), heard.append)  # type: ignore[arg-type]
    shown = shared(1, "device")
    (made,) = shown.networks
    addresses = tuple(replace(each, port_id=f"port-{each.use.value}") for each in made.subnets[0].addresses)
    subnets = (replace(made.subnets[0], addresses=addresses),)
    await device.apply(networks(replace(shown, networks=(replace(made, subnets=subnets),)), left(2)))
    assert heard == [("port-self", "port-snat")]


@pytest.mark.parametrize("protocol", device_ports.OPTIONAL_DEVICE_PROTOCOLS)
def test_a_watched_device_group_offers_what_it_offers_unwatched(protocol: Any) -> None:
    """``isinstance`` of a protocol finds members by ``getattr_static`` from Python 3.12 on."""
    members = [name for name in vars(protocol) if not name.startswith("_")]
    group = type("Group", (), {name: lambda self: None for name in members})()
    watched = notify_after_changes(group, lambda _: None)
    assert members and all(inspect.getattr_static(watched, name, None) is not None for name in members)
    assert isinstance(watched, protocol)


def test_all_protocols_that_a_device_group_may_offer_are_listed() -> None:
    asked = {each for each in vars(device_ports).values() if getattr(each, "_is_runtime_protocol", False)}
    assert {each for each in asked if each.__module__ == device_ports.__name__} == set(
        device_ports.OPTIONAL_DEVICE_PROTOCOLS
    )
