"""What controllers ask the network service for before they answer with definitions, and what they do without it."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from evenkeel.controller.definitions import CHANGING, LATE, NO_PORTS, DefinitionReader
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable, StoreUnavailable
from evenkeel.core.networking.attachment import (
    DeviceAddressPort,
    DevicePort,
    KnownSubnet,
    NetworkFacts,
    NetworkRequestsNeeded,
)
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import AddressUse, MemberHost
from evenkeel.core.ports import FoundServices
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import Subnet
from tests.waiting import eventually

CALL = m.GetServices(agent_id="a", session_id="s", shard_id="x", epoch=1)


def port(index: int) -> DevicePort:
    return DevicePort(
        subnet_id="sub", network_id="net", use=AddressUse.SNAT, owner="group", index=index, binding_host=""
    )


class Store:
    """Has needs until they are met. Load balancers with a problem, or without needs, are in the page."""

    def __init__(self, needs: NetworkRequestsNeeded) -> None:
        self.needs = needs
        self.known: set[Any] = set()
        self.problems: Mapping[Any, str] = {}
        self.reads = 0
        self.takes = True
        self.late: list[str] = []

    async def services(self, *_args: Any, unattachable: Mapping[Any, str], **_kw: Any) -> FoundServices:
        self.problems = dict(unattachable)
        self.reads += 1
        lacking = {
            id_: tuple(one for one in ports if one not in self.known)
            for id_, ports in self.needs.ports.items()
            if id_ not in unattachable
        }
        return FoundServices(
            page=m.ServiceDefinitions(services=()),
            needs=NetworkRequestsNeeded(
                subnets={id_: ids - self.known for id_, ids in self.needs.subnets.items() if ids - self.known},
                ports={id_: ports for id_, ports in lacking.items() if ports},
                members=self.needs.members - self.known,
            ),
        )

    async def store_network_facts(self, found: Sequence[KnownSubnet]) -> tuple[()]:
        self.known |= {each.subnet.id for each in found}
        return ()

    async def store_hosts(self, network_id: str, hosts: Mapping[str, MemberHost]) -> tuple[()]:
        self.known |= {(network_id, address) for address in hosts}
        return ()

    async def record_unanswered_hosts(self, members: Mapping[str, Collection[str]]) -> None:
        self.late += members

    async def store_address(self, shard_id: str, taken: DeviceAddressPort) -> bool:
        if not self.takes:
            raise StoreUnavailable("away")
        self.known.add(taken.port)
        return True


class Service:
    """A network service that answers unless told otherwise."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.abandoned: list[DeviceAddressPort] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.error: Exception | None = None

    async def _answer(self, what: Any) -> None:
        self.asked.append(what)
        await self.go_on.wait()
        if self.error is not None:
            raise self.error

    async def read_facts(self, subnet_ids: Collection[str]) -> NetworkFacts:
        await self._answer(sorted(subnet_ids))
        found = [
            KnownSubnet(
                subnet=Subnet(id=id_, network_id="n", cidr="10.0.0.0/24", allocation_start="", allocation_end=""),
                network=None,
            )
            for id_ in subnet_ids
            if id_.startswith("good")
        ]
        refused = {id_: f"{id_} is local" for id_ in subnet_ids if id_.startswith("local")}
        return NetworkFacts(subnets=tuple(found), refused=refused)

    async def find_hosts(self, network_id: str, addresses: Collection[str]) -> Mapping[str, MemberHost]:
        await self._answer((network_id, sorted(addresses)))
        return {each: MemberHost(address=each, mac_address="") for each in addresses}

    async def take_address(self, wanted: DevicePort) -> DeviceAddressPort:
        await self._answer(wanted)
        claim = PortClaim(claim_id=str(wanted.index), device_owner="o", device_id="d")
        return DeviceAddressPort(port=wanted, address="10.0.0.9", port_id="p", claim=claim)

    async def abandon_address(self, taken: DeviceAddressPort) -> None:
        self.abandoned.append(taken)


def made(store: Store, service: Service | None, seconds: float = 30.0) -> DefinitionReader:
    settings = ControllerSettings(network_answer_seconds=seconds)
    parts: Any = store, store, service, settings
    return DefinitionReader(*parts)


