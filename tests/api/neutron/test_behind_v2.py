"""What is behind LBaaS v2: the VIP's port, the store's lock, the device type."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.api.app import create_app
from evenkeel.core.devices.capabilities import ALL_CAPABILITIES
from evenkeel.core.networking.network import lbaas_v2_port_mark
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client
from tests.api.neutron.maker import LBAAS, Maker, refused
from tests.api.stores import started_store


class Watched(BuiltinNetwork):
    """The built-in network; remembers how VIPs were to be marked."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.marked: list[Any] = []

    async def plan_vip(self, **options: Any) -> Any:
        self.marked.append((options["load_balancer_id"], options["marked"]))
        return await super().plan_vip(**options)


async def test_port_of_the_vip_is_marked_as_lbaas_v2_did(store: Any, sink: Any) -> None:
    network = Watched(store.operators)
    async with Client.of(create_app(store=store, network=network, driver=sink, default_provider="dev")) as api:
        root = await Maker(api).root()
        ((load_balancer_id, mark),) = network.marked
        assert load_balancer_id == root["id"] and mark == lbaas_v2_port_mark(root["id"])
        graph = {"graph": {"loadbalancer": {"vip_subnet_id": bodies.SUBNET_ID}}}
        await api.post(f"{LBAAS}/graphs", graph)
        assert network.marked[-1][1].device_owner == "neutron:LOADBALANCERV2"


@pytest.fixture
async def strict_store(tmp_path: Path) -> AsyncIterator[Any]:
    """A strict one."""
    async with started_store(tmp_path, strict_immutability=True) as opened:
        yield opened


async def test_strict_immutability_is_reported_in_neutrons_words(strict_store: Any, sink: Any) -> None:
    network = BuiltinNetwork(strict_store.operators)
    app = create_app(store=strict_store, network=network, driver=sink, default_provider="dev")
    async with Client.of(app) as api:
        root = await Maker(api).root()
        path = f"/loadbalancers/{root['id']}"
        said = await refused(api, "PUT", path, 409, "StateInvalid", {"loadbalancer": {"name": "x"}})
        assert said.startswith("Invalid state PENDING_CREATE of loadbalancer resource")
        pool = {"loadbalancer_id": root["id"], "protocol": "TCP", "lb_algorithm": "SOURCE_IP"}
        await refused(api, "POST", "/pools", 409, "StateInvalid", {"pool": pool})


async def test_unsupported_setting_is_refused_in_lbaas_v2(store: Any, sink: Any) -> None:
    tables = {"noop": replace(ALL_CAPABILITIES, lb_algorithms=("ROUND_ROBIN",))}
    app = create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev", capabilities=tables
    )
    async with Client.of(app) as api:
        root = await Maker(api).root()
        pool = {"loadbalancer_id": root["id"], "protocol": "TCP", "lb_algorithm": "SOURCE_IP"}
        assert "lb_algorithm" in await refused(api, "POST", "/pools", 501, "UnsupportedFeature", {"pool": pool})
