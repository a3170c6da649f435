"""ICMP checks: the rule, the telling, and real echoes."""

import asyncio
import contextlib
import errno
import os
import resource
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import icmplib
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE
from evenkeel.haproxyd.health import ping as module
from evenkeel.haproxyd.health.health_state import HealthState
from evenkeel.haproxyd.health.icmp import IcmpPing, PingImpossible, PingNotPermitted, SendPing
from evenkeel.haproxyd.health.ping import PingChecks
from tests.waiting import eventually

PING = wire.Ping(delay=1, timeout=1, rise=2, fall=3)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 5), st.integers(1, 5))
def test_a_verdict_turns_after_that_many_results_in_a_row(results: list[bool], rise: int, fall: int) -> None:
    health = HealthState()
    for number, result in enumerate(results, 1):
        before = health
        health = health.next_state(result, rise=rise, fall=fall)
        if before.up is None:
            assert health.up == result
            continue
        needed = rise if result else fall
        row = results[max(0, number - needed) : number]
        turned = len(row) == needed and set(row) == {result} and before.up != result
        assert health.up == (result if turned else before.up)


class FakeCli:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.down = False
        self.answer = "\n"
        self.states = "\n"

    async def command(self, text: str) -> str:
        if self.down:
            raise HaproxyDown("no worker")
        if text == SHOW_SERVERS_STATE:
            return self.states
        self.said.append(text)
        return self.answer

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        return tuple([await self.command_to_worker(pid, text) for text in texts])

    async def command_to_worker(self, pid: int, text: str) -> str:
        return await self.command(text)


class FakeKeeper:
    """A partition with one backend that is pinged."""

    def __init__(self, name: str = "p") -> None:
        self.name = name
        self.problem = ""
        self.cli = FakeCli()
        self.worker_pid: int | None = 1
        self.held: Mapping[str, wire.LoadBalancerConfig] = {}

    def hold(self, *, count: int = 1, ping: wire.Ping | None = PING, **server: object) -> None:
        servers = tuple(
            wire.BackendServer(**{"name": f"s{number or ''}", "address": "192.0.2.1", "port": 80 + number, **server})
            for number in range(count)
        )
        backend = wire.Backend(name="b", servers=servers, ping=ping)
        plain = wire.Backend(name="plain", servers=servers)
        front = wire.Frontend(name="f", binds=(), lines=("use_backend b", "default_backend plain"))
        one = wire.LoadBalancerConfig(id="lb", revision=1, frontends=(front,), backends=(backend, plain))
        self.held = {one.id: one}


class ObservedPartitions:
    def __init__(self, *keepers: FakeKeeper) -> None:
        self._keepers = {keeper.name: keeper for keeper in keepers}

    def names(self) -> tuple[str, ...]:
        return tuple(self._keepers)

    def get(self, name: str) -> FakeKeeper:
        return self._keepers[name]


@asynccontextmanager
async def checking(send: SendPing, *keepers: FakeKeeper) -> AsyncIterator[PingChecks]:
    checks = PingChecks(ObservedPartitions(*keepers), send)
    checks.start()
    try:
        yield checks
    finally:
        await checks.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "POLL_WITHOUT_CHECKS_SECONDS", 0.01)


async def test_haproxy_gets_the_verdict_and_gets_it_again_after_a_reload(quick: None) -> None:
    keeper, answers = FakeKeeper(), {"192.0.2.1": True}

    async def send(address: str, timeout_seconds: float) -> bool:
        return answers[address]

    checks = PingChecks(ObservedPartitions(keeper), send)
    checks.start()
    keeper.hold()
    await eventually(lambda: "set server b/s health up" in keeper.cli.said and checks.is_pinged("p", "b", "s"))
    assert not checks.is_pinged("p", "plain", "s")
    answers["192.0.2.1"] = False
    await eventually(lambda: keeper.cli.said[-1] == "set server b/s health down")
    reported = len(keeper.cli.said)
    keeper.worker_pid = 2
    await eventually(lambda: keeper.cli.said[reported:] == ["set server b/s health down"])
    await checks.close()


