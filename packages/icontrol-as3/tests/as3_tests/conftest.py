from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from emulator_tests.client import Client
from emulator_tests.conftest import asker, backend, echo  # noqa: F401  # fixtures
from icontrol_as3 import As3
from icontrol_emulator import Emulator


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(["bigip-1"], extensions=[As3]) as running:
        yield running


@pytest.fixture
async def device(emulator: Emulator) -> AsyncIterator[Client]:
    """A client of a device on which AS3 is installed."""
    client = Client(emulator.devices["bigip-1"].url, emulator.ca_file)
    yield client
    await client.close()
