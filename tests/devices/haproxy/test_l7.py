"""L7 policies through real HAProxys: what every device does."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy
from evenkeel.core.tls.certificates import CertificateContent
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_tls import HaproxySite
from tests.devices.l7_behaviour import L7Behaviour, host, path
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP
from tests.devices.services import listener, policy, rule


class TestHaproxyL7(L7Behaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)


class LiveSite(HaproxySite):
    """One HAProxy that has loaded other policies of the same listeners before."""

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        other = policy(1, rule(type="PATH", compare_type="EQUAL_TO", value="/never"))
        before = tuple(replace(one, l7policies=(other,)) for one in service.listeners)
        await super().apply(replace(service, listeners=before, revision=2 * service.revision - 1), contents)
        return await super().apply(replace(service, revision=2 * service.revision), contents)


class TestHaproxyL7WithoutReload(L7Behaviour):
    """Policies that a process gets after it was started: by maps where that is possible."""

    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return LiveSite(rig)


async def test_policies_change_without_a_reload_and_no_request_sees_a_part_of_them(rig: HaproxyRig) -> None:
    site = HaproxySite(rig)
    refused, moved = path("STARTS_WITH", "/x"), {"action": "REDIRECT_TO_URL", "redirect_url": "http://new.test/"}
    sets = (
        (policy(1, refused), policy(2, path("CONTAINS", "x"), **moved)),
        (policy(1, path("CONTAINS", "x"), **moved), policy(2, refused)),
        (policy(1, host("EQUAL_TO", "test"), path("ENDS_WITH", "/y"), **moved),),
    )
    await site.serve(listeners=(listener(l7policies=sets[0]),))
    worker, where = await site.worker(), rig.box.moved(VIP, 80)
    seen: set[str] = set()

    async def asks() -> None:
        while True:
            seen.add((await ask(where, "/x/y"))[0].split(" ")[1])

    asking = asyncio.create_task(asks())
    for revision in range(2, 30):
        wanted = sets[revision % len(sets)]
        await site.serve(revision, listeners=(listener(l7policies=wanted),))
        assert (await ask(where, "/x/y"))[0].split(" ")[1] == ("403" if wanted is sets[0] else "302")
    asking.cancel()
    assert seen == {"403", "302"} and await site.worker() == worker


async def test_a_daemon_that_was_restarted_reloads_for_policies_that_its_predecessor_changed(rig: HaproxyRig) -> None:
    site = HaproxySite(rig)
    for revision, value in enumerate(("/a", "/b"), start=1):
        await site.serve(revision, listeners=(listener(l7policies=(policy(1, path("STARTS_WITH", value)),)),))
    worker, where = await site.worker(), rig.box.moved(VIP, 80)
    await rig.box.stop()
    await rig.box.start()
    await site.serve(2, listeners=(listener(l7policies=(policy(1, path("STARTS_WITH", "/b")),)),))
    assert await site.worker() == worker and " 403 " in (await ask(where, "/b"))[0]
    await site.serve(3, listeners=(listener(l7policies=(policy(1, path("STARTS_WITH", "/c")),)),))
    assert await site.worker() != worker and " 403 " in (await ask(where, "/c"))[0]


async def test_policies_that_a_predecessor_changed_decide_for_no_other_listener(rig: HaproxyRig) -> None:
    site = HaproxySite(rig)
    refused = policy(1, path("STARTS_WITH", "/b"))
    moved = policy(1, path("STARTS_WITH", "/b"), action="REDIRECT_TO_URL", redirect_url="http://new.test/")
    never = policy(1, path("EQUAL_TO", "/never"))

    async def serve(revision: int, first: ServiceL7Policy, second: ServiceL7Policy) -> None:
        web, other = listener(l7policies=(first,)), listener(id="l-2", protocol_port=81, l7policies=(second,))
        await site.serve(revision, listeners=(web, other))

    await serve(1, never, never)
    await serve(2, refused, never)
    await rig.box.stop()
    await rig.box.start()
    await serve(2, refused, never)
    await serve(3, refused, moved)
    assert [(await ask(rig.box.moved(VIP, port), "/b"))[0].split(" ")[1] for port in (80, 81)] == ["403", "302"]


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
