"""VIP ports that a controller makes for an Octavia, over the real driver for Neutron and a Neutron in memory."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.api.usecases import mirror_ports
from evenkeel.controller.port_releases import PortReleases
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import PortClaim, octavia_port_mark
from evenkeel.core.resources.model import Subnet
from evenkeel.network.neutron.client import NeutronPort
from evenkeel.network.neutron.driver import NeutronNetwork
from evenkeel.network.neutron.errors import NeutronRefused
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink
from tests.api.operators.mirror.conftest import LB, MIRROR, Octavia, uid, whole
from tests.waiting import eventually

PORTS = f"{MIRROR}/vip-ports"
SUBNETS = {"s1": "p1", "s2": "p1", "theirs": "p2"}
OTHER = uid(50)
_BACKOFF = Backoff(initial_seconds=5.0, max_seconds=300.0)


class MemoryNeutron:
    """The part of :class:`NeutronClient` that VIPs use."""

    def __init__(self) -> None:
        self.ports: dict[str, NeutronPort] = {}
        self.marks: dict[str, tuple[Any, Any]] = {}
        self.before_create: Callable[[], None] = lambda: None
        self._numbers = itertools.count(10)

    def subnet(self, subnet_id: str) -> Subnet | None:
        if subnet_id not in SUBNETS:
            return None
        place = list(SUBNETS).index(subnet_id)
        return Subnet(
            id=subnet_id,
            network_id="n1",
            cidr=f"203.0.{place}.0/24",
            name=subnet_id,
            gateway_ip=f"203.0.{place}.1",
            allocation_start=f"203.0.{place}.2",
            allocation_end=f"203.0.{place}.254",
            project_id=SUBNETS[subnet_id],
        )

    def list_documents(self, path: str, kind: str, query: dict[str, Any], *, limit: int) -> list[dict[str, Any]]:
        ids = {"subnets": set(SUBNETS), "networks": {"n1"}}[kind]
        return [{"id": id_} for id_ in sorted(ids.intersection(query["id"]))][:limit]

    def shared_networks(self, _project_id: str, *, network_id: str | None = None) -> set[str]:
        return set()

    def create_port(self, plan: Any, mark: Any, project_id: Any, options: Any) -> NeutronPort:
        self.before_create()
        place = {name: number for number, name in enumerate(SUBNETS)}
        addresses = tuple(
            (each.subnet_id, each.address or f"203.0.{place[each.subnet_id]}.{next(self._numbers)}")
            for each in (plan, *plan.additional)
        )
        id_ = f"port-{next(self._numbers)}"
        port = NeutronPort(
            id=id_, project_id=project_id, network_id="n1", device_id=mark.device_id, addresses=addresses
        )
        self.ports[id_], self.marks[id_] = port, (mark, options)
        return port

    def port(self, port_id: str) -> NeutronPort | None:
        return self.ports.get(port_id)

    def port_ids(self, device_owner: str, device_id: str) -> list[str]:
        return [
            id_
            for id_, (mark, _) in self.marks.items()
            if id_ in self.ports and (mark.device_owner, mark.device_id) == (device_owner, device_id)
        ]

    def delete_port(self, port_id: str) -> bool:
        return self.ports.pop(port_id, None) is not None


class Cloud:
    """A Neutron, and any number of controllers over one database that use it."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.neutron = MemoryNeutron()
        self.network = self._network()

    def _network(self, timeout_seconds: float = 20.0) -> NeutronNetwork:
        client: Any = self.neutron
        return NeutronNetwork(client, self.store.claims, self.store.device_ports, timeout_seconds=timeout_seconds)

    def controller(self, timeout_seconds: float = 20.0) -> Any:
        """A client of another controller."""
        network = self._network(timeout_seconds)
        app = create_app(store=self.store, network=network, driver=Sink(), default_provider="dev")
        return Client.of(app)

    async def released(self) -> list[str]:
        """Process all due claims; the ports that are left."""
        await PortReleases(self.store.claims, self.network).process_due()
        return sorted(self.neutron.ports)


@pytest.fixture
async def cloud(store: SqlStore) -> AsyncIterator[Cloud]:
    made = Cloud(store)
    yield made
    made.network.close()


