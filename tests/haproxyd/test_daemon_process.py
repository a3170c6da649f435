"""``evenkeel-haproxyd`` as a process, over HTTPS, with real HAProxys."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.credentials import add_agent
from evenkeel.haproxyd.disk.keys_dir import is_in_memory
from evenkeel.haproxyd.haproxy.binary import SEARCH_PATH
from evenkeel.haproxyd.haproxy.runtime.held_worker import HeldWorkerConnection
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_SERVERS_STATE, server_states
from tests.devices.services import session_of
from tests.haproxyd.daemonworld import PASSWORD, Daemon, Traffic, balancer
from tests.haproxyd.health.test_ping import may_ping
from tests.haproxyd.world import Member
from tests.services.haproxy import configured_binary
from tests.services.process import free_port
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(
    configured_binary() is None and shutil.which("haproxy", path=SEARCH_PATH) is None, reason="no haproxy here"
)

BODY_BYTES_MAX = 500_000


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as folder:  # pytest's are too long for Unix sockets
        made = Daemon(Path(folder), max_body_bytes=BODY_BYTES_MAX)
        try:
            await made.start()
            yield made
        finally:
            made.clean_up()


@pytest.fixture
async def members() -> AsyncIterator[tuple[Member, Member]]:
    pair = Member("one"), Member("two")
    for member in pair:
        member.port = free_port()  # none that the kernel gives to somebody else while the member is away
        await member.start()
    yield pair
    for member in pair:
        await member.stop()


def change(*balancers: wire.LoadBalancerConfig, epoch: int = 1) -> wire.PartitionChange:
    return wire.PartitionChange(epoch=epoch, session_id=session_of(epoch), load_balancers=balancers)


def haproxy_pids(daemon: Daemon) -> list[int]:
    """Masters and workers of a daemon's HAProxys."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        # a binary of a newer Debian is started by that release's loader
        if any(word.endswith(b"haproxy") for word in words[:3]) and str(daemon.folder).encode() in b" ".join(words):
            found.append(int(process.name))
    return sorted(found)


async def test_a_member_that_dies_is_reported_by_an_event_and_comes_back_by_another(
    daemon: Daemon, members: tuple[Member, Member]
) -> None:
    async with daemon.client() as client:
        await client.patch("p1", change(balancer(free_port(), *members)))
        before = (await client.ask(wire.DaemonObservation, "GET", "/v1/observation")).event
        for up in (False, True):
            await (members[0].start() if up else members[0].stop())
            events = await client.ask(wire.DaemonEvents, "GET", f"/v1/events?after={before}&wait=60")
            (event,) = events.events
            assert (event.partition, event.backend, event.server, event.up) == ("p1", "back1", "one", up)
            assert ("reason: Layer4 check passed" if up else "reason: Layer4 connection problem") in event.text
            before = events.newest
            servers = (await client.observe("p1")).backends[0].servers
            assert {server.name: server.up for server in servers} == {"one": up, "two": True}


async def test_members_that_all_fail_while_the_daemon_is_busy_are_reported_by_events_or_as_missed(
    daemon: Daemon, members: tuple[Member, Member]
) -> None:
    """HAProxy drops its line about a member when the daemon's socket has no room for it."""
    names = [f"s{number}" for number in range(40)]
    whole = balancer(free_port(), members[0])
    one = whole.backends[0].servers[0]
    servers = tuple(msgspec.structs.replace(one, name=name) for name in names)
    backend = msgspec.structs.replace(whole.backends[0], servers=servers)
    async with daemon.client() as client:
        await client.patch("p1", change(msgspec.structs.replace(whole, backends=(backend,))))
        before = (await client.ask(wire.DaemonObservation, "GET", "/v1/observation")).event

        (worker,) = daemon.run_dir.glob("*.w")

        async def all_failed() -> bool:
            held, (answer,) = await HeldWorkerConnection.open(worker, SHOW_SERVERS_STATE)
            held.close()
            states = server_states(answer)
            return len(states) == len(names) and not any(state.up for state in states.values())

        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGSTOP)
        await members[0].stop()
        # settled: HAProxy sends its lines when a server fails, so all are sent or dropped by now
        await eventually(all_failed)
        daemon.process.send_signal(signal.SIGCONT)
        failed: set[str] = set()
        while not failed.issuperset(names):
            events = await client.ask(wire.DaemonEvents, "GET", f"/v1/events?after={before}&wait=60")
            if events.missed:
                break
            assert events.events, "no event for a minute, though some members that failed had none"
            failed |= {event.server for event in events.events if not event.up}
            before = events.newest
        assert not any(server.up for server in (await client.observe("p1")).backends[0].servers)


