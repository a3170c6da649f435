"""What controllers do before they answer an adoption: look for ports, reserve, mark the ports as ours."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.adoptions import Adoptions
from evenkeel.core.devices.adoption import SEVERAL_ROUTE_DOMAINS, AdoptedNetworks, FoundAddress
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.attachment import DeviceAddressPort, DevicePort
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import AddressUse
from evenkeel.core.protocol import messages as m

ADDRESSES = tuple(
    FoundAddress(subnet_id=f"sub-{number}", use=AddressUse.SELF, owner="d1", address=f"10.{number}.0.2", name="n")
    for number in (1, 2)
)
CALL = m.AdoptNetworks(
    agent_id="a", session_id="s", shard_id="x", epoch=1, route_domain=5, addresses=ADDRESSES, apply=True
)
PORT = DevicePort(subnet_id="sub-1", network_id="net-1", use=AddressUse.SELF, owner="d1", index=0, binding_host="")
CLAIM = PortClaim(claim_id="c", device_owner="o", device_id="c", port_id="p")


class Store:
    """Has the ports of both networks to adopt, and takes what is found."""

    def __init__(self) -> None:
        self.taken: list[Mapping[FoundAddress, PortClaim]] = []

    async def ports_to_adopt(self, call: m.AdoptNetworks) -> tuple[tuple[str, FoundAddress], ...]:
        return tuple((each.subnet_id.replace("sub", "net"), each) for each in call.addresses)

    async def adopt_networks(self, call: m.AdoptNetworks, ports: Mapping[FoundAddress, PortClaim]) -> AdoptedNetworks:
        self.taken.append(ports)
        taken = tuple(
            DeviceAddressPort(port=PORT, address="10.1.0.2", port_id="p", claim=one) for one in ports.values()
        )
        return AdoptedNetworks(
            route_domain=call.route_domain,
            addresses=tuple(ports),
            ports=taken if call.apply else (),
            route_domains=call.route_domains,
        )


class Network:
    """Has the port of the first address."""

    def __init__(self) -> None:
        self.marked: list[DeviceAddressPort] = []
        self.away: tuple[str, ...] = ()

    async def find_adoptable(
        self, network_id: str, wanted: Collection[FoundAddress]
    ) -> Mapping[FoundAddress, PortClaim]:
        if "find" in self.away:
            raise NetworkUnavailable("Neutron is away")
        return dict.fromkeys(wanted, CLAIM) if network_id == "net-1" else {}

    async def adopt_port(self, taken: DeviceAddressPort) -> None:
        if "mark" in self.away:
            raise NetworkUnavailable("Neutron is away")
        self.marked.append(taken)


def made(store: Store, network: Network | None) -> Adoptions:
    parts: Any = store, None, network
    return Adoptions(*parts)


@pytest.mark.parametrize("apply", [False, True])
async def test_ports_are_found_by_network_and_marked_when_they_are_ours(apply: bool) -> None:
    store, network = Store(), Network()
    call = m.AdoptNetworks(**{name: getattr(CALL, name) for name in CALL.__struct_fields__} | {"apply": apply})
    answer = await made(store, network).adopt_networks(call)
    assert answer == m.NetworksAdopted(route_domain=5, addresses=ADDRESSES[:1])
    assert store.taken == [{ADDRESSES[0]: CLAIM}]
    assert [one.port_id for one in network.marked] == (["p"] if apply else [])


async def test_without_a_network_service_the_database_decides() -> None:
    store = Store()
    assert (await made(store, None).adopt_networks(CALL)).route_domain == 5
    assert store.taken == [{}]


async def test_several_numbers_are_answered_by_network() -> None:
    call = replace(CALL, route_domain=SEVERAL_ROUTE_DOMAINS, route_domains={"net-1": 101, "net-2": 102})
    answer = await made(Store(), None).adopt_networks(call)
    assert answer == m.NetworksAdopted(route_domain=SEVERAL_ROUTE_DOMAINS, route_domains={"net-1": 101, "net-2": 102})


@pytest.mark.parametrize("step", ["find", "mark"])
async def test_a_network_service_that_is_away_refuses_it_until_it_is_repeated(step: str) -> None:
    store, network = Store(), Network()
    network.away = (step,)
    with pytest.raises(Conflict, match="Neutron is away; repeat the adoption"):
        await made(store, network).adopt_networks(CALL)
    assert len(store.taken) == (step == "mark")
    network.away = ()
    await made(store, network).adopt_networks(CALL)
    assert [one.port_id for one in network.marked] == ["p"]
