"""TLS through the stand-in's data plane: what every device does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from icontrol_emulator import Emulator
from tests.certificates import by_sha256, certificate, referring
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.traffic import TrafficSite
from tests.devices.service_behaviour import VIP
from tests.devices.services import listener, member, monitor, pool, service
from tests.devices.tls_behaviour import (
    MEMBER,
    NAMED,
    PORT,
    RENEWED,
    Clients,
    Member,
    Site,
    TlsBehaviour,
    pool_of,
    problems,
    tls_listener,
)
from tests.listening import StreamServer
from tests.waiting import eventually


class BigIpSite:
    """One device, with one VIP."""

    def __init__(self, rig: BigIpRig) -> None:
        site = TrafficSite(rig)
        self.apply, self.observe, self._place = site.apply, site.observe, site.place

    def place(self, port: int) -> tuple[str, int]:
        return self._place(VIP, port)


class TestBigIpTls(TlsBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[Any]:
        async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
            rig = BigIpRig(emulator, "standalone")
            yield BigIpSite(rig)
            await rig.close()

    async def test_http_2_is_not_offered_unless_it_is_wanted(self, site: Site, clients: Clients, plain: Member) -> None:
        """Nor is anything else: a BIG-IP speaks ALPN only with an http2 profile."""
        await self.serve(site, tls_listener(alpn_protocols=("http/1.1",)), pools=(pool_of(plain),))
        answer = await clients.ask(tls=clients.context(alpn=["h2", "http/1.1"]))
        assert (answer.status, answer.protocol) == (200, None)

    async def test_a_hello_tells_members_that_speak_tls(self, site: Site, clients: Clients, plain: Member) -> None:
        secure = clients.member("secure", MEMBER)
        await secure.start()
        places = tuple(
            member(place=place, address="127.0.0.1", protocol_port=one.port)
            for place, one in enumerate((secure, plain), 1)
        )
        hello = monitor(type="TLS-HELLO", delay=1, timeout=10, max_retries=1, max_retries_down=1)
        wanted = service(
            listeners=(listener(protocol="HTTPS"),), pools=(pool(protocol="HTTPS", members=places, monitor=hello),)
        )
        assert not problems(await site.apply(wanted, {}))

        async def told() -> bool:
            found = {one.id: one.status.value for one in (await site.observe()).statuses}
            return (found["member-1-1"], found["member-1-2"]) == ("ONLINE", "ERROR")

        await eventually(told)
        await secure.stop()

    # a TLS-HELLO monitor verifies no certificate

    @pytest.mark.parametrize("type_", ["HTTPS"])
    async def test_monitors_verify_members_as_clients_requests_do(
        self, site: Site, clients: Clients, type_: Any
    ) -> None:
        await super().test_monitors_verify_members_as_clients_requests_do(site, clients, type_)

    async def test_a_kept_connection_outlives_renewals_and_no_new_one_fails(self, site: Site, clients: Clients) -> None:
        server = await StreamServer.start(answer_each)
        place = member(address="127.0.0.1", protocol_port=server.port)
        wanted = service(listeners=(tls_listener(),), pools=(pool(members=(place,), monitor=None),))
        both = {"www": NAMED["www"], "renewed": certificate(RENEWED)}
        outcome = await site.apply(referring(wanted, {"www": both["www"]}), by_sha256(both))
        assert not problems(outcome)
        reader, writer = await asyncio.open_connection(*site.place(PORT), ssl=clients.context())
        for revision, shown in enumerate(("renewed", "www") * 5, start=2):
            renewing = asyncio.create_task(
                site.apply(referring(replace(wanted, revision=revision), {"www": both[shown]}), by_sha256(both))
            )
            during = [(await clients.ask()).shown for _ in range(5)]
            assert set(during) <= set(both)
            outcome = await renewing
            assert not problems(outcome) and outcome.writes == 1
            assert (await clients.ask()).shown == shown
            writer.write(b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
            assert (await reader.readuntil(b"kept")).startswith(b"HTTP/1.1 200")
        writer.transport.abort()
        server.close()


async def answer_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A member that keeps its connections, unless it is asked not to."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        closing = False
        while not closing:
            closing = b"connection: close" in (await reader.readuntil(b"\r\n\r\n")).lower()
            ending = "Connection: close\r\n" if closing else ""
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n{ending}\r\nkept".encode())
            await writer.drain()
    writer.close()