async def test_haproxy_and_its_counters_outlive_a_daemon_that_is_killed(
    daemon: Daemon, members: tuple[Member, Member]
) -> None:
    port = free_port()
    async with daemon.client() as client:
        await client.patch("p1", change(balancer(port, *members)))
    pids = haproxy_pids(daemon)
    assert pids
    async with Traffic(port).flowing() as traffic:
        await eventually(lambda: traffic.answered > 100)
        daemon.kill()
        served = traffic.answered
        await eventually(lambda: traffic.answered > served + 100)
        await daemon.start()
        async with daemon.client() as client:
            # a reload, so that a worker is replaced too
            moved = msgspec.structs.replace(balancer(port, *members, revision=2), note="again")
            other = msgspec.structs.replace(
                balancer(free_port(), revision=1),
                id="lb2",
                frontends=(wire.Frontend(name="front2", binds=(wire.Bind(address="127.0.0.1", port=free_port()),)),),
                backends=(),
            )
            receipt = await client.patch("p1", change(moved, other))
            assert receipt.how == "reload"
        served = traffic.answered
        await eventually(lambda: traffic.answered > served + 100)
    assert traffic.failed == []
    assert pids[0] in haproxy_pids(daemon), "the master is the same process"
    async with daemon.client() as client:

        async def continuous() -> bool:
            """Each answer is 41 bytes and more on the wire: all requests of all workers are in the total."""
            front = (await client.observe("p1")).frontends[0]
            return front.active_connections == 0 and front.bytes_out >= 41 * traffic.answered > 0

        await eventually(continuous)


async def test_a_daemon_that_is_ordered_to_stop_leaves_haproxy_alone(
    daemon: Daemon, members: tuple[Member, Member]
) -> None:
    port = free_port()
    async with daemon.client() as client:
        await client.patch("p1", change(balancer(port, *members)))
    pids = haproxy_pids(daemon)
    daemon.terminate()
    assert not daemon.endpoint_file.exists()
    assert haproxy_pids(daemon) == pids
    async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}/") as answer:
        assert answer.status == 200
    await asyncio.to_thread(subprocess.run, daemon.command("--stop-haproxy"), check=True, timeout=120)
    await eventually(lambda: not haproxy_pids(daemon))


async def test_a_frozen_agents_late_puts_are_refused(daemon: Daemon, members: tuple[Member, Member]) -> None:
    port = free_port()
    add_agent(daemon.credentials, "agent-2", PASSWORD)
    async with daemon.client() as old, daemon.client("agent-2") as new:
        await old.patch("p1", change(balancer(port, *members)))
        assert (
            await new.ask(wire.GuardState, "POST", "/v1/partitions/p1/guard", wire.GuardState(epoch=2, session_id="s"))
        ).epoch == 2
        for number in range(20):
            late = change(balancer(port, members[0], revision=number + 2))
            status, refusal = await old.refused("PUT", "/v1/partitions/p1", late)
            assert (status, refusal.code, refusal.epoch) == (409, "stale_owner", 2)
        kept = await new.ask(wire.PartitionConfig, "GET", "/v1/partitions/p1")
        assert (kept.epoch, kept.load_balancers) == (2, (balancer(port, *members),))
        entries = (await new.ask(wire.Journal, "GET", "/v1/journal")).entries
    assert [entry.agent for entry in entries if entry.accepted] == ["agent-1", "agent-1", "agent-2"]
    assert [(entry.how, entry.epoch) for entry in entries if not entry.accepted] == [("stale_owner", 1)] * 20
    daemon.kill()
    await daemon.start()
    async with daemon.client() as old:
        assert (await old.refused("PUT", "/v1/partitions/p1", change()))[1].epoch == 2, "the guard is on disk"


