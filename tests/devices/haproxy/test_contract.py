from collections.abc import AsyncIterator

import pytest

from tests.devices.contract import DeviceContract
from tests.devices.haproxy.rig import HaproxyRig, haproxy


class TestHaproxy(DeviceContract):
    """On one host, set up by the room's fixture ``rig``."""

    repairs_itself = True


class TestHaproxyPair(DeviceContract):
    repairs_itself = True

    @pytest.fixture
    async def rig(self) -> AsyncIterator[HaproxyRig]:
        async with haproxy("one", "two") as running:
            yield running
