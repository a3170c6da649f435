"""Servers after a reload, and after changes at runtime, are as in a new HAProxy; only their health is carried over.

Real HAProxys and real traffic. ``EVENKEEL_TEST_HAPROXY`` names another release to run them with.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE, ServerState, server_states, table_rows
from evenkeel.haproxyd.health.ping import PingChecks
from tests.haproxyd.world import Member, World, errors, free_vip, get, load_balancer, server, world
from tests.waiting import eventually

OFTEN = ("check", "inter", "200", "rise", "1", "fall", "1")
SELDOM = ("check", "inter", "60s", "rise", "1", "fall", "1")
TLS = ("ssl", "verify", "none")
PING = wire.Ping(delay=1, timeout=1, rise=1, fall=1)
CLIENT_HELLO = b"\x16\x03"


@pytest.fixture
async def site() -> AsyncIterator[World]:
    async with world() as running:
        yield running


async def seen(site: World, name: str, backend: str = "lb_b") -> ServerState:
    return server_states(await site.partitions.get("p").cli.command(SHOW_SERVERS_STATE))[backend, name]


async def becomes_down(site: World, name: str) -> None:
    async def so() -> bool:
        return not (await seen(site, name)).up

    await eventually(so)


async def reloaded(site: World, *load_balancers: wire.LoadBalancerConfig) -> None:
    receipt = await site.patch("p", *load_balancers)
    assert (receipt.how, errors(receipt)) == ("reload", {})


async def answers(vip: str, count: int = 8) -> set[str]:
    return {await get(vip) for _ in range(count)}


async def test_a_member_that_is_down_stays_down_over_reloads(site: World) -> None:
    a, b, vip = await site.member("a"), await site.member("b"), free_vip()
    await site.put("p", load_balancer("lb", vip, server(a, arguments=OFTEN), server(b, arguments=OFTEN)))
    await a.stop()
    await becomes_down(site, "a")
    for revision, lines in ((2, ()), (3, ("timeout client 9s",))):  # other checks; another listener
        servers = server(a, arguments=SELDOM), server(b, arguments=SELDOM)
        await reloaded(site, load_balancer("lb", vip, *servers, revision=revision, lines=lines))
        assert await answers(vip) == {"b"}
    await a.start()
    await reloaded(site, load_balancer("lb", vip, server(a, arguments=OFTEN), server(b, arguments=OFTEN), revision=4))

    async def back() -> bool:
        return await answers(vip) == {"a", "b"}

    await eventually(back)


@pytest.mark.parametrize("lines", [(), ("timeout client 9s",)])
async def test_a_member_that_a_removed_monitor_had_found_down_serves(site: World, lines: tuple[str, ...]) -> None:
    a, wrong, vip = await site.member("a"), await site.member("wrong"), free_vip()
    await wrong.stop()
    monitored = server(a, arguments=(*OFTEN, "port", str(wrong.port)))
    await site.put("p", load_balancer("lb", vip, monitored))
    await becomes_down(site, "a")
    assert await get(vip) == "503"  # settled: traffic follows the status that was awaited
    await reloaded(site, load_balancer("lb", vip, a, revision=2, lines=lines))
    assert await answers(vip) == {"a"}


async def test_a_member_without_monitor_that_is_put_up_together_with_a_reload_serves(site: World) -> None:
    a, vip = await site.member("a"), free_vip()
    await site.put("p", load_balancer("lb", vip, server(a, admin_up=False)))
    assert await get(vip) == "503"
    await reloaded(site, load_balancer("lb", vip, a, revision=2, lines=("timeout client 9s",)))
    assert await answers(vip) == {"a"}
    assert (await seen(site, "a")).admin_up


async def test_a_member_that_was_down_at_the_start_and_is_put_up_is_reported_in_service(site: World) -> None:
    a, vip = await site.member("a"), free_vip()
    await site.put("p", load_balancer("lb", vip, server(a, admin_up=False)))
    assert not (await seen(site, "a")).admin_up
    receipt = await site.patch("p", load_balancer("lb", vip, a, revision=2))
    found = await seen(site, "a")
    assert (receipt.how, found.admin_up, found.up, await get(vip)) == ("runtime", True, True, "a")


async def test_a_member_whose_port_changed_is_used_only_after_its_checks(site: World) -> None:
    a, b, vip = await site.member("a"), await site.member("b"), free_vip()
    over_http = "option httpchk", "timeout check 60s", "timeout server 1s"

    def balancer(revision: int, **changes: int) -> wire.LoadBalancerConfig:
        servers = server(a, arguments=SELDOM, **changes), server(b, arguments=SELDOM)
        return load_balancer("lb", vip, *servers, revision=revision, backend_lines=over_http)

    await site.put("p", balancer(1))
    assert await answers(vip) == {"a", "b"}
    with socket.socket() as silent:  # its check ends with neither result
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        await reloaded(site, balancer(2, port=silent.getsockname()[1]))
        assert not (await seen(site, "a")).up
        assert await answers(vip) == {"b"}
    await reloaded(site, balancer(3))

    async def back() -> bool:
        return await answers(vip) == {"a", "b"}

    await eventually(back)


class Listening(Member):
    """Keeps the first bytes of each connection, and answers none."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.begun: list[bytes] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun = b""
        with contextlib.suppress(OSError):
            begun = await reader.read(2)
        self.begun.append(begun)
        writer.close()