async def test_wrong_password_and_unknown_fields_are_refused(daemon: Daemon) -> None:
    async with daemon.client(password="wrong") as client:
        assert (await client.refused("GET", "/v1"))[0] == 401
    async with daemon.client() as client:
        status, refusal = await client.refused("PUT", "/v1/partitions/p1", b'{"epoch": 1, "colour": "red"}')
        assert (status, refusal.code) == (400, "invalid")
        assert "colour" in refusal.reason
        status, refusal = await client.refused("PUT", "/v1/partitions/p1", b" " * (BODY_BYTES_MAX + 1))
        assert (status, refusal.code) == (413, "too_large")
        assert (await client.ask(wire.PartitionList, "GET", "/v1/partitions")).partitions == ()
    log = (daemon.folder / "log").read_text()
    assert PASSWORD not in log
    assert "wrong credentials" in log


async def test_daemon_serves_tls_only_with_a_verifiable_certificate(daemon: Daemon) -> None:
    url = daemon.endpoint_file.read_text().strip()
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await http.get(url)
        with pytest.raises(aiohttp.ClientError):
            await http.get(url.replace("https", "http"))


async def test_a_second_daemon_on_the_same_state_is_refused(daemon: Daemon) -> None:
    done = await asyncio.to_thread(
        subprocess.run, daemon.command(), check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "another daemon uses it" in done.stderr
    async with daemon.client() as client:
        assert (await client.ask(wire.About, "GET", "/v1")).name == "host-1", "the first is not disturbed"


SILENT = "127.0.0.99"
SILENCED = f"""
import sys
from evenkeel.cmd.haproxyd import main
from evenkeel.haproxyd.health.icmp import IcmpPing
ping = IcmpPing.__call__
async def answered(self, address, seconds):
    return address != "{SILENT}" and await ping(self, address, seconds)
IcmpPing.__call__ = answered
sys.exit(main())
"""
"""All of loopback answers, and other addresses that surely do not are no servers'."""


@pytest.mark.skipif(not may_ping(), reason="this host lets nobody ping without CAP_NET_RAW")
async def test_servers_are_checked_by_icmp_and_the_verdict_outlives_a_reload(daemon: Daemon) -> None:
    there, gone = Member("there"), Member("gone")
    there.port = gone.port = 9
    pinged = balancer(free_port(), there, gone, ping=wire.Ping(delay=1, timeout=1, rise=1, fall=1))
    servers = (
        pinged.backends[0].servers[0],
        msgspec.structs.replace(pinged.backends[0].servers[1], address=SILENT),
    )
    backend = msgspec.structs.replace(pinged.backends[0], servers=servers)
    pinged = msgspec.structs.replace(pinged, backends=(backend,))
    daemon.terminate()
    daemon.program = ("-c", SILENCED)
    await daemon.start()

    async with daemon.client() as client:

        async def verdicts() -> dict[str, tuple[bool, bool]]:
            backends = (await client.observe("p1")).backends
            return {server.name: (server.up, server.checked) for server in backends[0].servers}

        async def judged() -> bool:
            return await verdicts() == {"there": (True, True), "gone": (False, True)}

        await client.patch("p1", change(pinged))
        await eventually(judged)
        frontend = msgspec.structs.replace(pinged.frontends[0], lines=(*pinged.frontends[0].lines, "timeout client 9s"))
        again = msgspec.structs.replace(pinged, revision=2, frontends=(frontend,))
        assert (await client.patch("p1", change(again))).how == "reload"
        await eventually(judged)


def core_limit(pid: int) -> tuple[str, ...]:
    """Soft and hard."""
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    (line,) = [line for line in limits if line.startswith("Max core file size")]
    return tuple(line.split()[4:6])


async def test_neither_the_daemon_nor_haproxy_leaves_a_core_dump_and_keys_are_in_memory(
    daemon: Daemon, members: tuple[Member, Member]
) -> None:
    async with daemon.client() as client:
        await client.patch("p1", change(balancer(free_port(), *members)))
        assert "keys" not in (await client.ask(wire.About, "GET", "/v1")).note
    assert {core_limit(pid) for pid in (daemon.process.pid, *haproxy_pids(daemon))} == {("0", "0")}


async def test_keys_that_are_on_disk_are_reported(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, keys_dir=tmp_path / "keys")
    try:
        await daemon.start()
        async with daemon.client() as client:
            note = (await client.ask(wire.About, "GET", "/v1")).note
        assert is_in_memory(tmp_path) or f"private keys are on disk, because {tmp_path / 'keys'} is not" in note
    finally:
        daemon.clean_up()
