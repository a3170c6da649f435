"""Connections outlive the configurations that they were made under, whoever of the project changes something."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.old_workers import OldWorker, fewest_connections_first, limit_memory, memory_limit_bytes
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE
from tests.haproxyd.world import World, backend, errors, free_vip, get, load_balancer, world
from tests.listening import StreamServer
from tests.waiting import eventually

UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
UPGRADE += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
SWITCHED += b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
"""Key and answer are the example of RFC 6455, 1.3."""


class Echo:
    """A member that repeats what it receives, after a WebSocket's upgrade if there is one."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(4096):
                writer.write(SWITCHED if data.startswith(b"GET ") else data)
                await writer.drain()
        writer.close()


class Connection:
    """A long connection through a load balancer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, vip: str, *, websocket: bool = False) -> "Connection":
        opened = cls(*await asyncio.open_connection(vip, 8080))
        if websocket:
            opened._writer.write(UPGRADE)
            assert (await opened._reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        assert await opened.works()
        return opened

    async def works(self) -> bool:
        """Whether data still comes back."""
        try:
            self._writer.write(b"x")
            return await asyncio.wait_for(self._reader.read(1), 30.0) == b"x"
        except ConnectionError:
            return False

    def close(self) -> None:
        self._writer.transport.abort()


@contextlib.asynccontextmanager
async def echoing(site: World) -> AsyncIterator[tuple[str, str]]:
    """The VIPs of a TCP and an HTTP load balancer whose member echoes."""
    listening = await StreamServer.start(Echo().serve)
    target = wire.BackendServer(name="echo", address="127.0.0.1", port=listening.port)
    tcp, http = free_vip(), free_vip()
    mode = ("mode tcp", "timeout client 1h")
    await site.put(
        "p",
        load_balancer("tcp", tcp, target, lines=mode, backend_lines=("mode tcp", "timeout server 1h")),
        load_balancer("http", http, target, lines=("timeout client 1h",), backend_lines=("timeout server 1h",)),
    )
    try:
        yield tcp, http
    finally:
        listening.close()


async def change_others(site: World, vip: str, member: object, changes: int, first: int = 0) -> None:
    """Changes of another load balancer, each of which needs a reload."""
    for revision in range(first, first + changes):
        changed = load_balancer("other", vip, member, revision=revision, lines=(f"timeout client {revision + 1}s",))
        assert (await site.patch("p", changed)).how == "reload"


async def connections(tcp: str, http: str, each: int) -> list[Connection]:
    return [
        *[await Connection.open(tcp) for _ in range(each)],
        *[await Connection.open(http, websocket=True) for _ in range(each)],
    ]


async def survive_changes(each: int, changes: int) -> None:
    async with world() as site, echoing(site) as (tcp, http):
        member, vip = await site.member("a"), free_vip()
        opened = await connections(tcp, http, each)
        await change_others(site, vip, member, changes)
        await site.restart()
        await change_others(site, vip, member, 2, first=changes)
        assert [await one.works() for one in opened] == [True] * len(opened)
        old = site.partitions.get("p").old_workers
        await eventually(lambda: len(old.living_workers()) == 1)  # workers without connections have ended
        for one in opened:
            one.close()
        await eventually(lambda: not old.living_workers())


async def test_connections_outlive_changes_of_other_load_balancers() -> None:
    """``EVENKEEL_TEST_RELOADS=200`` is the acceptance test, with 100 connections; it takes a minute or two."""
    changes = int(os.environ.get("EVENKEEL_TEST_RELOADS", "26"))
    await survive_changes(each=max(changes // 4, 3), changes=changes)


async def opened_by_generation(site: World, tcp: str, numbers: list[int]) -> list[list[Connection]]:
    """Old workers with so many connections, the oldest first."""
    member, vip, found = await site.member("a"), free_vip(), []
    for revision, number in enumerate(numbers):
        found.append([await Connection.open(tcp) for _ in range(number)])
        await change_others(site, vip, member, 1, first=revision)
    return found


async def working(generations: list[list[Connection]]) -> list[bool]:
    """Whether all connections of each generation work; close them."""
    found = [all([await one.works() for one in some]) for some in generations]
    for some in generations:
        for one in some:
            one.close()
    return found


async def test_beyond_the_number_of_old_workers_the_emptiest_then_the_oldest_is_ended() -> None:
    async with world(worker_max_reloads=2) as site, echoing(site) as (tcp, _):
        generations = await opened_by_generation(site, tcp, [2, 1, 1, 3])
        assert await working(generations) == [True, False, False, True]
        texts = [event.text for event in site.news]
        assert texts == ["an old worker with 1 connection was ended: the limit is 1 of a project"] * 2


async def test_beyond_their_memory_the_emptiest_old_worker_of_the_largest_partition_is_ended() -> None:
    async with world() as site, echoing(site) as (tcp, _):
        generations = await opened_by_generation(site, tcp, [2, 1, 3])
        old = site.partitions.get("p").old_workers
        one = old.memory_bytes() // 3
        await limit_memory([old], 2 * one + one // 2)
        assert await working(generations) == [True, False, True]
        assert "an old worker with 1 connection was ended: old workers need" in site.news[0].text


async def test_an_old_worker_that_is_ended_takes_nothing_of_the_current_one() -> None:
    async with world() as site, echoing(site) as (tcp, _):
        generations = await opened_by_generation(site, tcp, [1])
        supervisor = site.partitions.get("p")
        pids = (supervisor.master_pid, supervisor.worker_pid)
        assert await supervisor.old_workers.end_workers(5, "count", "a test") == 1
        assert await working(generations) == [False]
        newer = await Connection.open(tcp)
        assert await newer.works()
        newer.close()
        assert (supervisor.master_pid, supervisor.worker_pid) == pids


async def test_a_worker_that_does_not_answer_is_ended_last() -> None:
    async with world(command_timeout_seconds=1.0) as site, echoing(site) as (tcp, _):
        generations = await opened_by_generation(site, tcp, [1, 2])
        old = site.partitions.get("p").old_workers
        silent = min(old.living_workers(), key=lambda one: one.started).pid
        os.kill(silent, signal.SIGSTOP)
        try:
            assert await old.end_workers(1, "count", "a test") == 1
        finally:
            os.kill(silent, signal.SIGCONT)
        assert await working(generations) == [True, False]


def test_old_workers_with_the_fewest_connections_come_first_then_the_oldest() -> None:
    workers = [
        OldWorker(pid=pid, started=started, connections=n) for pid, started, n in ((1, 5, 2), (2, 9, 0), (3, 4, 0))
    ]
    assert [one.pid for one in fewest_connections_first(workers)] == [3, 2, 1]


def test_the_limit_of_their_memory_is_a_quarter_of_the_hosts_unless_configured() -> None:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert (memory_limit_bytes(0), memory_limit_bytes(3)) == (total // 4, 3 * 1024 * 1024)


async def test_a_worker_that_was_observed_ends_when_it_is_replaced_though_nobody_looks_again() -> None:
    async with world() as site:
        await change_others(site, free_vip(), await site.member("a"), 1)
        supervisor = site.partitions.get("p")
        observed = supervisor.worker_pid
        assert "srv_name" in (await supervisor.cli.query(observed, SHOW_SERVERS_STATE))[0]
        await change_others(site, free_vip(), await site.member("b"), 1, first=1)
        assert supervisor.worker_pid != observed
        # less than HAProxy's own time-out of an idle connection, after which the worker ends in any case
        await eventually(lambda: not supervisor.old_workers.living_workers(), within_seconds=45.0)


async def test_a_removed_load_balancer_is_closed_without_a_reload_and_its_connections_last() -> None:
    async with world() as site, echoing(site) as (tcp, _), contextlib.AsyncExitStack() as stack:
        supervisor = site.partitions.get("p")
        worker, long = supervisor.worker_pid, await Connection.open(tcp)
        stack.callback(long.close)
        receipt = await site.patch("p", removed=("tcp",))
        assert (receipt.how, errors(receipt), supervisor.worker_pid) == ("runtime", {}, worker)
        assert await get(tcp) == "refused"
        assert await long.works()
        # another partition gets the address at once
        member = await site.member("m")
        assert errors(await site.put("q", load_balancer("tcp2", tcp, member))) == {}
        assert await get(tcp) == "m"
        # a daemon that begins again finds what it left
        held = tuple(supervisor.held.values())
        await site.restart()
        assert (await site.put("p", *held)).how == "nothing"
        assert site.partitions.get("p").worker_pid == worker and await long.works()


async def test_a_pool_that_no_listener_uses_changes_nothing_until_it_is_used() -> None:
    async with world() as site:
        one, spare = load_balancer("lb", free_vip(), await site.member("a")), backend("spare", await site.member("b"))
        await site.put("p", one)
        waiting = msgspec.structs.replace(one, backends=(*one.backends, spare))
        assert (await site.patch("p", waiting)).how == "nothing"
        assert site.partitions.get("p").held["lb"] == waiting
        vip = one.frontends[0].binds[0].address
        front = msgspec.structs.replace(one.frontends[0], lines=("default_backend spare",))
        receipt = await site.patch("p", msgspec.structs.replace(waiting, frontends=(front,)))
        assert (receipt.how, errors(receipt), await get(vip)) == ("reload", {}, "b")
        # the pool that the listener used before has its servers in the worker no more
        assert "lb_b" not in await site.partitions.get("p").cli.command(SHOW_SERVERS_STATE)
        unfit = msgspec.structs.replace(one, frontends=(msgspec.structs.replace(front, lines=("no such word",)),))
        assert errors(await site.patch("p", unfit))
        # a refused change keeps the pool that nothing uses
        assert site.partitions.get("p").held["lb"].backends == waiting.backends
