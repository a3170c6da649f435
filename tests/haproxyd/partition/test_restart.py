"""The daemon may end at any moment; HAProxy goes on, and the next daemon finishes what the disk says."""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.binary import find_binary
from evenkeel.haproxyd.haproxy.runtime.master_cli import HaproxyProcesses, MasterCli
from evenkeel.haproxyd.partition.change_queue import PartitionBusy
from evenkeel.haproxyd.partition.supervisor import PartitionSupervisor
from tests.haproxyd.world import Traffic, World, errors, free_vip, get, load_balancer, server, world
from tests.services.haproxy import configured_binary
from tests.waiting import eventually

CHANGER = """
import asyncio, sys
import msgspec
from pathlib import Path
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.manager import PartitionManager
from evenkeel.haproxyd.settings import DaemonSettings

async def main():
    settings = DaemonSettings(name="host-1", state_dir=Path(sys.argv[1]), run_dir=Path(sys.argv[2]),
                              haproxy=Path(sys.argv[3]) if sys.argv[3] else None,
                              addresses=AddressRules(allow_loopback=True))
    partitions = PartitionManager(settings)
    await partitions.start()
    wishes = msgspec.json.decode(sys.argv[4], type=list[wire.LoadBalancerConfig])
    guard = await partitions.take_over("p", wire.GuardState(epoch=1, session_id="session-1"))
    while True:
        for config in wishes:
            change = wire.PartitionChange(
                epoch=1, session_id="session-1", state_id=guard.state_id, load_balancers=(config,)
            )
            receipt = await partitions.change("p", change, complete=False)
            print(receipt.how, flush=True)

asyncio.run(main())
"""


async def test_a_daemon_that_comes_back_finds_its_haproxy():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        pid = site.partitions.get("p").worker_pid
        async with Traffic(vip) as traffic:
            for _ in range(3):
                await site.restart()
                await traffic.more(50)
        assert traffic.failures == []
        assert site.partitions.get("p").worker_pid == pid
        assert (await site.put("p", load_balancer("lb", vip, a))).how == "nothing"


async def test_a_daemon_that_leaves_lets_haproxy_go_on():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        await site.partitions.close()
        assert await get(vip) == "a"
        await site.restart()


async def test_a_haproxy_that_died_meanwhile_is_started():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        await site.partitions.close()
        os.kill(site.partitions.get("p")._runner.process.master_pid, signal.SIGKILL)

        async def refused() -> bool:
            return await get(vip) == "refused"

        await eventually(refused)
        await site.restart()
        assert await get(vip) == "a"


async def restarted(site: World) -> tuple[str, PartitionSupervisor]:
    """The VIP of a load balancer, and its partition's supervisor, right after the daemon's start."""
    vip = free_vip()
    await site.put("p", load_balancer("lb", vip, await site.member("a")))
    await eventually(lambda: site.partitions.get("p")._task.done())
    await site.restart()
    return vip, site.partitions.get("p")


async def test_a_restarted_daemon_queries_the_master_once_and_notices_a_reload_by_another_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world() as site:
        queries: list[str] = []
        query = MasterCli.processes

        async def counted(cli: MasterCli) -> HaproxyProcesses:
            queries.append("show proc")
            return await query(cli)

        monkeypatch.setattr(MasterCli, "processes", counted)
        vip, supervisor = await restarted(site)
        queries.clear()
        await site.restart()
        supervisor = site.partitions.get("p")
        wanted = next(iter(supervisor.held.values()))
        for _ in range(3):
            assert (await site.put("p", wanted)).how == "nothing"
        assert len(queries) == 1, "at its adoption"
        before = supervisor.worker_pid
        os.kill(supervisor.master_pid, signal.SIGUSR2)
        # settled: the put is the action of which this is the outcome
        await eventually(lambda: other_worker(supervisor, before))
        assert (await site.put("p", wanted)).how == "reload"
        assert await get(vip) == "a"