@pytest.fixture
async def controller(cloud: Cloud) -> AsyncIterator[Client]:
    async with cloud.controller() as api:
        yield api


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search only once for a port that another request is making."""
    monkeypatch.setattr(mirror_ports, "PAUSES_SECONDS", ())


def wanted(id_: str = LB, **more: Any) -> dict[str, Any]:
    return {"provider": "dev", "loadbalancer_id": id_, "project_id": "p1", "vip_subnet_id": "s1", **more}


def tree_with(port: dict[str, Any]) -> dict[str, Any]:
    vip = {"address": "ip_address", "subnet_id": "subnet_id", "network_id": "network_id", "port_id": "port_id"}
    return whole(**{f"vip_{name}": port[given] for name, given in vip.items()})


async def test_port_has_the_marks_of_our_own_load_balancers_and_all_addresses(controller: Client, cloud: Cloud) -> None:
    body = wanted(
        vip_address="203.0.0.77",
        additional_vips=[{"subnet_id": "s2"}],
        vip_sg_ids=[],
        flavor_data={"sriov_vip": True},
    )
    port = (await controller.post(PORTS, body, 200))["vip_port"]
    (more,) = port.pop("additional_vips")
    assert port == {"port_id": port["port_id"], "network_id": "n1", "subnet_id": "s1", "ip_address": "203.0.0.77"}
    assert more["subnet_id"] == "s2" and more["ip_address"].startswith("203.0.1.")
    mark, options = cloud.neutron.marks[port["port_id"]]
    assert mark == octavia_port_mark(LoadBalancerId(LB)) and options.vnic_type == "direct"
    assert cloud.neutron.ports[port["port_id"]].project_id == "p1"


@pytest.mark.parametrize("by", ["s2", "n1"])
async def test_tenants_own_port_on_a_denied_network_is_refused(controller: Client, cloud: Cloud, by: str) -> None:
    cloud.neutron.ports["own"] = NeutronPort(
        id="own", project_id="default", network_id="n1", device_id="", addresses=(("s2", "203.0.1.9"),)
    )
    await controller.put("/evenkeel/v1/environments/dev", {"environment": {"vip_networks_denied": [by]}})
    text = (await controller.post("/loadbalancers", {"loadbalancer": {"vip_port_id": "own"}}, 400))["faultstring"]
    assert "vip_port_id. Value: 'own'" in text and f"{by} is denied" in text
    await controller.put("/evenkeel/v1/environments/dev", {"environment": {"vip_networks_denied": []}})
    made = await controller.post("/loadbalancers", {"loadbalancer": {"vip_port_id": "own"}})
    assert made["loadbalancer"]["vip_address"] == "203.0.1.9"


async def test_port_for_an_octavia_is_not_made_on_a_denied_subnet(controller: Client, cloud: Cloud) -> None:
    await controller.put("/evenkeel/v1/environments/dev", {"environment": {"vip_networks_denied": ["s1"]}})
    assert "s1 is denied" in (await controller.post(PORTS, wanted(), 400))["faultstring"]
    more = wanted(vip_subnet_id="s2", additional_vips=[{"subnet_id": "s1"}])
    assert "additional_vips.subnet_id. Value: 's1'" in (await controller.post(PORTS, more, 400))["faultstring"]
    assert not cloud.neutron.ports


async def test_repeated_request_finds_the_port_of_the_first_one_at_any_controller(
    controller: Client, cloud: Cloud
) -> None:
    first = await controller.post(PORTS, wanted(additional_vips=[{"subnet_id": "s2"}]), 200)
    async with cloud.controller() as other:
        assert await other.post(PORTS, wanted(additional_vips=[{"subnet_id": "s2"}]), 200) == first
    assert await controller.post(PORTS, wanted(additional_vips=[{"subnet_id": "s2"}]), 200) == first
    assert list(cloud.neutron.ports) == [first["vip_port"]["port_id"]]


async def test_request_beside_one_that_is_under_way_waits_for_its_port(controller: Client, cloud: Cloud) -> None:
    may_go, arrived = threading.Event(), threading.Event()

    def wait() -> None:
        arrived.set()
        assert may_go.wait(30.0)

    cloud.neutron.before_create = wait
    async with cloud.controller() as other:
        first = asyncio.create_task(controller.post(PORTS, wanted(), 200))
        await asyncio.to_thread(arrived.wait, 30.0)
        second = asyncio.create_task(other.post(PORTS, wanted(), 200))
        may_go.set()
        assert await first == await second
    assert len(cloud.neutron.ports) == 1


@pytest.mark.usefixtures("impatient")
async def test_port_of_a_controller_that_died_before_it_answered_is_found(controller: Client, cloud: Cloud) -> None:
    mark = octavia_port_mark(LoadBalancerId(LB))
    claim = PortClaim(claim_id=LB, device_owner=mark.device_owner, device_id=mark.device_id)
    await cloud.store.claims.store_claim(claim, grace_seconds=1000.0)
    await controller.post(PORTS, wanted(), 503)
    assert not cloud.neutron.ports

    # now one that died after the port was made
    plan = await cloud.network.plan_vip(
        project_id="p1",  # type: ignore[arg-type]
        load_balancer_id=LoadBalancerId(OTHER),
        subnet_id="s1",
        network_id=None,
        port_id=None,
        address=None,
    )
    port = (await controller.post(PORTS, wanted(OTHER), 200))["vip_port"]
    assert (port["port_id"], port["ip_address"]) == (plan.port_id, plan.address)
    assert len(cloud.neutron.ports) == 1


@pytest.mark.parametrize("subnet_id", ["theirs", "missing"])
async def test_subnet_that_the_project_may_not_use_is_refused(controller: Client, cloud: Cloud, subnet_id: str) -> None:
    for body in (wanted(vip_subnet_id=subnet_id), wanted(OTHER, additional_vips=[{"subnet_id": subnet_id}])):
        answer = await controller.post(PORTS, body, 400)
        assert answer["faultstring"] == f"Subnet {subnet_id} not found."
    assert not cloud.neutron.ports


@pytest.mark.usefixtures("impatient")
async def test_port_of_another_projects_load_balancer_is_not_shown(controller: Client, cloud: Cloud) -> None:
    await controller.post(PORTS, wanted(), 200)
    await controller.post(PORTS, wanted(project_id="p2", vip_subnet_id="theirs"), 503)
    await controller.post(PORTS, wanted(provider="missing"), 400)
    assert len(cloud.neutron.ports) == 1


async def test_refusals_of_neutron_are_answered_in_words_and_leave_nothing(controller: Client, cloud: Cloud) -> None:
    def refuse(kind: str, message: str) -> Callable[[], None]:
        def raising() -> None:
            raise NeutronRefused(409, kind, message)

        return raising

    cloud.neutron.before_create = refuse("IpAddressAlreadyAllocated", "taken")
    answer = await controller.post(PORTS, wanted(vip_address="203.0.0.9"), 409)
    assert answer["faultstring"] == "VIP address 203.0.0.9 is in use on network n1."
    cloud.neutron.before_create = refuse("OverQuota", "Quota exceeded for resources: ['port'].")
    answer = await controller.post(PORTS, wanted(), 409)
    assert "Quota exceeded for resources: ['port']." in answer["faultstring"]
    cloud.neutron.before_create = refuse("IpAddressGenerationFailure", "No more IP addresses available")
    await controller.post(PORTS, wanted(), 409)

    cloud.neutron.before_create = lambda: None
    await controller.post(PORTS, wanted(), 200)


@pytest.mark.usefixtures("impatient")
async def test_port_that_a_hanging_neutron_makes_later_is_deleted(cloud: Cloud) -> None:
    may_go = threading.Event()

    def hang() -> None:
        assert may_go.wait(30.0)

    cloud.neutron.before_create = hang
    async with cloud.controller(timeout_seconds=0.2) as hasty:
        answer = await hasty.post(PORTS, wanted(), 503)
        assert "Neutron" in answer["faultstring"]
        may_go.set()
        await eventually(lambda: len(cloud.neutron.ports) == 1)
        await hasty.post(PORTS, wanted(), 503)
    assert await cloud.released() == []


async def test_port_of_a_put_load_balancer_is_deleted_with_it_and_not_before(
    controller: Client, cloud: Cloud, store: SqlStore
) -> None:
    octavia = Octavia(controller, store)
    port = (await controller.post(PORTS, wanted(), 200))["vip_port"]
    await octavia.put(tree_with(port))
    assert await cloud.released() == [port["port_id"]]
    assert (await controller.get(f"{PORTS}?provider=dev"))["ids"] == []
    await octavia.delete()
    assert await cloud.released() == []


async def test_port_of_a_create_that_was_rolled_back_is_listed_until_it_is_given_back(
    controller: Client, cloud: Cloud, store: SqlStore
) -> None:
    await controller.post(PORTS, wanted(), 200)
    assert (await controller.get(f"{PORTS}?provider=dev&older=0"))["ids"] == [LB]
    assert (await controller.get(f"{PORTS}?provider=dev&older=500"))["ids"] == []
    assert len(await cloud.released()) == 1
    await Octavia(controller, store).delete()
    assert (await controller.get(f"{PORTS}?provider=dev"))["ids"] == []
    assert await cloud.released() == []


async def test_tenants_own_port_of_a_mirrored_load_balancer_is_not_deleted(
    controller: Client, cloud: Cloud, store: SqlStore
) -> None:
    octavia = Octavia(controller, store)
    own = NeutronPort(
        id="own",
        project_id="p1",  # type: ignore[arg-type]
        network_id="n1",
        device_id="a server",
        addresses=(("s1", "203.0.0.5"),),
    )
    cloud.neutron.ports["own"] = own
    body = {"port_id": "own", "network_id": "n1", "subnet_id": "s1", "ip_address": "203.0.0.5"}
    await octavia.put(tree_with(body))
    await octavia.delete()
    claims = await store.claims.take_due_claims(limit=5, backoff=_BACKOFF)
    assert [each.claim.borrowed for each in claims] == [True]


async def test_address_pools_of_a_controller_without_neutron_have_no_ports(api: Client) -> None:
    answer = await api.post(PORTS, wanted(), 501)
    assert "need a network service" in answer["faultstring"]
    assert (await api.get(f"{PORTS}?provider=dev"))["ids"] == []
    await api.get(f"{PORTS}?provider=dev&older=soon", 400)
