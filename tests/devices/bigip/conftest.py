from collections.abc import AsyncIterator

import pytest

from tests.devices.bigip.rig import BigIpRig, bigip
from tests.virtual.fixtures import pytest_asyncio_loop_factories, virtual_time

__all__ = ["pytest_asyncio_loop_factories", "virtual_time"]


@pytest.fixture
async def rig() -> AsyncIterator[BigIpRig]:
    """One standalone device."""
    async with bigip("bigip-1") as running:
        yield running


@pytest.fixture
async def pair() -> AsyncIterator[BigIpRig]:
    """Two devices, the first active."""
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as running:
        yield running