async def other_worker(supervisor: PartitionSupervisor, before: int | None) -> bool:
    try:
        return f"Pid: {before}\n" not in await supervisor.cli.command("show info")
    except HaproxyDown:
        return False


async def test_a_haproxy_that_ends_while_files_are_restored_before_its_owner_has_come_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world() as site:
        vip, supervisor = await restarted(site)
        written = slow_restoring(supervisor, monkeypatch)
        os.kill(supervisor.master_pid, signal.SIGKILL)
        await eventually(lambda: site.news and supervisor._timer is None)  # the restart was due, during the pass
        written.set()
        await eventually(lambda: len(site.news) == 2)
        assert await get(vip) == "a"  # settled: it is told to be up when it listens


async def test_the_wait_for_the_owner_ends_while_files_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world() as site:
        _, supervisor = await restarted(site)
        supervisor._set_timer(0.0)  # as at its start, but not before the files are being restored
        written = slow_restoring(supervisor, monkeypatch)
        await eventually(lambda: supervisor._timer is None)
        written.set()
        await eventually(lambda: supervisor.settled_pass_count == 1)


def slow_restoring(supervisor: PartitionSupervisor, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Restores the files; this takes until the event is set."""
    rewrite_files, written = supervisor._applier.rewrite_files, asyncio.Event()

    async def slow() -> None:
        await rewrite_files()
        await written.wait()

    monkeypatch.setattr(supervisor._applier, "rewrite_files", slow)
    supervisor.restore("conf is gone")
    return written


async def test_a_haproxy_that_is_too_busy_to_answer_at_once_is_kept():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        site.settings = msgspec.structs.replace(site.settings, command_timeout_seconds=0.2)  # of the next daemon
        master = site.partitions.get("p").master_pid
        os.kill(master, signal.SIGSTOP)  # as during a reload, it lives and does not answer
        try:
            restart = asyncio.create_task(site.restart())
            await asyncio.wait({restart}, timeout=0.5)
            assert not restart.done()
        finally:
            os.kill(master, signal.SIGCONT)
        await restart
        assert site.partitions.get("p").master_pid == master
        assert await get(vip) == "a"


async def test_a_haproxy_that_is_started_again_does_not_believe_what_was_known_of_servers_at_the_last_reload():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        checked = server(a, arguments=("check", "inter", "1h"))
        await site.put("p", load_balancer("lb", vip, checked))
        supervisor = site.partitions.get("p")
        await supervisor.cli.command("set server lb_b/a health down")
        await site.patch("p", load_balancer("lb", vip, checked, lines=("timeout client 9s",)))
        assert await get(vip) == "503", "what is known of servers survives a reload"
        os.kill(supervisor.master_pid, signal.SIGKILL)
        await eventually(lambda: len(site.news) == 2)
        assert await get(vip) == "a"  # settled: it is told to be up when it listens


async def test_without_a_program_haproxys_go_on_and_those_that_end_are_started_when_there_is_one_again():
    async with world(restart_max_seconds=0.2) as site:
        a = await site.member("a")
        program = site.directory / "haproxy"
        program.symlink_to((await find_binary(configured_binary())).path)
        site.settings = msgspec.structs.replace(site.settings, haproxy=program)
        await site.restart()
        vips = {name: free_vip() for name in ("goes_on", "ends")}
        for name, vip in vips.items():
            await site.put(name, load_balancer(name, vip, a))
        program.rename(site.directory / "elsewhere")
        await site.restart()
        assert site.partitions.problem == f"haproxy = {program}: no such program"
        assert site.partitions.names() == ("ends", "goes_on")
        supervisor = site.partitions.get("ends")
        os.kill(supervisor.master_pid, signal.SIGKILL)
        # settled: the neighbour may never be touched; the guard is an action
        await eventually(lambda: "no such program" in supervisor.problem)
        assert await get(vips["goes_on"]) == "a"
        assert (await site.take_over("ends", 2)).epoch == 2
        (site.directory / "elsewhere").rename(program)
        await site.partitions.maintain()
        assert site.partitions.problem == ""
        await eventually(lambda: not supervisor.problem)
        assert await get(vips["ends"]) == "a"  # settled: it is told to be up when it listens


async def test_changes_wait_until_the_daemon_has_looked_what_runs():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        site.partitions.get("p")._started = False
        with pytest.raises(PartitionBusy, match="the daemon is beginning"):
            await site.put("p", load_balancer("lb", vip, a))
        assert (await site.take_over("p", 2)).epoch == 2


async def test_a_haproxy_whose_socket_was_removed_is_replaced():
    async with world(restart_max_seconds=0.2) as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        site.settings = msgspec.structs.replace(site.settings, start_timeout_seconds=2.0)  # of the next daemon
        old = site.partitions.get("p").master_pid
        shutil.rmtree(site.settings.run_dir)
        await site.restart()
        # settled: its problem ends when it listens
        await eventually(lambda: not site.partitions.get("p").problem)  # it may take more than one start
        assert await get(vip) == "a"
        assert site.partitions.get("p").master_pid != old


@pytest.mark.timeout(300)
async def test_kill_9_in_the_middle_of_changes_loses_no_request():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        first = load_balancer("lb", vip, a)
        await site.put("p", first)
        await site.partitions.close()
        wishes = [
            load_balancer("lb", vip, a, b, revision=2),
            load_balancer("lb", vip, a, b, revision=3, lines=("timeout client 9s",)),
            load_balancer("lb", vip, server(a, weight=9), revision=4, lines=("timeout client 9s",)),
            load_balancer("lb", vip, b, revision=5),
        ]
        async with Traffic(vip, keep_alive=2, one_shot=2) as traffic:
            for changes in (1, 2, 3, 4, 6):
                await changer_killed_after(changes, site, wishes)
                await traffic.more(20)
            await site.restart()
            await traffic.more(50)
        assert traffic.failures == []
        supervisor = site.partitions.get("p")
        assert supervisor.held["lb"].revision in (2, 3, 4, 5)
        assert not errors(await site.put("p", supervisor.held["lb"]))
        assert (await site.put("p", supervisor.held["lb"])).how == "nothing"


async def changer_killed_after(changes: int, site, wishes: list[wire.LoadBalancerConfig]) -> None:
    """A daemon that changes things, killed while it is at the next one."""
    binary = str(site.settings.haproxy or "")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHANGER, site.settings.state_dir, site.settings.run_dir, binary,
        msgspec.json.encode(wishes).decode(),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    try:
        for _ in range(changes):
            assert await process.stdout.readline()
    finally:
        process.kill()
        await process.communicate()


async def test_stick_tables_survive_reloads():
    async with world() as site:
        members = [await site.member(name) for name in "abcd"]
        vip = free_vip()
        sticky = ("stick-table type ip size 10k expire 1h peers evenkeel", "stick on src")

        def wanted(seconds: int) -> wire.LoadBalancerConfig:
            return load_balancer("lb", vip, *members, backend_lines=sticky, lines=(f"timeout client {seconds}s",))

        await site.put("p", wanted(10))
        supervisor = site.partitions.get("p")
        await get(vip)
        before = await supervisor.cli.command("show table lb_b")
        assert "used:1" in before

        async def old_enough() -> bool:
            """Tables are taught to the next worker only some 5 s after a cold start."""
            info = await supervisor.cli.command("show info")
            return int(info.partition("Uptime_sec: ")[2].split()[0]) >= 8

        await eventually(old_enough)
        chosen = await get(vip)
        await site.put("p", wanted(11))

        async def taught() -> bool:
            return "used:1" in await supervisor.cli.command("show table lb_b")

        await eventually(taught)
        assert {await get(vip) for _ in range(8)} == {chosen}  # settled: the table that has it is the one that is used
