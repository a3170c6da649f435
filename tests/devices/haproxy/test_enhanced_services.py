"""Enhanced services through real HAProxys: what every device does, and what is HAProxy's own."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from tests.devices.access_log_behaviour import AccessLogBehaviour
from tests.devices.enhanced_behaviour import EnhancedClients, EnhancedServiceBehaviour
from tests.devices.haproxy.rig import Box, HaproxyRig, haproxy
from tests.devices.haproxy.test_traffic import HaproxySite
from tests.devices.hostile_text_behaviour import HostileTextBehaviour
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Server
from tests.devices.services import batch, listener, service
from tests.services.haproxy import binaries
from tests.waiting import eventually


class EnhancedHaproxySite(HaproxySite):
    """HAProxys whose agent reads definitions from a directory."""

    def __init__(self, rig: HaproxyRig, esd_dir: Path) -> None:
        self.rig = rig
        self.esd_dir = esd_dir
        self.owner = rig.owner(esd_dir=str(esd_dir), access_log_networks="127.0.0.0/8")

    async def apply(
        self, service: ServiceDefinition, contents: Mapping[str, CertificateContent] = MappingProxyType({})
    ) -> PartitionOutcome:
        outcome: PartitionOutcome = await self.owner.apply(batch(service, certificates=contents))
        return outcome

    async def refresh(self) -> Mapping[str, str]:
        (agent,) = self.rig.agents
        found = await agent.enhanced_services()
        assert found is not None
        return {one.name: one.problem for one in found.services}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server("member-1-1")
    await made.start()
    yield made
    await made.stop()


class TestHaproxyEnhancedServices(EnhancedServiceBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig, tmp_path: Path) -> EnhancedHaproxySite:
        return EnhancedHaproxySite(rig, tmp_path)


class TestHaproxyHostileTexts(HostileTextBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig, tmp_path: Path) -> EnhancedHaproxySite:
        return EnhancedHaproxySite(rig, tmp_path)


class TestHaproxyAccessLogs(AccessLogBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig, tmp_path: Path) -> EnhancedHaproxySite:
        return EnhancedHaproxySite(rig, tmp_path)


@pytest.fixture
async def newer(tmp_path: Path) -> AsyncIterator[EnhancedHaproxySite]:
    """A host with HAProxy 2.8."""
    program = binaries().get("2.8")
    if program is None:
        pytest.skip("no HAProxy 2.8 here, or another one is to be tested")
    async with haproxy("one", program=program) as rig:
        yield EnhancedHaproxySite(rig, tmp_path)


class TestHaproxy28EnhancedServices(EnhancedServiceBehaviour):
    @pytest.fixture
    def site(self, newer: EnhancedHaproxySite) -> EnhancedHaproxySite:
        return newer


class TestHaproxy28HostileTexts(HostileTextBehaviour):
    @pytest.fixture
    def site(self, newer: EnhancedHaproxySite) -> EnhancedHaproxySite:
        return newer


class TestHaproxy28AccessLogs(AccessLogBehaviour):
    @pytest.fixture
    def site(self, newer: EnhancedHaproxySite) -> EnhancedHaproxySite:
        return newer


RATES = "show table listener-1:rates.client.3600"


async def refused_at(box: Box) -> bool:
    head, _ = await ask(box.moved(VIP, 80), "/")
    return head.startswith("HTTP/1.1 429")


async def teaches(box: Box) -> bool:
    """Whether the worker gives its tables to the next one: only some 10 s after a cold start, when it no longer waits
    for tables of others itself.
    """
    return "resync_timeout=<PAST>" in await box.tell("show peers")


async def test_a_pair_shares_its_rates_and_they_hold_over_reloads(
    pair: HaproxyRig, tmp_path: Path, server: Server
) -> None:
    first, second = pair.boxes
    clients = EnhancedClients(EnhancedHaproxySite(pair, tmp_path))
    await clients.offer(api={"rate_limit": {"requests": 20, "interval": 3600}})
    await clients.serve((server,), "api")
    await eventually(lambda: teaches(first))
    await clients.statuses_of(21)

    async def shared() -> bool:
        return "::ffff:127.0.0.1" in await second.tell(RATES)

    await eventually(shared)
    assert await refused_at(second)  # settled: the entry came with its rate
    await clients.serve((server,), "api", timeout_client_data=33_000)

    async def taught() -> bool:
        return "::ffff:127.0.0.1" in await first.tell(RATES)

    await eventually(taught)
    assert await refused_at(first)  # settled: the entry came with its rate


async def test_changed_networks_need_no_reload(rig: HaproxyRig, tmp_path: Path, server: Server) -> None:
    clients = EnhancedClients(EnhancedHaproxySite(rig, tmp_path))
    await clients.offer(web={"deny": ["192.0.2.0/24"]})
    await clients.serve((server,), "web")
    before = await rig.box.tell("show info")
    await clients.offer(web={"deny": ["192.0.2.0/24", "127.0.0.0/8"]})
    await clients.serve((server,), "web")
    assert await clients.statuses_of(1) == {"": 1}
    assert _worker(await rig.box.tell("show info")) == _worker(before)


def _worker(info: str) -> str:
    return info.partition("\nPid: ")[2].split()[0]


async def test_definition_with_tags_of_bigips_is_refused_when_it_is_loaded(rig: HaproxyRig, tmp_path: Path) -> None:
    site = EnhancedHaproxySite(rig, tmp_path)
    (tmp_path / "a.json").write_text('{"web": {"lbaas_irule": ["r"], "compression": {}}, "good": {"compression": {}}}')
    problems = await site.refresh()
    assert problems["good"] == ""
    assert "lbaas_irule: not possible on this device type; allowed: allow, deny," in problems["web"]


async def test_lines_of_operators_take_effect(rig: HaproxyRig, tmp_path: Path, server: Server) -> None:
    clients = EnhancedClients(EnhancedHaproxySite(rig, tmp_path))
    lines = [
        "http-request set-header X-From 'an operator'",
        "acl unwanted src 127.0.0.9",
        "tcp-request connection reject if unwanted",
        "http-request return status 404 if { path /private }",
    ]
    await clients.offer(own={"haproxy_lines": lines, "https_redirect": {"code": 302}})
    await clients.serve((server,), "own", protocol="HTTP")
    assert await clients.statuses_of(1) == {"302": 1}
    assert await clients.statuses_of(1, source="127.0.0.9") == {"": 1}
    await clients.offer(own={"haproxy_lines": lines})
    await clients.serve((server,), "own")
    head, _ = await ask(rig.box.moved(VIP, 80), "/private")
    assert head.startswith("HTTP/1.1 404")
    await clients.ask()
    assert b"X-From: an operator" in server.heard[-1] or b"x-from: an operator" in server.heard[-1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("http-request use-service lua.x", "line 2: a line has 'use-service'; only servers determine"),
        ("http-request return file /etc/passwd", "line 2: a line reads 'file'; files of the load balancer alone"),
        ("backend other", "line 2: a line begins with 'backend'; allowed: acl,"),
        ('http-request set-header X-A "$HOME"', "line 2: a line has other quoting than is allowed"),
    ],
)
async def test_line_that_the_daemon_refuses_makes_its_definition_unusable(
    rig: HaproxyRig, tmp_path: Path, line: str, problem: str
) -> None:
    site = EnhancedHaproxySite(rig, tmp_path)
    own = {"haproxy_lines": ["option dontlognull", line]}
    (tmp_path / "a.json").write_text(json.dumps({"own": own, "good": {"haproxy_lines": ["option dontlognull"]}}))
    problems = await site.refresh()
    assert problems["good"] == ""
    assert f"a.json: enhanced service 'own': haproxy_lines: {problem}" in problems["own"]


async def test_line_that_haproxy_refuses_is_its_load_balancers_error_alone(
    rig: HaproxyRig, tmp_path: Path, server: Server
) -> None:
    site = EnhancedHaproxySite(rig, tmp_path)
    clients = EnhancedClients(site)
    await clients.offer(own={"haproxy_lines": ["http-request set-header X-A"]})
    wrong = service(listeners=(listener(enhanced_services=("own",)),))
    outcome = await site.owner.apply(batch(wrong, service(2)))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes}
    assert errors["lb-2"] == "" and "http-request" in errors["lb-1"]


async def test_a_change_that_one_user_cannot_have_reaches_all_others(rig: HaproxyRig, tmp_path: Path) -> None:
    site = EnhancedHaproxySite(rig, tmp_path)
    clients = EnhancedClients(site)
    await clients.offer(web={"deny": ["192.0.2.0/24"]})
    users = [service(number, listeners=(listener(number, enhanced_services=("web",)),)) for number in (1, 3)]
    users.append(service(2, listeners=(listener(2, enhanced_services=("web",), protocol="TCP"),)))
    assert [one.error for one in (await site.owner.apply(batch(*users))).outcomes if one.error] == []
    await rig.agents[0].enhanced_services()
    # HAProxy itself refuses a line of HTTP in a frontend of TCP
    (tmp_path / "test.json").write_text(json.dumps({"web": {"haproxy_lines": ["http-request deny", "mode http"]}}))
    found = await rig.agents[0].enhanced_services()
    assert found is not None and list(found.due.values()) == [("lb-1", "lb-2", "lb-3")]
    outcome = await site.owner.apply(batch(*users))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes}
    assert (errors["lb-1"], errors["lb-3"]) == ("", "")
    assert errors["lb-2"]


async def test_cookie_encryption_is_refused_with_the_reason(rig: HaproxyRig, tmp_path: Path) -> None:
    site = EnhancedHaproxySite(rig, tmp_path)
    (tmp_path / "a.json").write_text('{"web": {"cookie_encryption": {"cookies": ["session"]}}}')
    problems = await site.refresh()
    assert "cookie_encryption (HAProxy 2.6 can decrypt a value, but not encrypt one): not possible" in problems["web"]


async def test_connections_to_another_process_or_host_are_not_counted(
    pair: HaproxyRig, tmp_path: Path, server: Server
) -> None:
    first, second = pair.boxes
    clients = EnhancedClients(EnhancedHaproxySite(pair, tmp_path))
    await clients.offer(web={"connection_limit_per_source": 1, "rate_limit": {"requests": 1000, "interval": 3600}})
    await clients.serve((server,), "web")
    await eventually(lambda: teaches(first))
    _, writer = await asyncio.open_connection(*first.moved(VIP, 80))
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")

        async def shared() -> bool:
            rates, connections = [await second.tell(each) for each in (RATES, "show table listener-1")]
            return "http_req_rate(3600000)=1" in rates and "::ffff:127.0.0.1" in connections

        await eventually(shared)
        # settled: the entry came with everything that is shared
        assert (await ask(second.moved(VIP, 80), "/"))[1] == server.name
        await clients.serve((server,), "web", timeout_client_data=33_000)

        async def taught() -> bool:
            return "::ffff:127.0.0.1" in await first.tell("show table listener-1")

        await eventually(taught)
        # settled: the entry came with everything that is taught
        assert (await ask(first.moved(VIP, 80), "/"))[1] == server.name
    finally:
        writer.transport.abort()