async def test_everything_that_is_needed_is_requested_once() -> None:
    store, service = (
        Store(
            NetworkRequestsNeeded(
                subnets={"lb-1": frozenset({"good-1"}), "lb-2": frozenset({"good-1", "good-2"})},
                ports={"lb-1": (port(0), port(1)), "lb-2": (port(1),)},
                members=frozenset({("net", "10.0.0.1"), ("net", "10.0.0.2")}),
            )
        ),
        Service(),
    )
    await made(store, service).read(CALL, limit=10)
    assert service.asked == [["good-1", "good-2"], ("net", ["10.0.0.1", "10.0.0.2"]), port(0), port(1)]
    assert store.problems == {} and store.reads == 2


async def test_without_a_network_service_nothing_is_queried_and_left_over_ports_are_a_problem() -> None:
    store = Store(NetworkRequestsNeeded(subnets={"lb-1": frozenset({"s"})}, ports={"lb-2": (port(0),)}))
    await made(store, None).read(CALL, limit=10)
    assert store.problems == {"lb-2": NO_PORTS}


async def test_subnets_that_do_not_exist_are_requested_once_in_a_call() -> None:
    store, service = (
        Store(NetworkRequestsNeeded(subnets={"lb-1": frozenset({"gone"}), "lb-2": frozenset({"local"})})),
        Service(),
    )
    await made(store, service).read(CALL, limit=10)
    assert service.asked == [["gone", "local"]]
    assert store.problems == {"lb-2": "local is local"}


@pytest.mark.parametrize("error", [NetworkUnavailable("Neutron is away"), Conflict("no free address")])
async def test_refusal_of_the_network_service_is_the_problem_of_its_load_balancers(error: Exception) -> None:
    store, service = Store(NetworkRequestsNeeded(ports={"lb-1": (port(0),)})), Service()
    service.error = error
    await made(store, service).read(CALL, limit=10)
    assert store.problems == {"lb-1": str(error)}


async def test_a_slow_network_service_holds_up_nobody_and_its_answer_is_used_later() -> None:
    store, service = (
        Store(NetworkRequestsNeeded(subnets={"lb-2": frozenset({"good"})}, ports={"lb-1": (port(0),)})),
        Service(),
    )
    service.go_on.clear()
    definitions = made(store, service, seconds=0.01)
    for _ in range(2):
        await definitions.read(CALL, limit=10)
        assert store.problems == {"lb-1": LATE, "lb-2": LATE}
    service.go_on.set()
    await eventually(lambda: port(0) in store.known)
    assert service.asked.count(port(0)) == 1  # settled: asked before it is known, and never again
    await definitions.close()


async def test_addresses_of_members_are_queried_again_soon_if_nobody_reported_them() -> None:
    store, service = (
        Store(NetworkRequestsNeeded(members=frozenset({("net-1", "10.0.0.1"), ("net-2", "10.0.0.2")}))),
        Service(),
    )
    service.error = NetworkUnavailable("away")
    told: list[str] = []
    parts: Any = store, store, service, ControllerSettings()
    await DefinitionReader(*parts, on_unanswered=lambda: told.append("soon")).read(CALL, limit=10)
    assert told == ["soon"]
    assert service.asked == [("net-1", ["10.0.0.1"])], "nor is it asked for the others now"
    assert store.late == ["net-1", "net-2"] and store.problems == {}


async def test_a_port_whose_address_is_not_stored_is_given_up() -> None:
    store, service = Store(NetworkRequestsNeeded(ports={"lb-1": (port(0),)})), Service()
    store.takes = False
    await made(store, service).read(CALL, limit=10)
    assert [each.port for each in service.abandoned] == [port(0)]
    assert store.problems == {"lb-1": "away"}


async def test_needs_that_never_end_are_given_up() -> None:
    store, service = Store(NetworkRequestsNeeded(ports={"lb-1": (port(0),)})), Service()
    store.known = set()

    async def forgets(_shard_id: str, _taken: DeviceAddressPort) -> bool:
        return False

    store.store_address = forgets  # type: ignore[method-assign]
    await made(store, service).read(CALL, limit=10)
    assert store.problems == {"lb-1": CHANGING}
    assert len(service.abandoned) == len(service.asked)
