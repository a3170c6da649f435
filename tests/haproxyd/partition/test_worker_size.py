"""Workers are as large as their listeners, grow before their connections are used up, and share the host's TLS
sessions.
"""

import asyncio
import re
import socket
import ssl

import msgspec
import pytest

from evenkeel.demo.authority import CertificateAuthority
from evenkeel.haproxyd import wire
from tests.haproxyd.world import VIP_PORT, Member, World, config_path, free_vip, get, load_balancer, world
from tests.waiting import eventually


def maxconn(site: World) -> int:
    """Connections that the worker accepts."""
    with socket.socket(socket.AF_UNIX) as cli:
        cli.connect(str(site.partitions.get("p")._runner._layout.worker_socket))
        cli.sendall(b"show info\n")
        answer = b"".join(iter(lambda: cli.recv(65536), b"")).decode()
    return int(dict(line.split(": ", 1) for line in answer.splitlines() if ": " in line)["Maxconn"])


async def test_a_worker_has_room_for_its_listeners_limits_and_grows_for_a_higher_one():
    async with world() as site:
        member, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, member, maxconn=150))
        assert 150 <= maxconn(site) < 1000
        lowered = await site.patch("p", load_balancer("lb", vip, member, maxconn=100, revision=2))
        assert lowered.how == "runtime"
        raised = await site.patch("p", load_balancer("lb", vip, member, maxconn=5000, revision=3))
        assert raised.how == "reload"
        assert 5000 <= maxconn(site) < 7000


async def test_a_worker_of_unlimited_listeners_grows_when_half_is_used_and_is_kept_by_the_next_daemon():
    async with world() as site:
        member, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, member))
        assert 2000 <= maxconn(site) < 3000
        supervisor = site.partitions.get("p")
        first = supervisor.worker_pid
        supervisor.report_connection_count(1000)
        await eventually(lambda: supervisor.settled_pass_count is not None and maxconn(site) >= 8000)
        grown = supervisor.worker_pid
        assert grown != first
        await site.restart()
        receipt = await site.put("p", load_balancer("lb", vip, member))
        assert (receipt.how, site.partitions.get("p").worker_pid) == ("nothing", grown)
        assert await get(vip) == "a"
        changed = await site.put("p", load_balancer("lb", vip, member, lines=("timeout client 7s",), revision=2))
        assert changed.how == "reload"
        assert maxconn(site) >= 8000


def over_tls(name: str, vip: str, member: Member, revision: int = 1) -> wire.LoadBalancerConfig:
    """A load balancer whose listener terminates TLS."""
    issued = CertificateAuthority().issue("www.example.org")
    pem = wire.File(name=f"{name}.pem", kind="certificate", content=issued.certificate + issued.private_key)
    one = load_balancer(name, vip, member, files=(pem,), revision=revision)
    frontend = msgspec.structs.replace(one.frontends[0], bind_arguments=("ssl", "crt", pem.name))
    return msgspec.structs.replace(one, frontends=(frontend,))


def sessions_of(site: World, partition: str) -> int:
    """TLS sessions that the partition's worker has been configured for."""
    text = config_path(site.partitions.get(partition)).read_text()
    found = re.search(r"tune\.ssl\.cachesize (\d+)", text)
    assert found
    return int(found[1])


def is_resumed(vip: str, version: ssl.TLSVersion) -> bool:
    """Whether a client that comes back resumes its session. Blocks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    session = None
    for _ in range(2):
        with (
            socket.create_connection((vip, VIP_PORT)) as plain,
            context.wrap_socket(plain, session=session) as connection,
        ):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            while connection.recv(4096):
                pass
            session, reused = connection.session, connection.session_reused
    return bool(reused)


async def test_workers_that_an_earlier_daemon_started_hold_their_tls_sessions():
    async with world() as site:
        member = await site.member("a")
        vips = {name: free_vip() for name in "pqr"}
        await site.put("p", over_tls("p", vips["p"], member))
        await site.put("q", over_tls("q", vips["q"], member))
        assert (sessions_of(site, "p"), sessions_of(site, "q")) == (10_000, 9_000)
        await site.restart()
        await site.put("r", over_tls("r", vips["r"], member))
        assert sessions_of(site, "r") == 8_100
        await site.put("q")
        changed = await site.put("p", load_balancer("p", vips["p"], member, revision=2))
        assert changed.how == "reload"
        await site.put("s", over_tls("s", free_vip(), member))
        assert sessions_of(site, "s") == 9_190


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_resumes_its_session_from_the_workers_memory(version):
    async with world() as site:
        member, vip = await site.member("a"), free_vip()
        await site.put("p", over_tls("p", vip, member))
        assert await asyncio.to_thread(is_resumed, vip, version)
