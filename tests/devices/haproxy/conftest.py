from collections.abc import AsyncIterator

import pytest

from tests.devices.haproxy.rig import HaproxyRig, haproxy


@pytest.fixture
async def rig() -> AsyncIterator[HaproxyRig]:
    """One HAProxy host."""
    async with haproxy("one") as running:
        yield running


@pytest.fixture
async def pair() -> AsyncIterator[HaproxyRig]:
    """Two of them that hold the same."""
    async with haproxy("one", "two") as running:
        yield running
