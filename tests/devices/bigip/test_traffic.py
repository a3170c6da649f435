"""Listeners, pools, members and monitors through the emulator's data plane: what every device does, and BIG-IPs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.devices.bigip.traffic import TrafficSite, traffic_site
from tests.devices.service_behaviour import VIP, Clients, Server, ServiceBehaviour, members
from tests.devices.services import listener, pool, service


class TestBigIpServices(ServiceBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[TrafficSite]:
        async with traffic_site() as made:
            yield made

    async def test_a_client_beyond_the_limit_is_refused(self, clients: Clients, servers: tuple[Server, ...]) -> None:
        def limited(limit: int) -> Any:
            pools = (pool(protocol="TCP", members=members(servers), monitor=None),)
            return service(listeners=(listener(protocol="TCP", connection_limit=limit),), pools=pools)

        await clients.apply(limited(1))
        _, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        await clients.until(listener_1="DEGRADED")
        # settled: the status is of the number of connections that the limit is of
        assert await clients.ask() == ("", "")
        writer.transport.abort()
        await clients.until(listener_1="ONLINE")
        await clients.apply(limited(0))
        assert await clients.ask() == ("", "")
        assert (await clients.statuses())["listener-1"] == "OFFLINE"
        await clients.apply(limited(-1))
        assert (await clients.ask())[1]