async def test_a_haproxy_that_is_down_is_reported_when_it_is_back(quick: None) -> None:
    keeper = FakeKeeper()
    keeper.hold()
    keeper.cli.down = True

    async def send(address: str, timeout_seconds: float) -> bool:
        return False

    checks = PingChecks(ObservedPartitions(keeper), send)
    checks.start()
    await eventually(lambda: checks.is_pinged("p", "b", "s"))
    keeper.cli.answer = "No such server.\n"
    keeper.cli.down = False
    await eventually(lambda: len(keeper.cli.said) > 2)  # until it is there
    keeper.cli.answer = "\n"
    reported = len(keeper.cli.said)
    await eventually(lambda: len(keeper.cli.said) > reported)
    await eventually(lambda: keeper.cli.said[-1] == "set server b/s health down")
    await checks.close()


async def test_a_server_that_is_gone_or_in_maintenance_is_pinged_no_more(quick: None) -> None:
    keeper = FakeKeeper()
    keeper.hold()

    async def send(address: str, timeout_seconds: float) -> bool:
        return True

    checks = PingChecks(ObservedPartitions(keeper), send)
    checks.start()
    await eventually(lambda: checks.is_pinged("p", "b", "s"))
    keeper.hold(admin_up=False)
    await eventually(lambda: not checks.is_pinged("p", "b", "s"))
    reported = len(keeper.cli.said)
    keeper.hold()
    await eventually(lambda: len(keeper.cli.said) > reported)  # out of maintenance HAProxy takes it for up
    await checks.close()


async def test_check_that_does_not_end_holds_up_no_other(quick: None) -> None:
    stubborn, other = FakeKeeper("stubborn"), FakeKeeper("other")
    stubborn.hold()
    ended, begun = asyncio.Event(), asyncio.Event()

    async def send(address: str, timeout_seconds: float) -> bool:
        if not begun.is_set():
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await ended.wait()
            await ended.wait()
        return True

    async with checking(send, stubborn, other) as checks:
        await begun.wait()
        stubborn.hold(ping=None)
        other.hold()
        await eventually(lambda: checks.is_pinged("other", "b", "s"))
        ended.set()


async def test_check_that_failed_is_begun_again(quick: None) -> None:
    keeper = FakeKeeper()
    keeper.hold()
    failures = iter([OSError("unexpected"), RuntimeError("unexpected")])

    async def send(address: str, timeout_seconds: float) -> bool:
        for failure in failures:
            raise failure
        return True

    async with checking(send, keeper) as checks:
        await eventually(lambda: checks.is_pinged("p", "b", "s"))


