"""What clients and members get to see of rate limit policies, whatever the device: the tests of each driver run this
unchanged.

A driver's tests subclass :class:`RateLimitBehaviour` and give a fixture ``site``: a device with a data plane. What its
table of capabilities lacks is skipped.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceRateLimit
from tests.devices.enhanced_behaviour import Keeping, Texts, header
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Clients, Server, Site, members
from tests.devices.services import listener, pool, rate_limit, rate_rule, service

OTHER_SOURCE = "127.0.0.9"


class LimitedClients(Clients):
    """Clients of one load balancer whose listener has rate limits."""

    async def serve(self, server: Server, *limits: ServiceRateLimit, **changes: Any) -> None:
        """A listener with these rate limits before the server."""
        await self.apply(
            service(
                listeners=(listener(rate_limits=limits, **changes),),
                pools=(pool(members=members((server,)), monitor=None),),
            )
        )

    async def statuses_of(self, count: int, path: str = "/", source: str | None = None) -> Counter[str]:
        """Status codes of requests one after another, on connections of their own; empty: no response."""
        return Counter([await self.status_of(path, source) for _ in range(count)])

    async def status_of(self, path: str = "/", source: str | None = None) -> str:
        head, _ = await ask(self.site.place(VIP, 80), path, source=source)
        return head.split(" ")[1] if head else ""

    async def statuses_on_one_connection(self, count: int) -> Counter[str]:
        """Status codes of requests on one connection, which nobody closes."""
        reader, writer = await asyncio.open_connection(*self.site.place(VIP, 80))
        found: Counter[str] = Counter()
        for _ in range(count):
            writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            await reader.readexactly(int(*header(head, "Content-Length")))
            found[head.split(" ")[1]] += 1
        writer.transport.abort()
        return found


class RateLimitBehaviour:
    """Unchanged for every driver."""

    @pytest.fixture
    def clients(self, site: Site) -> LimitedClients:
        return LimitedClients(site)

    @pytest.fixture
    async def server(self) -> AsyncIterator[Server]:
        made = Server("member-1-1")
        await made.start()
        yield made
        await made.stop()

    async def test_50_of_500_requests_of_one_source_pass_and_all_of_another(self, clients: LimitedClients) -> None:
        kept = Keeping("member-1-1")
        await kept.start()
        try:
            await clients.serve(kept, rate_limit(rate_rule(threshold=50)))
            found = await asyncio.gather(*(clients.statuses_on_one_connection(50) for _ in range(10)))
            total = sum(found, Counter[str]())
            assert total.keys() == {"200", "429"} and total.total() == 500
            assert 50 <= total["200"] <= 52
            head, _ = await clients.ask()
            assert header(head, "Retry-After") == ["600"]
            assert await clients.statuses_of(50, source=OTHER_SOURCE) == {"200": 50}
        finally:
            await kept.stop()

    async def test_all_rules_of_a_policy_and_any_policy_of_a_listener_must_be_exceeded(
        self, clients: LimitedClients, server: Server
    ) -> None:
        both = rate_limit(rate_rule(1, threshold=2), rate_rule(2, threshold=5, interval=300))
        await clients.serve(server, both)
        assert await clients.statuses_of(8) == {"200": 5, "429": 3}
        # other intervals, so that the counts begin anew
        others = [rate_limit(rate_rule(number, threshold=number, interval=500), number=number) for number in (4, 3)]
        await clients.serve(server, *others)
        assert await clients.statuses_of(8) == {"200": 3, "429": 5}

    async def test_requests_are_counted_by_path(self, clients: LimitedClients, server: Server) -> None:
        by_path = rate_rule(metric="REQUESTS_PER_URL", threshold=2, urls=("/login", "/shop/it's"))
        await clients.serve(server, rate_limit(by_path))
        found = [await clients.status_of(path) for path in ("/login", "/login?user=a", "/log%69n", "/login")]
        assert found == ["200", "200", "429", "429"]
        assert await clients.statuses_of(3, "/shop/it's") == {"200": 2, "429": 1}
        assert await clients.statuses_of(5, "/login/more") == {"200": 5}
        assert await clients.statuses_of(1, "/login", source=OTHER_SOURCE) == {"200": 1}

    async def test_bytes_are_counted_in_both_directions(self, clients: LimitedClients) -> None:
        texts = Texts("member-1-1")
        await texts.start()
        try:
            # two responses of 10,500 bytes are less, and three are more
            await clients.serve(texts, rate_limit(rate_rule(metric="KBYTES", threshold=25)))
            found = await clients.statuses_of(8)
            # a request may come before the bytes of the one before it are counted
            assert found.keys() == {"200", "429"} and 3 <= found["200"] <= 4
            assert await clients.statuses_of(1, source=OTHER_SOURCE) == {"200": 1}
        finally:
            await texts.stop()

    async def test_connections_of_rejected_clients_are_closed_without_a_response(
        self, clients: LimitedClients, server: Server
    ) -> None:
        await clients.serve(server, rate_limit(action="REJECT"))
        assert await clients.statuses_of(5) == {"200": 3, "": 2}
        assert len(server.heard) == 3

    async def test_silently_dropped_clients_get_no_response(self, clients: LimitedClients, server: Server) -> None:
        await clients.serve(server, rate_limit(action="SILENT_DROP"))
        assert await clients.statuses_of(3) == {"200": 3}
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            answer = asyncio.ensure_future(reader.read(1))
            # a later request of another client is over: so is whatever happens to this one
            assert await clients.statuses_of(3, source=OTHER_SOURCE) == {"200": 3}
            answer.cancel()
            # HAProxy without CAP_NET_ADMIN sends a reset that the first router drops, and there is none on loopback
            await asyncio.wait([answer])
            assert answer.cancelled() or isinstance(answer.exception(), OSError) or answer.result() == b""
        finally:
            writer.transport.abort()
        assert len(server.heard) == 6

    async def test_listener_without_its_rate_limits_serves_everything(
        self, clients: LimitedClients, server: Server
    ) -> None:
        await clients.serve(server, rate_limit())
        assert await clients.statuses_of(5) == {"200": 3, "429": 2}
        await clients.serve(server)
        assert await clients.statuses_of(5) == {"200": 5}
