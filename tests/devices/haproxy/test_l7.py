"""L7 policies through real HAProxys: what every device does."""

from typing import Any

import pytest

from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_tls import HaproxySite
from tests.devices.l7_behaviour import L7Behaviour


class TestHaproxyL7(L7Behaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)
