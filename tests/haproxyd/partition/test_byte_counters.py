"""Bytes of connections under way at a reload are counted: as they flow, and all of them when they have ended."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from evenkeel.haproxyd import wire
from tests.haproxyd.world import World, free_vip, load_balancer, world
from tests.listening import StreamServer
from tests.waiting import eventually

CHUNK = 1024 * 1024
CHUNKS = 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (CHUNKS * CHUNK)


class Source:
    """A member that sends a chunk to each of its clients whenever it is told to."""

    def __init__(self) -> None:
        self._chunks = [asyncio.Event() for _ in range(CHUNKS)]

    def send(self) -> None:
        next(chunk for chunk in self._chunks if not chunk.is_set()).set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\n")
            if b"HTTP" in request:
                writer.write(HEAD)
            for chunk in self._chunks:
                await chunk.wait()
                writer.write(b"x" * CHUNK)
                await writer.drain()
        writer.close()


class Download:
    """A client that counts what it receives."""

    def __init__(self, mode: str, vip: str) -> None:
        self.received = 0
        self.task = asyncio.create_task(self._run(mode, vip))

    async def _run(self, mode: str, vip: str) -> None:
        reader, writer = await asyncio.open_connection(vip, 8080)
        writer.write(b"go\n" if mode == "tcp" else b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while data := await reader.read(65536):
            self.received += len(data)
        writer.close()


def configured(mode: str, vip: str, target: int, revision: int) -> wire.LoadBalancerConfig:
    """Each revision needs a reload."""
    source = wire.BackendServer(name="source", address="127.0.0.1", port=target)
    return load_balancer(
        mode,
        vip,
        source,
        revision=revision,
        lines=(f"mode {mode}", f"timeout client {100 + revision}s"),
        backend_lines=(f"mode {mode}", "timeout server 100s"),
    )


MODES = ("tcp", "http")


class Downloads:
    """One of a TCP and one of an HTTP load balancer, and what is counted of each."""

    def __init__(self, site: World, target: int) -> None:
        self._site = site
        self._target = target
        self._vips = {mode: free_vip() for mode in MODES}
        self.of: dict[str, Download] = {}

    async def configure(self, revision: int) -> None:
        wanted = [configured(mode, self._vips[mode], self._target, revision) for mode in MODES]
        assert (await self._site.put("p", *wanted)).how == "reload"

    def start(self) -> None:
        self.of = {mode: Download(mode, self._vips[mode]) for mode in MODES}

    async def received(self, number: int) -> None:
        await eventually(lambda: all(one.received >= number for one in self.of.values()))

    async def counted(self) -> list[int]:
        supervisor = self._site.partitions.get("p")
        names = tuple(f"{mode}_f" for mode in MODES)
        found, _ = await self._site.counters["p"].collect(supervisor.cli, supervisor.worker_pid, names)
        return [found[name].bytes_out for name in names]

    async def counts_at_least(self, number: int) -> None:
        async def enough() -> bool:
            return min(await self.counted()) >= number

        await eventually(enough)

    async def end(self) -> None:
        await asyncio.gather(*(one.task for one in self.of.values()))


@contextlib.asynccontextmanager
async def downloading() -> AsyncIterator[tuple[World, Source, Downloads]]:
    source = Source()
    listening = await StreamServer.start(source.serve)
    async with world() as site:
        downloads = Downloads(site, listening.port)
        await downloads.configure(1)
        downloads.start()
        yield site, source, downloads
    listening.close()


async def test_bytes_of_connections_that_outlast_reloads_are_counted() -> None:
    async with downloading() as (_, source, downloads):
        for revision in (2, 3):
            source.send()
            await downloads.received((revision - 1) * CHUNK)
            await downloads.configure(revision)
        await downloads.counts_at_least(2 * CHUNK)  # while the connections last
        source.send()
        await downloads.end()
        await downloads.counts_at_least(CHUNKS * CHUNK)
        received = [one.received for one in downloads.of.values()]
        assert await downloads.counted() == pytest.approx(received, rel=0.01)


async def test_bytes_of_connections_that_a_restarted_daemon_finds_in_an_old_worker_are_counted() -> None:
    async with downloading() as (site, source, downloads):
        source.send()
        await downloads.received(CHUNK)
        await downloads.configure(2)
        await site.restart()
        source.send()
        await downloads.counts_at_least(2 * CHUNK)
        source.send()
        await downloads.end()
