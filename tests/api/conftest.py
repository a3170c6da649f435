"""The API over a real SQLite store, called in-process or through a real server."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from evenkeel.api.app import Application, create_app
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.stack import Stack
from tests.api.stores import started_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A started store with one environment and one subnet."""
    async with started_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def sink() -> Sink:
    """What the driver was told."""
    return Sink()


@pytest.fixture
def app(store: Store, sink: Sink) -> Application:
    """The application."""
    return create_app(store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev")


@pytest.fixture
async def api(app: Application) -> AsyncIterator[Client]:
    """A client of the application, without a network in between."""
    async with Client.of(app) as client:
        yield client


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Two controllers and an agent of a no-op device, each a process: for tests that drive real clients. They end with
    this folder's tests, for idle controllers with such short intervals use a tenth of a core."""
    with Stack.started(tmp_path_factory.mktemp("stack"), controllers=2) as running:
        yield running
