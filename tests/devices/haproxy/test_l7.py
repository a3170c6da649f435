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
from tests.devices.l7_behaviour import L7Behaviour, host, path, to_pool
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP
from tests.devices.services import listener, policy, rule
from tests.devices.tls_behaviour import Member, pool_of, running


class TestHaproxyL7(L7Behaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)


class LiveSite(HaproxySite):
    """One HAProxy that has loaded other policies of the same listeners before, or none."""

    def __init__(self, rig: HaproxyRig, loaded: tuple[ServiceL7Policy, ...]) -> None:
        super().__init__(rig)
        self._loaded = loaded

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        before = tuple(replace(one, l7policies=self._loaded) for one in service.listeners)
        await super().apply(replace(service, listeners=before, revision=2 * service.revision - 1), contents)
        return await super().apply(replace(service, revision=2 * service.revision), contents)


class TestHaproxyL7WithoutReload(L7Behaviour):
    """Policies that a process gets after it was started: by maps where that is possible."""

    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return LiveSite(rig, (policy(1, path("EQUAL_TO", "/never")),))


class TestHaproxyFirstL7(L7Behaviour):
    """Policies of listeners that had none when their process was started."""

    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return LiveSite(rig, ())


async def test_a_first_policy_and_another_default_pool_need_no_reload(rig: HaproxyRig) -> None:
    site, where = HaproxySite(rig), rig.box.moved(VIP, 80)
    away = policy(1, path("STARTS_WITH", "/x"), action="REDIRECT_TO_URL", redirect_url="http://new.test/")
    async with running(Member("one")) as one, running(Member("two")) as two:
        pools = (pool_of(one), pool_of(two, id="pool-2"))
        # both pools are in use all the time, so that both are loaded
        other = listener(2, protocol_port=81, l7policies=(to_pool(2, 1, path("STARTS_WITH", "/1")),))

        async def served(revision: int, default: str | None, *policies: ServiceL7Policy) -> tuple[str, ...]:
            web = listener(default_pool_id=default, l7policies=policies)
            await site.serve(revision, listeners=(web, other), pools=pools)
            answers = [await ask(where, url) for url in ("/x", "/")]
            return tuple(body if " 200 " in head else head.split(" ")[1] for head, body in answers)

        assert await served(1, "pool-1") == ("one", "one")
        worker = await site.worker()
        assert await served(2, "pool-1", away) == ("302", "one")
        assert await served(3, None, away) == ("302", "503")
        assert await served(4, None) == ("503", "503")
        assert await served(5, "pool-2", policy(1, path("STARTS_WITH", "/x"))) == ("403", "two")
        assert await served(6, "pool-2", to_pool(1, 1, path("STARTS_WITH", "/x"))) == ("one", "two")
        assert await served(7, "pool-1") == ("one", "one")
        assert await site.worker() == worker


async def test_a_pool_that_is_removed_from_its_listener_needs_no_reload(rig: HaproxyRig) -> None:
    site, where = HaproxySite(rig), rig.box.moved(VIP, 80)
    async with running(Member("one")) as one:
        await site.serve(listeners=(listener(),), pools=(pool_of(one),))
        worker = await site.worker()
        assert (await ask(where, "/"))[1] == "one"
        await site.serve(2, listeners=(listener(default_pool_id=None),), pools=())
        assert " 503 " in (await ask(where, "/"))[0] and await site.worker() == worker
        await site.serve(3, listeners=(listener(),), pools=(pool_of(one),))
        assert (await ask(where, "/"))[1] == "one"


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
