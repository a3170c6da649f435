"""Listeners for Prometheus: figures of one load balancer, for whoever may connect, through a real HAProxy."""

import asyncio
import functools
import re
from collections.abc import AsyncIterator

import pytest

from evenkeel.core.ports import Device
from evenkeel.haproxyd.settings import DaemonSettings
from tests.devices.haproxy import rig as rig_module
from tests.devices.haproxy.features import tcp
from tests.devices.haproxy.rig import PARTITION, HaproxyRig, haproxy
from tests.devices.services import batch, listener, pool, service
from tests.devices.tls_behaviour import CLEAR_PORT, Member, pool_of, problems, running
from tests.haproxyd.haproxy.test_worker_users import as_root

PORT = 8088
LIMIT_SECONDS = 60.0


@pytest.fixture
async def plain() -> AsyncIterator[Member]:
    async with running(Member("plain")) as made:
        yield made


async def ask(rig: HaproxyRig, path: str = "/metrics", *, method: str = "GET", port: int = PORT) -> tuple[int, str]:
    """Status and body of one answer."""
    host, real_port = rig.box.moved("10.1.0.2", port)
    async with asyncio.timeout(LIMIT_SECONDS):
        reader, writer = await asyncio.open_connection(host, real_port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.transport.abort()
    return int(head.split()[1]), body


def figures(page: str) -> dict[str, float]:
    """By name and labels."""
    lines = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def served(rig: HaproxyRig, plain: Member) -> Device:
    """A load balancer with such a listener, and another one of the tenant. A second pass finds nothing to do."""
    agent = rig.owner()
    listeners = (listener(1), listener(3, protocol="PROMETHEUS", protocol_port=PORT, default_pool_id=None))
    mine = service(1, listeners=listeners, pools=(pool_of(plain),))
    other = service(2, listeners=(tcp(2),), pools=(pool(2, monitor=None),))
    for _ in range(2):
        outcome = await agent.apply(batch(mine, other, complete=True))
        assert problems(outcome) == []
    assert outcome.writes == 0
    return agent


async def test_the_figures_are_of_that_load_balancer_alone(rig: HaproxyRig, plain: Member) -> None:
    await served(rig, plain)
    for _ in range(5):
        assert await ask(rig, "/", port=CLEAR_PORT) == (200, "plain")
    status, page = await ask(rig)
    found = figures(page)
    assert status == 200
    assert found['octavia_listener_http_requests_total{listener="listener-1"}'] == 5
    assert found['octavia_listener_http_responses_total{listener="listener-1",code="2xx"}'] == 5
    assert found['octavia_pool_status{pool="pool-1",state="UP"}'] == 1
    assert found['octavia_member_sessions_total{pool="pool-1",member="member-1-1"}'] == 5
    assert found["octavia_loadbalancer_listeners"] == 2
    assert set(re.findall(r'(?:listener|pool)="([^"]*)"', page)) == {"listener-1", "listener-3", "pool-1"}
    assert "-2" not in page and "process" not in page and "haproxy" not in page


async def test_nothing_else_is_answered(rig: HaproxyRig, plain: Member) -> None:
    await served(rig, plain)
    assert (await ask(rig, "/"))[0] == (await ask(rig, "/metrics/../dev_x/listener-2"))[0] == 404
    assert (await ask(rig, f"/{PARTITION}/listener-2"))[0] == 404
    assert [(await ask(rig, method=method))[0] for method in ("POST", "PUT")] == [405, 405]
    assert (await ask(rig, "/metrics?scope=global"))[0] == 200


async def test_only_a_worker_is_informed_and_only_of_its_own_partition(rig: HaproxyRig, plain: Member) -> None:
    """This process is none, whatever it says."""
    await served(rig, plain)
    reader, writer = await asyncio.open_unix_connection(str(rig.box.running._settings.metrics_socket))
    writer.write(f"GET /{PARTITION}/listener-3 HTTP/1.1\r\n\r\n".encode())
    assert (await reader.read()).startswith(b"HTTP/1.1 403 ")
    writer.close()


@as_root
async def test_a_worker_that_is_shut_in_is_answered_too(plain: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig_module, "DaemonSettings", functools.partial(DaemonSettings, worker_uid_first=70_000))
    async with haproxy("one") as rig:
        await served(rig, plain)
        assert "    chroot " in rig.box.configuration.read_text()
        assert (await ask(rig))[0] == 200


async def test_while_the_daemon_is_away_there_are_none_and_requests_are_served(rig: HaproxyRig, plain: Member) -> None:
    await served(rig, plain)
    await rig.box.stop()
    assert (await ask(rig))[0] == 503
    assert await ask(rig, "/", port=CLEAR_PORT) == (200, "plain")
    await rig.box.start()
    assert (await ask(rig))[0] == 200
