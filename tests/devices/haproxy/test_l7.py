"""L7 policies through real HAProxys: what every device does."""

from typing import Any

import pytest

from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_tls import HaproxySite
from tests.devices.l7_behaviour import L7Behaviour
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP
from tests.devices.services import listener, policy, rule


class TestHaproxyL7(L7Behaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)


@pytest.mark.parametrize("compare_type", ["EQUAL_TO", "STARTS_WITH", "REGEX"])
async def test_an_empty_path_is_the_root(rig: HaproxyRig, compare_type: str) -> None:
    site = HaproxySite(rig)
    root = rule(type="PATH", compare_type=compare_type, value="^/$" if compare_type == "REGEX" else "/")
    await site.serve(listeners=(listener(l7policies=(policy(1, root),)),))
    where = rig.box.moved(VIP, 80)
    answers = {target: (await ask(where, target))[0].split(" ")[1] for target in ("/", "http://test", "http://test?a")}
    # before 3.2 HAProxy refuses the last one itself
    assert answers == {"/": "403", "http://test": "403", "http://test?a": answers["http://test?a"]}
    assert answers["http://test?a"] in ("403", "400")
