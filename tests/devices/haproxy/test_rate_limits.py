"""Rate limit policies through real HAProxys: what every device does, and what is HAProxy's own."""

import pytest

from evenkeel.devices.haproxy.render.load_balancer import render
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_traffic import HaproxySite
from tests.devices.rate_limit_behaviour import RateLimitBehaviour
from tests.devices.services import listener, rate_limit, rate_rule, service


class TestHaproxyRateLimits(RateLimitBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)


def test_more_counters_than_haproxy_has_are_refused() -> None:
    rules = [rate_rule(number, interval=number) for number in (1, 2, 3, 4)]
    rendered = render(service(listeners=(listener(rate_limits=(rate_limit(*rules),)),)))
    assert "4 different counters (client in 1 s, " in rendered.problem and "3 are possible" in rendered.problem
