"""What clients and members get to see of the features, through real HAProxys."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from evenkeel.core.ports import Device
from evenkeel.core.service import ServiceDefinition
from tests.devices.haproxy.features import one_pool, sticky, tcp
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.services import batch, listener, member, monitor, pool, service, vip
from tests.waiting import eventually

LIMIT_SECONDS = 60.0


class Server:
    """Answers with its name and a cookie of its own; remembers how each connection began."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.port = 0
        self.heard: list[str] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            self.heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.name)}\r\nSet-Cookie: SESSION={self.name}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n{self.name}".encode())
            await writer.drain()
        writer.close()


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Server, ...]]:
    made = tuple(Server(f"member-1-{place}") for place in (1, 2, 3))
    for server in made:
        await server.start()
    yield made
    for server in made:
        await server.stop()


def members(servers: tuple[Server, ...], **changes: Any) -> Any:
    return tuple(
        member(place=place, address="127.0.0.1", protocol_port=server.port, **changes)
        for place, server in enumerate(servers, 1)
    )


async def ask(rig: HaproxyRig, *headers: str, port: int = 80, at: str = "10.1.0.2") -> tuple[str, str]:
    """Head and body of one answer on a connection of its own; nothing if it was refused."""
    return await request(rig, "/", *headers, port=port, at=at)


