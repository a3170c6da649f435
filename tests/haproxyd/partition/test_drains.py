"""Connections of members that were taken out of service end when their time is over, and no others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import ServerDrain
from evenkeel.haproxyd.partition.drains import drains_after_change
from tests.haproxyd.partition.test_old_workers import change_others
from tests.haproxyd.world import VIP_PORT, World, backend, files_of, free_vip, load_balancer, world
from tests.listening import StreamServer
from tests.waiting import eventually

TCP = ("mode tcp", "timeout client 1h")
NOW = 1_000.0


class Named:
    """A member that answers each byte with its letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self._server: StreamServer | None = None

    async def start(self) -> wire.BackendServer:
        self._server = await StreamServer.start(self._serve)
        return wire.BackendServer(name=self.letter, address="127.0.0.1", port=self._server.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(4096):
                writer.write(self.letter.encode() * len(data))
                await writer.drain()
        writer.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class LongConnection:
    """A TCP connection to a VIP that stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def member(self) -> str:
        """Letter of the member that answers; empty: the connection has ended."""
        try:
            self._writer.write(b"x")
            return (await asyncio.wait_for(self._reader.read(1), 30.0)).decode()
        except ConnectionError:
            return ""

    async def end(self) -> None:
        """Wait until HAProxy ends the connection."""
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(self._reader.read(1), 30.0) == b""

    def close(self) -> None:
        self._writer.transport.abort()


@contextlib.asynccontextmanager
async def two_members() -> AsyncIterator[tuple[wire.BackendServer, wire.BackendServer]]:
    members = Named("a"), Named("b")
    try:
        yield (await members[0].start(), await members[1].start())
    finally:
        for member in members:
            member.close()


def config(vip: str, *servers: wire.BackendServer, drain_seconds: int, revision: int = 1) -> wire.LoadBalancerConfig:
    made = load_balancer("lb", vip, revision=revision, lines=TCP)
    lines = ("mode tcp", "timeout server 1h", "balance roundrobin")
    pool = backend("lb_b", *servers, lines=lines, drain_seconds=drain_seconds)
    return msgspec.structs.replace(made, backends=(pool,))


async def one_to_each(vip: str) -> dict[str, LongConnection]:
    """A connection to each of the two members, by its letter."""
    opened = [LongConnection(*await asyncio.open_connection(vip, VIP_PORT)) for _ in range(2)]
    return {await one.member(): one for one in opened}


def pass_all_deadlines(site: World) -> None:
    """Have the deadlines on disk be over, as if the daemon had been away for so long."""
    storage = files_of(site.partitions.get("p"))
    storage.write_drains(tuple(msgspec.structs.replace(drain, until=1.0) for drain in storage.read_drains()))


async def test_connections_of_a_removed_member_end_in_old_and_new_workers_after_a_restart_of_the_daemon() -> None:
    async with world() as site, two_members() as (a, b):
        vip = free_vip()
        await site.put("p", config(vip, a, b, drain_seconds=3600))
        old = await one_to_each(vip)
        await change_others(site, free_vip(), await site.member("other"), 1)
        new = await one_to_each(vip)
        assert (await site.patch("p", config(vip, b, drain_seconds=3600, revision=2))).how == "runtime"
        assert [await one.member() for one in (old["a"], new["a"])] == ["a", "a"]
        pass_all_deadlines(site)
        await site.restart()
        await asyncio.gather(old["a"].end(), new["a"].end())
        assert [await one.member() for one in (old["b"], new["b"])] == ["b", "b"]
        await eventually(lambda: files_of(site.partitions.get("p")).read_drains() == ())
        for one in (*old.values(), *new.values()):
            one.close()


async def test_connections_of_a_disabled_member_end_after_the_seconds_of_its_pool() -> None:
    async with world() as site, two_members() as (a, b):
        vip = free_vip()
        await site.put("p", config(vip, a, b, drain_seconds=1))
        opened = await one_to_each(vip)
        disabled = msgspec.structs.replace(a, admin_up=False)
        await site.patch("p", config(vip, disabled, b, drain_seconds=1, revision=2))
        await opened["a"].end()
        assert await opened["b"].member() == "b"
        for one in opened.values():
            one.close()


async def test_a_member_that_is_back_in_service_keeps_its_connections_though_its_deadline_is_on_disk() -> None:
    async with world() as site, two_members() as (a, b):
        vip = free_vip()
        await site.put("p", config(vip, a, b, drain_seconds=1))
        opened = await one_to_each(vip)
        drain = ServerDrain(load_balancer_id="lb", backend="lb_b", server="a", until=1.0)
        files_of(site.partitions.get("p")).write_drains((drain,))
        await site.restart()
        assert [await opened[name].member() for name in "ab"] == ["a", "b"]
        # another change leaves no trace of it
        await site.patch("p", config(vip, a, drain_seconds=1, revision=2))
        await opened["b"].end()
        assert await opened["a"].member() == "a"
        for one in opened.values():
            one.close()


A, B = (wire.BackendServer(name=name, address="192.0.2.1", port=80) for name in ("a", "b"))
A_ENDS = ServerDrain(load_balancer_id="lb", backend="lb_b", server="a", until=NOW + 30)


def held(*servers: wire.BackendServer, drain_seconds: int = 30) -> dict[str, wire.LoadBalancerConfig]:
    return {"lb": config("192.0.2.2", *servers, drain_seconds=drain_seconds)}


def test_removed_and_disabled_members_and_those_of_a_deleted_load_balancer_have_deadlines() -> None:
    disabled = msgspec.structs.replace(A, admin_up=False)
    assert drains_after_change((), held(A, B), held(B), NOW) == (A_ENDS,)
    assert drains_after_change((), held(A, B), held(disabled, B), NOW) == (A_ENDS,)
    assert [drain.server for drain in drains_after_change((), held(A, B), {}, NOW)] == ["a", "b"]


def test_another_change_leaves_a_deadline_as_it_is() -> None:
    assert drains_after_change((A_ENDS,), held(B), held(B, drain_seconds=5), NOW + 9) == (A_ENDS,)
    # sent again, because the daemon ended before it had stored the removal
    assert drains_after_change((A_ENDS,), held(A, B), held(B), NOW + 9) == (A_ENDS,)


def test_members_without_a_time_that_were_out_of_service_or_come_back_have_no_deadline() -> None:
    disabled = msgspec.structs.replace(A, admin_up=False)
    assert drains_after_change((), held(A, B, drain_seconds=0), held(B), NOW) == ()
    assert drains_after_change((), held(disabled, B), held(B), NOW) == ()
    assert drains_after_change((A_ENDS,), held(B), held(A, B), NOW) == ()
    assert drains_after_change((A_ENDS,), {}, held(A, B), NOW) == ()


def test_a_member_whose_backend_gets_another_name_stays_in_service() -> None:
    (pool,) = held(A)["lb"].backends
    renamed = msgspec.structs.replace(held(A)["lb"], backends=(msgspec.structs.replace(pool, name="lb_b:tcp"),))
    assert drains_after_change((), held(A), {"lb": renamed}, NOW) == ()


@pytest.mark.parametrize("seconds", [-1, 86_401])
async def test_drain_seconds_beyond_the_limits_are_refused(seconds: int) -> None:
    async with world() as site:
        receipt = await site.put("p", config(free_vip(), A, drain_seconds=seconds))
        (outcome,) = receipt.outcomes
        assert outcome.error.endswith(f"backend lb_b: drain_seconds is {seconds}; 0 to 86400 is allowed")
