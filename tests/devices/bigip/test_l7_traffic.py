"""L7 policies through the stand-in's data plane: what every device does."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from icontrol_emulator import Emulator
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.test_tls_traffic import BigIpSite
from tests.devices.l7_behaviour import L7Behaviour


class TestBigIpL7(L7Behaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[Any]:
        async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
            rig = BigIpRig(emulator, "standalone")
            yield BigIpSite(rig)
            await rig.close()