async def request(
    rig: HaproxyRig, path: str, *headers: str, host: str = "test", port: int = 80, at: str = "10.1.0.2"
) -> tuple[str, str]:
    """As :func:`ask`, for a path."""
    where = rig.box.moved(at, port)
    writer = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            reader, writer = await asyncio.open_connection(*where)
            start = (f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close")
            writer.write("\r\n".join((*start, *headers, "", "")).encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
            return head, body
    except OSError:
        return "", ""
    finally:
        if writer is not None:
            writer.transport.abort()


async def bodies(rig: HaproxyRig, count: int, *headers: str) -> set[str]:
    return {(await ask(rig, *headers))[1] for _ in range(count)}


async def applied(rig: HaproxyRig, definition: ServiceDefinition) -> Device:
    agent = rig.owner()
    outcome = await agent.apply(batch(definition))
    assert not [one.error for one in outcome.outcomes if one.error]
    return agent


@pytest.mark.parametrize(
    ("algorithm", "spread"), [("ROUND_ROBIN", True), ("SOURCE_IP", False), ("SOURCE_IP_PORT", True)]
)
@pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
async def test_algorithms_spread_one_client(
    rig: HaproxyRig, servers: tuple[Server, ...], algorithm: str, spread: bool, protocol: str
) -> None:
    definition = service(
        listeners=(listener(protocol=protocol),),
        pools=(pool(protocol=protocol, lb_algorithm=algorithm, members=members(servers), monitor=None),),
    )
    await applied(rig, definition)
    assert (len(await bodies(rig, 40)) > 1) is spread


async def test_cookies_keep_clients_with_their_member(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    await applied(rig, one_pool(members=members(servers), monitor=None, session_persistence=sticky("HTTP_COOKIE")))
    head, body = await ask(rig)
    cookie = re.search(r"set-cookie: (SRV=[^;\r]*)", head, re.IGNORECASE)
    assert cookie is not None and len(await bodies(rig, 9)) == 3
    assert await bodies(rig, 9, f"Cookie: {cookie[1]}") == {body}


async def test_the_members_own_cookie_keeps_clients_with_it(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    persistence = sticky("APP_COOKIE", "SESSION")
    await applied(rig, one_pool(members=members(servers), monitor=None, session_persistence=persistence))
    assert len(await bodies(rig, 9)) == 3
    assert await bodies(rig, 9, "Cookie: SESSION=member-1-2") == {"member-1-2"}


async def test_one_address_stays_with_its_member(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    await applied(rig, one_pool(members=members(servers), monitor=None, session_persistence=sticky("SOURCE_IP")))
    assert len(await bodies(rig, 9)) == 1


async def test_only_allowed_clients_get_in(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    def allowed(*cidrs: str) -> ServiceDefinition:
        pools = (pool(members=members(servers), monitor=None),)
        return service(listeners=(listener(allowed_cidrs=cidrs),), pools=pools)

    await applied(rig, allowed("10.0.0.0/8"))
    assert await bodies(rig, 3) == {""}
    await applied(rig, allowed("10.0.0.0/8", "127.0.0.0/8"))
    assert "" not in await bodies(rig, 3)


async def test_every_address_of_a_load_balancer_answers_and_is_nobody_elses(
    rig: HaproxyRig, servers: tuple[Server, ...]
) -> None:
    pools = (pool(members=members(servers), monitor=None),)
    more = (vip(77), vip(78))
    agent = await applied(rig, service(pools=pools, additional_vips=more))
    for at in ("10.1.0.2", *(each.address for each in more)):
        assert (await ask(rig, at=at))[1] in {server.name for server in servers}
    assert await ask(rig, at="10.1.0.99") == ("", "")

    outcome = await agent.apply(batch(service(2, vip=vip(78))))
    assert [bool(one.error) for one in outcome.outcomes] == [True]
    await applied(rig, service(pools=pools, additional_vips=more[:1]))
    assert await ask(rig, at=more[1].address) == ("", "")


async def test_members_are_told_about_the_client(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    headers = {"X-Forwarded-For": "true", "X-Forwarded-Port": "true", "X-Forwarded-Proto": "true"}
    pools = (pool(members=members(servers[:1]), monitor=None),)
    await applied(rig, service(listeners=(listener(insert_headers=headers),), pools=pools))
    await ask(rig, "X-Forwarded-Proto: forged")
    heard = servers[0].heard[-1].lower()
    assert "x-forwarded-for: 127." in heard and "x-forwarded-port: 80\r\n" in heard
    assert "x-forwarded-proto: http\r\n" in heard and "forged" not in heard


@pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
async def test_members_may_be_told_by_the_proxy_protocol(
    rig: HaproxyRig, servers: tuple[Server, ...], protocol: str
) -> None:
    pools = (pool(protocol="PROXY", members=members(servers[:1]), monitor=None),)
    await applied(rig, service(listeners=(listener(protocol=protocol),), pools=pools))
    await ask(rig)
    assert servers[0].heard[-1].startswith("PROXY TCP4 127.")


async def test_admin_down_at_every_level(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    def with_(**changes: Any) -> ServiceDefinition:
        fields = {"listeners": (listener(),), "pools": (pool(members=members(servers), monitor=None),)}
        return service(**{**fields, **changes})

    await applied(rig, with_())
    assert len(await bodies(rig, 9)) == 3
    one_down = (*members(servers)[:2], msgspec.structs.replace(members(servers)[2], admin_state_up=False))
    await applied(rig, with_(pools=(pool(members=one_down, monitor=None),)))
    assert await bodies(rig, 9) == {"member-1-1", "member-1-2"}
    await applied(rig, with_(pools=(pool(members=members(servers), monitor=None, admin_state_up=False),)))
    assert "503" in (await ask(rig))[0]
    await applied(rig, with_(listeners=(listener(admin_state_up=False),)))
    assert await ask(rig) == ("", "")
    await applied(rig, with_(admin_state_up=False))
    assert await ask(rig) == ("", "")
    await applied(rig, with_())
    assert len(await bodies(rig, 9)) == 3


async def test_listeners_of_two_modes_share_a_pool(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    listeners = (listener(1), tcp(2, default_pool_id="pool-1", protocol_port=81))
    await applied(rig, service(listeners=listeners, pools=(pool(members=members(servers), monitor=None),)))
    assert (await ask(rig))[1] and (await ask(rig, port=81))[1]


async def test_a_member_that_dies_is_told_and_seen(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    checked = pool(members=members(servers), monitor=monitor(delay=1, timeout=1, max_retries=1, max_retries_down=1))
    agent = await applied(rig, service(pools=(checked,)))

    async def statuses() -> dict[str, str]:
        return {one.id: one.status.value for one in (await agent.observe()).statuses}

    async def well() -> bool:
        return (await statuses())["lb-1"] == "ONLINE"

    await eventually(well)
    await servers[0].stop()
    async with asyncio.timeout(LIMIT_SECONDS):
        await agent.changed()

    async def told() -> bool:
        """What changed first may have been another one, that was checked while this process was slow."""
        found = await statuses()
        return found["member-1-1"] == "ERROR" and found["pool-1"] == found["lb-1"] == "DEGRADED"

    await eventually(told)


async def test_connections_are_counted(rig: HaproxyRig, servers: tuple[Server, ...]) -> None:
    agent = await applied(rig, one_pool(members=members(servers), monitor=None))
    await bodies(rig, 5)
    (found,) = (await agent.observe()).statistics
    assert found.listener_id == "listener-1" and found.statistics.total_connections == 5
    assert found.statistics.bytes_in and found.statistics.bytes_out
    used = await agent.capacity(["tenant_count", "node_count"])
    assert used == {"tenant_count": 1.0, "node_count": 1.0}
