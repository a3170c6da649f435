"""Telling the network service of VIPs' ports: at once, again until it worked, and always what is wanted now."""

from collections.abc import Awaitable, Callable, Collection

import pytest
from msgspec.structs import replace

from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.network import MissingVipPort, PortMark, PortOptions, PortToUpdate


def due(policy: str, revision: int = 2, name: str = "lb") -> PortToUpdate:
    return PortToUpdate(
        load_balancer_id=name, revision=revision, port_id=f"port-{name}", options=PortOptions(qos_policy_id=policy)
    )


class Store:
    """What is to be told, by load balancer; ``found``: what a look finds."""

    def __init__(self, *ports: PortToUpdate) -> None:
        self.ports = {port.load_balancer_id: port for port in ports}
        self.found: tuple[str, ...] = ()
        self.reasons: dict[str, str] = {}

    async def find_due_port(self, load_balancer_id: str) -> PortToUpdate | None:
        return self.ports.get(load_balancer_id)

    async def record_port_updated(self, port: PortToUpdate) -> bool:
        if self.ports.get(port.load_balancer_id) != port:
            return False
        del self.ports[port.load_balancer_id]
        return True

    async def take_load_balancers_due_for_port_update(self, *, limit: int, backoff: Backoff) -> tuple[str, ...]:
        assert limit > 0 < backoff.initial_seconds
        return self.found

    async def begin_recreation(self, load_balancer_id: str) -> bool:
        return load_balancer_id in self.ports

    async def record_found_port(self, port: PortToUpdate) -> None:
        self.ports[port.load_balancer_id] = replace(port, lost=None)

    async def record_new_port(self, port: PortToUpdate, port_id: str) -> bool:
        self.ports[port.load_balancer_id] = replace(port, port_id=port_id, lost=None)
        return True

    async def record_recreation_failure(self, load_balancer_id: str, reason: str) -> None:
        self.reasons[load_balancer_id] = reason


class Network:
    """Ports and what they have; ``meanwhile`` runs once while one is being told."""

    def __init__(self) -> None:
        self.has: dict[str, list[str | None]] = {}
        self.error: Exception | None = None
        self.meanwhile: Callable[[], None] | None = None
        self.taken = False
        self.there: frozenset[str] = frozenset()

    async def find_existing_ports(self, port_ids: Collection[str]) -> frozenset[str]:
        return frozenset(port_ids) & self.there

    async def recreate_vip_port(self, lost: MissingVipPort, options: PortOptions) -> str:
        if self.taken:
            raise Conflict("another port has its address now: 10.0.0.9")
        return f"again-{lost.mark.name}"

    async def set_options(self, port_id: str, read: Callable[[], Awaitable[PortOptions | None]]) -> None:
        if self.error is not None:
            raise self.error
        options = await read()
        if options is None:
            return
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        self.has.setdefault(port_id, []).append(options.qos_policy_id)


async def test_accepted_port_change_is_sent_at_once() -> None:
    store, network = Store(due("gold")), Network()
    ports = VipPortUpdates(store, store, network)
    ports.update_soon("lb")
    await ports.pause(60.0)
    await ports.update_due()
    assert (network.has, store.ports) == ({"port-lb": ["gold"]}, {})


async def test_port_changes_of_other_controllers_are_sent_too() -> None:
    store, network = Store(due("a", name="x"), due("b", name="y")), Network()
    store.found = ("x", "y", "gone")
    await VipPortUpdates(store, store, network).update_due()
    assert (network.has, store.ports) == ({"port-x": ["a"], "port-y": ["b"]}, {})


async def test_a_change_that_comes_meanwhile_is_reported_after_it() -> None:
    store, network = Store(due("gold")), Network()
    network.meanwhile = lambda: store.ports.update(lb=due("silver", revision=3))
    ports = VipPortUpdates(store, store, network)
    ports.update_soon("lb")
    await ports.update_due()
    assert (network.has, store.ports) == ({"port-lb": ["gold", "silver"]}, {})


@pytest.mark.parametrize("error", [NetworkUnavailable("down"), Conflict("no such policy")])
async def test_failed_port_change_is_sent_later(error: Exception) -> None:
    store, network = Store(due("gold")), Network()
    network.error = error
    ports = VipPortUpdates(store, store, network)
    ports.update_soon("lb")
    if isinstance(error, NetworkUnavailable):
        with pytest.raises(NetworkUnavailable):
            await ports.update_due()
    else:
        await ports.update_due()
    assert store.ports

    network.error, store.found = None, ("lb",)
    await ports.update_due()
    assert (network.has, store.ports) == ({"port-lb": ["gold"]}, {})


LOST = MissingVipPort(
    project_id="p", network_id="net", addresses=(("sub", "10.0.0.9"),), mark=PortMark("lb", "Octavia", "lb-lb")
)


async def test_a_lost_port_is_made_again_and_then_set() -> None:
    store, network = Store(replace(due("gold"), lost=LOST)), Network()
    store.found = ("lb",)
    await VipPortUpdates(store, store, network).update_due()
    assert (network.has, store.ports) == ({"again-lb": ["gold"]}, {})


async def test_why_a_lost_port_is_not_made_is_reported_and_it_is_tried_again() -> None:
    store, network = Store(replace(due("gold"), lost=LOST)), Network()
    store.found, network.taken = ("lb",), True
    updates = VipPortUpdates(store, store, network)
    await updates.update_due()
    assert "another port has its address now: 10.0.0.9" in store.reasons["lb"] and store.ports

    network.taken = False
    await updates.update_due()
    assert (network.has, store.ports) == ({"again-lb": ["gold"]}, {})


async def test_a_port_that_was_only_not_shown_for_a_while_is_kept() -> None:
    store, network = Store(replace(due("gold"), lost=LOST)), Network()
    store.found, network.there = ("lb",), frozenset({"port-lb"})
    await VipPortUpdates(store, store, network).update_due()
    assert (network.has, store.ports) == ({"port-lb": ["gold"]}, {})


async def test_a_port_that_was_meanwhile_made_for_nobody_is_not_set() -> None:
    class Gone(Store):
        async def record_new_port(self, port: PortToUpdate, port_id: str) -> bool:
            del self.ports[port.load_balancer_id]
            return False

    class Deleted(Store):
        async def begin_recreation(self, load_balancer_id: str) -> bool:
            return False

    for made in (Gone, Deleted):
        store, network = made(replace(due("gold"), lost=LOST)), Network()
        store.found = ("lb",)
        await VipPortUpdates(store, store, network).update_due()
        assert network.has == {}