@pytest.fixture
async def listening() -> AsyncIterator[tuple[Listening, Listening]]:
    made = Listening("first"), Listening("second")
    for one in made:
        await one.start()
    yield made
    for one in made:
        await one.stop()


async def test_tls_to_members_follows_the_configuration(site: World, listening: tuple[Listening, Listening]) -> None:
    member, vip, once = listening[0], free_vip(), ("retries 0",)
    await site.put("p", load_balancer("lb", vip, member, backend_lines=once))
    steps = ((TLS, (), True), (TLS, ("timeout client 9s",), True), ((), (), False), (TLS, (), True))
    for revision, (arguments, lines, encrypted) in enumerate(steps, 2):
        servers = (server(member, arguments=arguments),)
        await reloaded(site, load_balancer("lb", vip, *servers, revision=revision, lines=lines, backend_lines=once))
        member.begun.clear()
        await get(vip)
        assert {begun == CLIENT_HELLO for begun in member.begun} == {encrypted}, member.begun
        assert (await seen(site, member.name)).tls is encrypted


async def test_the_target_of_checks_follows_the_configuration(
    site: World, listening: tuple[Listening, Listening]
) -> None:
    a, vip = await site.member("a"), free_vip()
    first, second = listening
    steps = (
        (("port", str(first.port)), ("-", first.port), first),
        (("port", str(second.port)), ("-", second.port), second),
        (("addr", "127.0.0.1", "port", str(first.port)), ("127.0.0.1", first.port), first),
        (("addr", "127.0.0.1"), ("127.0.0.1", 0), None),
        ((), ("-", 0), None),
    )
    for revision, (target, shown, asked) in enumerate(steps, 1):
        servers = (server(a, arguments=(*OFTEN, *target)),)
        over_http = ("option httpchk",)  # a connection that is only checked is never accepted: it is reset before
        await site.put("p", load_balancer("lb", vip, *servers, revision=revision, backend_lines=over_http))
        found = await seen(site, "a")
        assert (found.check_address, found.check_port) == shown
        if asked is not None:
            asked.begun.clear()
            await eventually(lambda asked=asked: bool(asked.begun))


