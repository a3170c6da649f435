"""Rate limit policies on an emulated device."""

from collections.abc import AsyncIterator

import pytest

from tests.devices.bigip.traffic import TrafficSite, traffic_site
from tests.devices.rate_limit_behaviour import RateLimitBehaviour


class TestBigIpRateLimits(RateLimitBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[TrafficSite]:
        async with traffic_site() as site:
            yield site
