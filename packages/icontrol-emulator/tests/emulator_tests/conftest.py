from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client
from emulator_tests.datagram_site import Asker, Echo
from icontrol_emulator import Emulator


class FakeClock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def skip(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass at once for everything in the event loop."""
    loop = asyncio.get_running_loop()
    real, skipped = loop.time, 0.0

    def forward(seconds: float) -> None:
        nonlocal skipped
        skipped += seconds

    monkeypatch.setattr(loop, "time", lambda: real() + skipped)
    return forward


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(["bigip-1"], users={"admin": "admin", "bob": "secret"}) as running:
        yield running


@pytest.fixture
async def device(emulator: Emulator) -> AsyncIterator[Client]:
    """A client of a single device that has a partition P."""
    client = Client(emulator.devices["bigip-1"].url, emulator.ca_file)
    await client.post("auth/partition", {"name": "P"})
    yield client
    await client.close()


@pytest.fixture
async def pair() -> AsyncIterator[Emulator]:
    async with Emulator(["bigip-1", "bigip-2"], ha="pair") as running:
        yield running


@pytest.fixture
async def both(pair: Emulator) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of an active and a standby device, each with a partition P."""
    clients = [Client(each.url, pair.ca_file) for each in pair.devices.values()]
    for client in clients:
        await client.post("auth/partition", {"name": "P"})
    yield clients[0], clients[1]
    for client in clients:
        await client.close()


@pytest.fixture
async def backend() -> AsyncIterator[Callable[..., Awaitable[Backend]]]:
    """Starts backends, all stopped at the end."""
    started: list[Backend] = []

    async def start(name: str, host: str = "127.0.0.1", port: int = 0) -> Backend:
        started.append(await Backend(name, host, port).start())
        return started[-1]

    yield start
    for each in started:
        await each.stop()


@pytest.fixture
async def echo() -> AsyncIterator[Callable[[str], Awaitable[Echo]]]:
    started: list[Echo] = []

    async def start(name: str) -> Echo:
        _, server = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Echo(name), local_addr=("127.0.0.1", 0)
        )
        started.append(server)
        return server

    yield start
    for each in started:
        each.transport.close()


@pytest.fixture
async def asker() -> AsyncIterator[Callable[..., Asker]]:
    made: list[Asker] = []

    def make(port: int, host: str = "127.0.0.1") -> Asker:
        made.append(Asker(port, host))
        return made[-1]

    yield make
    for each in made:
        each.close()
