"""Rate limit policies through real HAProxys: what every device does, and what is HAProxy's own."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceRateLimitRule
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from tests.devices.haproxy.rig import HaproxyRig, haproxy
from tests.devices.haproxy.test_traffic import HaproxySite
from tests.devices.rate_limit_behaviour import RateLimitBehaviour
from tests.devices.services import listener, rate_limit, rate_rule, service
from tests.services.haproxy import binaries


class TestHaproxyRateLimits(RateLimitBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)


class TestHaproxy28RateLimits(RateLimitBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[HaproxySite]:
        program = binaries().get("2.8")
        if program is None:
            pytest.skip("no HAProxy 2.8 here, or another one is to be tested")
        async with haproxy("one", program=program) as rig:
            yield HaproxySite(rig)


def test_paths_of_a_rule_are_a_file_so_that_a_change_of_them_is_no_reload() -> None:
    one, other = (
        render_load_balancer(service(listeners=(listener(rate_limits=(rate_limit(by_path(urls)),)),)))
        for urls in (("/login",), ("/login", "/search"))
    )
    assert one.load_balancer is not None and other.load_balancer is not None
    assert one.load_balancer.frontends == other.load_balancer.frontends
    assert [file.content for file in other.load_balancer.files] == ["/login\n/search\n"]


@pytest.mark.parametrize("hostile", ["a b", "a\nb", "a}b", "$(x)", "", "../x"])
def test_no_rules_id_becomes_a_word_of_the_configuration(hostile: str) -> None:
    limits = (rate_limit(by_path(("/",), id=hostile)),)
    rendered = render_load_balancer(service(listeners=(listener(rate_limits=limits),)))
    assert f"rate limit rule: id {hostile!r}" in rendered.problem


def by_path(urls: tuple[str, ...], **changes: Any) -> ServiceRateLimitRule:
    return rate_rule(metric="REQUESTS_PER_URL", urls=urls, **changes)


def test_more_counters_than_haproxy_has_are_refused() -> None:
    rules = [rate_rule(number, interval=number) for number in (1, 2, 3, 4)]
    rendered = render_load_balancer(service(listeners=(listener(rate_limits=(rate_limit(*rules),)),)))
    assert "4 different counters (client in 1 s, " in rendered.problem and "3 are possible" in rendered.problem
