"""Answers to writes that wait until devices have applied them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from tests.api.subnet import SUBNET
from tests.compat.octavia.world import PERSONAS
from tests.compat.ours import InstantDevice, our_api

LONG_SECONDS = 60.0


class WatchedDevice(InstantDevice):
    """Applies what was accepted when somebody has seen that it is PENDING."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._read: Any = store.tenants.find_pending
        self.looks: list[frozenset[LoadBalancerId]] = []
        setattr(store.tenants, "find_pending", self._pending)  # noqa: B010  # for the type checker

    async def _pending(self, ids: Collection[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        found: frozenset[LoadBalancerId] = await self._read(ids)
        self.looks.append(found)
        await self.settle()
        return found


@pytest.mark.parametrize(("seconds", "looks"), [(LONG_SECONDS, 2), (0.0, 0)])
async def test_answer_to_a_write_waits_for_devices_where_it_is_to(tmp_path: Path, seconds: float, looks: int) -> None:
    devices: list[WatchedDevice] = []

    def device(store: Store) -> WatchedDevice:
        devices.append(WatchedDevice(store))
        return devices[0]

    async with our_api(tmp_path, (SUBNET,), device_of=device, wait_until_applied=seconds) as client:
        client.headers.update(PERSONAS["member"])
        body = {"loadbalancer": {"vip_subnet_id": SUBNET.id}}
        made = (await client.post("/v2/lbaas/loadbalancers", json=body)).json()["loadbalancer"]
        assert made["provisioning_status"] == "PENDING_CREATE"
        assert devices[0].looks == [frozenset({made["id"]}), frozenset()][:looks]
        path = f"/v2/lbaas/loadbalancers/{made['id']}"
        assert (await client.get(path)).json()["loadbalancer"]["provisioning_status"] == "ACTIVE"
        assert (await client.delete(path)).status_code == 204
        assert len(devices[0].looks) == 2 * looks
        assert (await client.get(path)).status_code == 404
