"""The daemon as a whole, in this process, without any HAProxy: in which order it begins, and that its watch goes on."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.tls import make_certificates
from evenkeel.haproxyd.daemon import HaproxyDaemon
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.daemonworld import PASSWORD, Client
from tests.haproxyd.quick_credentials import write_agent
from tests.waiting import eventually


class World:
    """A daemon whose partitions start when they are let. The folder's name is short, because of the sockets in it."""

    def __init__(self, folder: Path) -> None:
        files = make_certificates(folder / "tls", ["127.0.0.1"])
        write_agent(folder / "credentials", "agent-1", PASSWORD)
        self.daemon = HaproxyDaemon(
            DaemonSettings(name="host-1", state_dir=folder / "state", run_dir=folder / "r"),
            HttpSettings(
                certificate=files.certificate,
                key=files.key,
                credentials_file=folder / "credentials",
                host="127.0.0.1",
                port=0,
                endpoint_file=folder / "endpoint",
                observe_every_seconds=0.01,
            ),
        )
        self.endpoint = folder / "endpoint"
        self.read = asyncio.Event()
        self.go_on = asyncio.Event()
        self.context = ssl.create_default_context(cafile=files.authority)

    async def wait_to_start(self) -> None:
        await self.read.wait()
        self.daemon.partitions.loaded.set()
        await self.go_on.wait()


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY_DIR) as folder:
        made = World(Path(folder))
        monkeypatch.setattr(made.daemon.partitions, "start", made.wait_to_start)
        yield made
        await made.daemon.stop()


async def test_daemon_answers_while_haproxys_start_and_announces_its_url_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls: list[str] = []
    listen = world.daemon._server.start

    async def start() -> str:
        urls.append(await listen())
        return urls[0]

    monkeypatch.setattr(world.daemon._server, "start", start)
    starting = asyncio.create_task(world.daemon.start())
    await eventually(lambda: urls)
    async with Client(urls[0], world.context, "agent-1", PASSWORD) as client:
        for path in ("/v1", "/v1/observation", "/v1/partitions"):
            assert (await client.refused("GET", path))[1].code == "busy"
        world.read.set()
        # settled: its name is known from the start; the rest may not happen before it has adopted
        await eventually(world.daemon.partitions.loaded.is_set)
        assert (await client.ask(wire.About, "GET", "/v1")).name == "host-1"
        # HAProxys that are not adopted yet would be taken for dead
        assert (await client.refused("GET", "/v1/observation"))[1].code == "busy"
        assert not world.endpoint.exists()
        world.go_on.set()
        assert await starting == urls[0]
        assert (await client.ask(wire.DaemonObservation, "GET", "/v1/observation")).partitions == ()
    assert world.endpoint.read_text() == f"{urls[0]}\n"


async def test_a_look_that_fails_is_not_the_last_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    async def look_after() -> None:
        looks.append("look")
        raise KeyError(looks[-1])

    monkeypatch.setattr(world.daemon.partitions, "maintain", look_after)
    world.read.set()
    world.go_on.set()
    await world.daemon.start()
    await eventually(lambda: len(looks) > 2)


async def test_one_that_could_not_start_can_be_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail() -> None:
        raise OSError("no space left")

    monkeypatch.setattr(world.daemon.partitions, "start", fail)
    with pytest.raises(OSError, match="no space left"):
        await world.daemon.start()
    assert not world.endpoint.exists()
