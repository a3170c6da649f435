"""Notifications of real processes: RabbitMQ is stopped and a controller is killed, and a listener of oslo.messaging
misses no event.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.client import API_PATH
from evenkeel.demo.cluster import Cluster
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session
from tests.bus.amqp.notification_listener import Listener
from tests.services.rabbitmq import RabbitMQ
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.services, pytest.mark.timeout(600)]

CREATE, UPDATE, DELETE = (f"octavia.loadbalancer.{event}.end" for event in ("create", "update", "delete"))
Events = Counter[tuple[str, str]]


@pytest.fixture
async def cluster(tmp_path: Path, own_rabbitmq: RabbitMQ) -> AsyncIterator[Cluster]:
    """Two controllers and an agent; RabbitMQ carries nothing but their notifications."""
    made = Cluster(
        tmp_path,
        environment="bills",
        emulator_arguments=["--no-data-plane"],
        controller_options={"notifications": {"shapes": "octavia", "transport_url": own_rabbitmq.url}},
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await made.start_controller(2)
        await made.start_agent("host-1")
        yield made
    finally:
        made.close()


class Customer:
    """A tenant with load balancers, by name, and the events that they have to have."""

    def __init__(self, tenant: Tenant, subnet_id: str) -> None:
        self._tenant = tenant
        self._subnet_id = subnet_id
        self._ids: dict[str, str] = {}
        self.events: Events = Counter()

    async def create(self, name: str) -> None:
        body = {"loadbalancer": {"name": name, "vip_subnet_id": self._subnet_id}}
        answer = await self._tenant.surely("POST", f"{LBAAS}/loadbalancers", body)
        self._ids[name] = answer["loadbalancer"]["id"]
        self.events[name, CREATE] += 1

    async def rename(self, name: str, new: str) -> None:
        self._ids[new] = self._ids.pop(name)
        await self._tenant.surely("PUT", self._path(new), {"loadbalancer": {"name": new}})
        self.events[new, UPDATE] += 1

    async def delete(self, name: str) -> None:
        await self._tenant.surely("DELETE", f"{self._path(name)}?cascade=true")
        del self._ids[name]
        self.events[name, DELETE] += 1

    async def settled(self) -> None:
        """Wait until devices have everything: later changes are events of their own."""
        await eventually(self._is_settled, within_seconds=LIMIT_SECONDS, every_seconds=0.2)

    async def _is_settled(self) -> bool:
        found = (await self._tenant.surely("GET", f"{LBAAS}/loadbalancers"))["loadbalancers"]
        there = {each["id"] for each in found}
        return there == set(self._ids.values()) and {each["provisioning_status"] for each in found} == {"ACTIVE"}

    def _path(self, name: str) -> str:
        return f"{LBAAS}/loadbalancers/{self._ids[name]}"


def received(listener: Listener) -> Events:
    """Received events without repetitions."""
    return Counter((each["payload"]["name"], each["event_type"]) for each in listener.first_receptions())


async def test_no_event_is_missed_while_rabbitmq_is_stopped_and_the_sending_controller_is_killed(
    cluster: Cluster, own_rabbitmq: RabbitMQ
) -> None:
    subnet: dict[str, Any] = {"subnet": {"name": "vips", "cidr": "203.0.113.0/24"}}
    made = await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", subnet)
    async with session() as http, Listener(own_rabbitmq.url, "octavia") as listener:
        customer = Customer(Tenant(http, cluster.controllers, "customer"), made["subnet"]["id"])
        for name in ("a", "b", "c"):
            await customer.create(name)
        await customer.settled()
        await eventually(lambda: received(listener) == customer.events, within_seconds=LIMIT_SECONDS)

        await asyncio.to_thread(own_rabbitmq.stop_application)
        await customer.create("d")
        await customer.rename("a", "a2")
        await customer.delete("b")
        await customer.settled()
        cluster.kill("controller-1")  # it was first, so it has the turn to send
        await customer.rename("c", "c2")
        await customer.settled()
        await asyncio.to_thread(own_rabbitmq.start)
        await eventually(lambda: received(listener) == customer.events, within_seconds=LIMIT_SECONDS)