async def test_partitions_that_can_not_be_read_end_no_checks(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = FakeKeeper()
    partitions = ObservedPartitions(keeper)
    failures = iter([RuntimeError("unexpected")])

    def names() -> tuple[str, ...]:
        for failure in failures:
            raise failure
        return (keeper.name,)

    async def send(address: str, timeout_seconds: float) -> bool:
        return True

    monkeypatch.setattr(partitions, "names", names)
    checks = PingChecks(partitions, send)
    checks.start()
    keeper.hold()
    await eventually(lambda: checks.is_pinged("p", "b", "s"))
    await checks.close()


STATES = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_check_state srv_port srv_use_ssl srv_check_port srv_check_addr
3 b 1 s 192.0.2.1 {op} {admin} 1 0 80 0 0 -
"""  # noqa: E501


def held(op: int, admin: int = 0) -> FakeKeeper:
    """What a daemon finds at its start, its HAProxy having this state of the server."""
    keeper = FakeKeeper()
    keeper.hold()
    keeper.cli.states = STATES.format(op=op, admin=admin)
    return keeper


@pytest.mark.parametrize(("op", "answers"), [(0, False), (2, True)])
async def test_a_new_daemon_tells_nothing_that_haproxy_has_already(quick: None, op: int, answers: bool) -> None:
    keeper, tried = held(op), []

    async def send(address: str, timeout_seconds: float) -> bool:
        tried.append(address)
        return answers

    async with checking(send, keeper) as checks:
        await eventually(lambda: len(tried) > 1 and checks.is_pinged("p", "b", "s"))
        assert keeper.cli.said == []  # settled: nothing may ever be sent
        keeper.worker_pid = 2
        await eventually(lambda: keeper.cli.said == [f"set server b/s health {'up' if answers else 'down'}"])


async def test_a_new_daemon_goes_on_from_the_earlier_verdict(quick: None) -> None:
    keeper, tried = held(0), []

    async def send(address: str, timeout_seconds: float) -> bool:
        tried.append(keeper.cli.said.copy())
        return True

    async with checking(send, keeper):
        await eventually(lambda: keeper.cli.said == ["set server b/s health up"])
        assert tried[: PING.rise] == [[]] * PING.rise  # settled: these pings came before what was said


@pytest.mark.parametrize(("op", "admin"), [(0, 1), (2, 1)])
async def test_server_back_from_maintenance_is_checked_again(quick: None, op: int, admin: int) -> None:
    keeper = held(op, admin)

    async def send(address: str, timeout_seconds: float) -> bool:
        return False

    async with checking(send, keeper):
        await eventually(lambda: keeper.cli.said == ["set server b/s health down"])


async def test_this_hosts_trouble_is_no_verdict_and_logged_once(quick: None) -> None:
    keeper, tried = FakeKeeper(), []
    keeper.hold(count=3)

    async def send(address: str, timeout_seconds: float) -> bool:
        tried.append(address)
        raise PingImpossible("Too many open files")

    with structlog.testing.capture_logs() as logs:
        async with checking(send, keeper) as checks:
            await eventually(lambda: len(tried) > 3)  # settled: neither may ever happen
            assert not checks.is_pinged("p", "b", "s")
            assert keeper.cli.said == []
    assert [line["reason"] for line in logs if line["log_level"] == "error"] == ["Too many open files"]


@pytest.mark.parametrize("begun", ["by this daemon", "by an earlier one"])
async def test_a_server_that_was_set_down_is_set_up_when_its_monitor_is_removed(quick: None, begun: str) -> None:
    keeper = held(0) if begun == "by an earlier one" else FakeKeeper()
    keeper.hold()

    async def send(address: str, timeout_seconds: float) -> bool:
        return False

    async with checking(send, keeper) as checks:
        await eventually(lambda: checks.is_pinged("p", "b", "s"))
        keeper.cli.down = True
        keeper.hold(ping=None)
        assert checks.is_pinged("p", "b", "s"), "until it is set up"
        keeper.cli.down = False
        up = "set server b/s health up"
        await eventually(lambda: not checks.is_pinged("p", "b", "s") and keeper.cli.said[-1] == up)


@pytest.mark.parametrize("changes", [{"arguments": ("check",)}, {"admin_up": False}, {"name": "other"}])
async def test_a_server_that_another_judges_is_left_alone_when_its_ping_monitor_is_removed(
    quick: None, changes: dict
) -> None:
    keeper = FakeKeeper()
    keeper.hold()

    async def send(address: str, timeout_seconds: float) -> bool:
        return False

    async with checking(send, keeper) as checks:
        await eventually(lambda: keeper.cli.said == ["set server b/s health down"])
        keeper.hold(ping=None, **changes)
        await eventually(lambda: not checks.is_pinged("p", "b", "s"))
        assert keeper.cli.said == ["set server b/s health down"]  # settled: nothing more may ever be sent


async def test_no_server_stays_down_where_the_host_allows_no_ping(quick: None) -> None:
    keeper = held(0)

    async def send(address: str, timeout_seconds: float) -> bool:
        raise PingNotPermitted("no socket permitted")

    async with checking(send, keeper) as checks:
        await eventually(lambda: keeper.cli.said == ["set server b/s health up"])
        await eventually(lambda: not checks.is_pinged("p", "b", "s"))


async def test_a_tenants_silent_servers_hold_up_no_other_tenant(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONCURRENT_PER_PARTITION_MAX", 3)
    silent, other, under_way = FakeKeeper("silent"), FakeKeeper("other"), 0
    silent.hold(count=20, address="192.0.2.9")
    other.hold()

    async def send(address: str, timeout_seconds: float) -> bool:
        nonlocal under_way
        if address == "192.0.2.9":
            under_way += 1
            await asyncio.Event().wait()
        return True

    async with checking(send, silent, other) as checks:
        await eventually(lambda: under_way == 3 and checks.is_pinged("other", "b", "s"))
        reported = other.cli.said.copy()
        assert reported == ["set server b/s health up"]
        assert under_way == 3


async def test_no_answer_is_waited_for_longer_than_the_cap(quick: None) -> None:
    keeper, waits = FakeKeeper(), []
    keeper.hold(ping=wire.Ping(delay=1, timeout=3600, rise=1, fall=1))

    async def send(address: str, timeout_seconds: float) -> bool:
        waits.append(timeout_seconds)
        return True

    async with checking(send, keeper):
        await eventually(lambda: waits)
    assert waits[0] == module.ANSWER_SECONDS_MAX


async def test_echoes_go_to_the_ping_address_if_there_is_one(quick: None) -> None:
    keeper, asked = FakeKeeper(), []
    keeper.hold(ping_address="192.0.2.77")

    async def send(address: str, timeout_seconds: float) -> bool:
        asked.append(address)
        return True

    async with checking(send, keeper):
        await eventually(lambda: asked)
    assert asked[0] == "192.0.2.77"


def test_pings_leave_files_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in (
        (resource.RLIM_INFINITY, module.CONCURRENT_MAX),
        (1024, 256),
        (10**6, module.CONCURRENT_MAX),
        (2, 1),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert module._max_concurrent_checks() == most


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOBUFS])
@pytest.mark.parametrize("failing", ["_create_socket", "_set_ttl"])
async def test_an_error_of_this_host_is_distinguished_from_silence(
    monkeypatch: pytest.MonkeyPatch, number: int, failing: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    if failing == "_set_ttl":
        monkeypatch.setattr(icmplib.ICMPv4Socket, "_create_socket", lambda *_: socket.socket(socket.AF_INET))
    monkeypatch.setattr(icmplib.ICMPv4Socket, failing, fail)
    with pytest.raises(PingImpossible, match=os.strerror(number)):
        await IcmpPing()("127.0.0.1", 1.0)


async def test_no_permission_is_no_silence_either_and_no_route_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(icmplib.ICMPv4Socket, "_create_socket", fail)
    number = errno.EPERM
    with pytest.raises(PingImpossible, match="CAP_NET_RAW"):
        await IcmpPing()("127.0.0.1", 1.0)
    number = errno.ENETUNREACH
    assert not await IcmpPing()("127.0.0.1", 1.0)


@pytest.fixture
def sent_to_nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The other end of the socket of pings, which go nowhere."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    here.setblocking(False)
    monkeypatch.setattr(icmplib.ICMPv4Socket, "_create_socket", lambda *_: here)
    monkeypatch.setattr(icmplib.ICMPv4Socket, "send", lambda *_: None)
    with here, there:
        yield there


async def test_a_clock_set_back_lets_no_ping_wait_longer(
    sent_to_nobody: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [10_000.0]

    def set_back() -> float:
        """An hour earlier at each look; the answer of another ping, which raw sockets get as well, is a reason to look
        again."""
        clock[0] -= 3600
        sent_to_nobody.send(b"another's")
        return clock[0]

    monkeypatch.setattr("icmplib.sockets.time", set_back)
    assert await asyncio.wait_for(IcmpPing()("192.0.2.1", 0.2), 60.0) is False
    with pytest.raises(ConnectionRefusedError):
        sent_to_nobody.send(b"closed")


async def test_a_clock_set_forward_ends_no_ping_early(
    sent_to_nobody: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [10_000.0]

    def set_forward() -> float:
        clock[0] += 3600
        return clock[0]

    monkeypatch.setattr("icmplib.sockets.time", set_forward)
    monkeypatch.setattr("evenkeel.haproxyd.health.icmp.unique_identifier", lambda: 7)
    ping = asyncio.create_task(IcmpPing()("192.0.2.1", 60.0))
    for identifier in (8, 7):
        sent_to_nobody.send(struct.pack("!2B3H", 0, 0, 0, identifier, 0))
    assert await ping


def may_ping() -> bool:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP).close()
        except PermissionError:
            continue
        return True
    return False


@pytest.mark.skipif(not may_ping(), reason="this host lets nobody ping without CAP_NET_RAW")
async def test_this_host_answers_and_an_unroutable_address_does_not() -> None:
    send = IcmpPing()
    assert await send("127.0.0.1", 60.0)
    assert not await send("240.0.0.1", 0.2)
