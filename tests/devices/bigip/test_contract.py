from collections.abc import AsyncIterator

import pytest

from tests.devices.bigip.rig import BigIpRig, bigip
from tests.devices.contract import DeviceContract


class TestBigIp(DeviceContract):
    """On one device, set up by the room's fixture ``rig``."""

    retires = True


class TestBigIpPair(DeviceContract):
    retires = True

    @pytest.fixture
    async def rig(self) -> AsyncIterator[BigIpRig]:
        async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as running:
            yield running