async def test_manual_changes_of_checks_tls_and_health_are_undone(site: World) -> None:
    a, b, vip = await site.member("a"), await site.member("b"), free_vip()
    checked = server(a, arguments=(*SELDOM, *TLS, "port", str(a.port)))
    balancer = load_balancer("lb", vip, checked, b)
    await site.put("p", balancer)
    before = await seen(site, "a"), await seen(site, "b")
    for how, commands in (
        ("runtime", ("set server lb_b/a ssl off", "disable health lb_b/a", "set server lb_b/b health down")),
        ("runtime", ("set server lb_b/a check-port 1",)),
        ("runtime", ("set server lb_b/a check-addr 127.0.0.9",)),
    ):
        said = [await site.partitions.get("p").cli.command(command) for command in commands]
        if any(answer.startswith("invalid addr") for answer in said):
            continue  # HAProxy 3.4.7 takes no address at all
        assert (await seen(site, "a"), await seen(site, "b")) != before
        receipt = await site.put("p", balancer)
        assert (receipt.how, bool(receipt.repaired["lb"])) == (how, True)
        assert (await seen(site, "a"), await seen(site, "b")) == before


@pytest.mark.parametrize("lines", [(), ("timeout client 9s",)])
async def test_a_member_that_a_removed_ping_monitor_had_set_down_serves(site: World, lines: tuple[str, ...]) -> None:
    a, vip = await site.member("a"), free_vip()
    plain = load_balancer("lb", vip, a, revision=2, lines=lines)
    pinged = wire.Backend(name="lb_b", lines=plain.backends[0].lines, servers=(server(a),), ping=PING)
    await site.put("p", wire.LoadBalancerConfig(id="lb", revision=1, frontends=_frontends(vip, a), backends=(pinged,)))

    async def send(address: str, timeout_seconds: float) -> bool:
        return False

    checks = PingChecks(site.partitions, send)
    checks.start()
    try:
        await becomes_down(site, "a")
        receipt = await site.patch("p", plain)
        assert receipt.how == ("reload" if lines else "runtime")

        async def serves() -> bool:
            return not checks.is_pinged("p", "lb_b", "a") and await answers(vip) == {"a"}

        await eventually(serves)
        # settled: the put is the action of which this is the outcome
        assert (await site.put("p", plain)).repaired == {}, "nobody changed it by hand"
    finally:
        await checks.close()


def _frontends(vip: str, member: Member) -> tuple[wire.Frontend, ...]:
    return load_balancer("lb", vip, member).frontends


async def test_changes_at_runtime_end_as_a_new_haproxy(site: World) -> None:
    a, b, c, d, vip = *[await site.member(name) for name in "abcd"], free_vip()
    plain = server(a), server(b, admin_up=False), server(c, weight=9, arguments=SELDOM)
    await site.put("p", load_balancer("lb", vip, *plain))
    changed = (
        server(a, weight=7, admin_up=False),
        server(b, weight=0),
        server(d, weight=3, arguments=(*SELDOM, "addr", "127.0.0.1", "port", str(a.port))),
    )
    receipt = await site.patch("p", load_balancer("lb", vip, *changed, revision=2))
    assert receipt.how == "runtime"
    await site.put("q", load_balancer("lb", free_vip(), *changed))
    assert await _table(site, "p") == await _table(site, "q")


CONFIGURED = 0x04
"""Bit of an admin state: of a server that is ``disabled`` in the configuration, for information only."""


async def _table(site: World, partition: str) -> dict[str, tuple[str, ...]]:
    """All that is decided by a configuration, by server; one in maintenance that is not configured waits to go."""
    columns = ("srv_id", "srv_addr", "srv_op_state", "srv_uweight", "srv_port", "srv_use_ssl", "srv_check_port")
    shown = table_rows(await site.partitions.get(partition).cli.command(SHOW_SERVERS_STATE))
    return {
        row["srv_name"]: (
            *(row[column] for column in (*columns, "srv_check_addr")),
            str(int(row["srv_admin_state"]) & ~CONFIGURED),
            str(int(row["srv_check_state"]) & 0x06),
        )
        for row in shown
        if row["srv_name"] != "c"
    }
