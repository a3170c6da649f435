"""What the daemon needs is taken away under it, while it and its HAProxys run: it is put back, and traffic goes on."""

import asyncio
import os
import select
import shutil
import signal
from pathlib import Path

import msgspec
import pytest

from evenkeel.core.kit.errors import StaleOwner
from evenkeel.haproxyd.disk import storage as storage_module
from evenkeel.haproxyd.partition.guard import NotPartitionOwner
from tests.haproxyd.world import (
    Traffic,
    World,
    configured_binary,
    errors,
    files_of,
    free_vip,
    get,
    load_balancer,
    world,
)
from tests.waiting import eventually


async def mended(site: World, name: str) -> None:
    """Looked at, and all was well."""
    supervisor = site.partitions.get(name)

    async def well() -> bool:
        await site.partitions.restore_missing_files()
        return supervisor.describe_missing_files() == "" == supervisor.problem and supervisor._task.done()

    await eventually(well)


async def still_mended(site: World, name: str) -> None:
    """Nothing that ends later takes away what was put back."""
    supervisor = site.partitions.get(name)
    await eventually(lambda: len(haproxys(site)) == 1)
    assert (
        supervisor.describe_missing_files() == ""
    )  # settled: nothing may be missing when the last other process has ended
    pid = supervisor.master_pid
    await supervisor.cli.processes()
    assert supervisor.master_pid == pid


def haproxys(site: World) -> list[Path]:
    """Masters that run in this world."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if "-W" in words and any(str(site.settings.state_dir) in word for word in words):
            found.append((process, parent))
    pids = {process.name for process, _ in found}
    return [process for process, parent in found if parent not in pids]


@pytest.mark.parametrize("what", ["folder", "sockets", "both"])
async def test_a_haproxy_whose_working_directory_is_gone_is_put_right(what: str) -> None:
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip, other = free_vip(), free_vip()
        await site.put("p", load_balancer("lb", vip, a), load_balancer("other", other, b), epoch=5)
        supervisor = site.partitions.get("p")
        async with Traffic(vip) as traffic:
            await traffic.more(50)
            await eventually(lambda: supervisor._task.done())  # what follows the answer is written
            if what in ("folder", "both"):
                shutil.rmtree(files_of(supervisor).directory)
            if what in ("sockets", "both"):
                shutil.rmtree(site.settings.run_dir)
            await mended(site, "p")
            await traffic.more(50)
            changed = load_balancer("lb", vip, b, revision=2, lines=("timeout client 9s",))
            receipt = await site.patch("p", changed, epoch=5)
            assert (receipt.how, errors(receipt)) == ("reload", {})
            await still_mended(site, "p")
        assert [await get(one) for one in (vip, other)] == ["b", "b"]
        if what == "folder":  # without its sockets it cannot hand over its listeners, and lets go of them first
            assert traffic.failures == []
        await site.restart()
        supervisor = site.partitions.get("p")
        assert (supervisor.epoch, {one.revision for one in supervisor.held.values()}) == (5, {1, 2})


async def test_a_change_finds_by_itself_that_sockets_are_gone() -> None:
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        shutil.rmtree(site.settings.run_dir)
        receipt = await site.patch("p", load_balancer("lb", vip, a, revision=2, lines=("timeout client 9s",)))
        assert (receipt.how, errors(receipt)) == ("reload", {})
        assert await get(vip) == "a"


@pytest.mark.parametrize("how", ["removed", "older copy"])
async def test_a_state_directory_taken_away_is_written_again_and_agents_are_to_put_everything(how: str) -> None:
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a), epoch=5)
        state, copy = site.settings.state_dir, site.directory / "copy"
        await site.restart()  # the copy is of an earlier life
        shutil.copytree(state, copy)
        await site.restart()
        await site.patch("p", load_balancer("lb", vip, b, revision=2), epoch=6)
        life = site.partitions.identity
        before = (life.installation_id, life.state_id)
        await eventually(lambda: site.partitions.get("p")._task.done())  # what follows the answer is written
        shutil.rmtree(state)
        if how == "older copy":
            shutil.copytree(copy, state)
        await mended(site, "p")
        await eventually(lambda: (life.installation_id, life.state_id != before[1]) == (before[0], True))
        with pytest.raises(NotPartitionOwner):
            await site.change("p", complete=False, epoch=6, state_id=before[1])
        with pytest.raises(StaleOwner):
            await site.put("p", epoch=5)
        assert await get(vip) == "b"
        life = site.partitions.identity.state_id
        await site.partitions.restore_missing_files()
        assert site.partitions.identity.state_id == life
        await site.restart()
        supervisor = site.partitions.get("p")
        assert (supervisor.epoch, supervisor.held["lb"].revision) == (6, 2)


async def test_a_haproxy_of_which_everything_was_lost_goes_on_until_its_owner_has_said_what_it_is_to_do() -> None:
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip, other = free_vip(), free_vip()
        both = load_balancer("lb", vip, a), load_balancer("other", other, b)
        await site.put("p", *both)
        await eventually(lambda: site.partitions.get("p")._task.done())
        async with Traffic(vip) as traffic, Traffic(other) as more:
            await site.partitions.close()
            shutil.rmtree(site.settings.state_dir)
            await site.restart()
            assert site.partitions.names() == ()
            await site.take_over("p", 1)
            await site.partitions.restore_missing_files()
            await traffic.more(20)
            receipt = await site.put("p", *both)
            assert (receipt.how, errors(receipt)) == ("reload", {})
            await traffic.more(20)
            await more.more(20)
            assert (
                site.partitions.get("p").describe_missing_files() == ""
            )  # settled: nothing may be missing, and the put is over
        assert (traffic.failures, more.failures) == ([], [])


async def test_one_of_which_everything_was_lost_ends_when_its_owner_wants_nothing_of_it() -> None:
    async with world() as site:
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, await site.member("a")))
        await eventually(lambda: site.partitions.get("p")._task.done())
        await site.partitions.close()
        shutil.rmtree(site.settings.state_dir)
        await site.restart()
        await site.put("p")
        await eventually(lambda: not haproxys(site))
        assert await get(vip) == "refused"  # settled: without a process nobody listens


@pytest.mark.parametrize("owner_comes", [True, False])
async def test_an_older_copy_that_a_daemon_begins_with_is_carried_out_only_if_no_owner_comes(owner_comes: bool) -> None:
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip, other = free_vip(), free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        await eventually(lambda: site.partitions.get("p")._task.done())
        copy = site.directory / "copy"
        shutil.copytree(site.settings.state_dir, copy, symlinks=True)
        newer = load_balancer("lb", vip, b, revision=2), load_balancer("other", other, b)
        await site.put("p", *newer)
        async with Traffic(other) as traffic:
            await site.partitions.close()
            shutil.rmtree(site.settings.state_dir)
            shutil.copytree(copy, site.settings.state_dir, symlinks=True)
            wait = 60.0 if owner_comes else 0.1
            site.settings = msgspec.structs.replace(site.settings, owner_wait_seconds=wait)  # of the next daemon
            await site.restart()
            if owner_comes:
                await site.partitions.restore_missing_files()
                assert site.partitions.get("p").held.keys() == {"lb"}
                assert await get(vip) == "b"
                assert not errors(await site.put("p", *newer))
                await traffic.more(20)
        if owner_comes:
            assert traffic.failures == []
            return

        async def older() -> bool:
            return await get(vip) == "a" and await get(other) == "refused"

        await eventually(older)


async def test_repair_without_effect_is_not_repeated_at_once() -> None:
    async with world() as site:
        await site.put("p", load_balancer("lb", free_vip(), await site.member("a")))
        supervisor = site.partitions.get("p")
        await eventually(lambda: supervisor.settled_pass_count is not None)
        before = supervisor.settled_pass_count
        for _ in range(3):
            supervisor.repair_drift(("something", "more"))
            await eventually(lambda: supervisor.settled_pass_count is not None)
        assert (
            supervisor.settled_pass_count == before + 1
        )  # settled: a pass counts when it ends, and there may be only one
        supervisor.repair_drift(("another",))
        await eventually(lambda: supervisor.settled_pass_count == before + 2)


@pytest.fixture
def slow_haproxy(tmp_path: Path) -> tuple[Path, Path]:
    """A HAProxy that begins only once a file exists, and that file. It has no sockets before."""
    real, program, begins = configured_binary() or shutil.which("haproxy"), tmp_path / "haproxy", tmp_path / "begins"
    if real is None:
        pytest.skip("no haproxy on this machine")
    wait = f'case "$*" in *" -S "*) while [ ! -e {begins} ]; do sleep 0.01; done;; esac'
    program.write_text(f'#!/bin/sh\n{wait}\nexec {real} "$@"\n')
    program.chmod(0o700)
    return program, begins


async def test_a_haproxy_that_is_being_started_has_lost_nothing(slow_haproxy: tuple[Path, Path]) -> None:
    program, begins = slow_haproxy
    async with world(haproxy=program) as site:
        a, vip = await site.member("a"), free_vip()
        await site.take_over("p", 1)
        first = asyncio.create_task(site.put("p", load_balancer("lb", vip, a)))
        supervisor = site.partitions.get("p")
        await eventually(lambda: supervisor.is_running)
        site.news.clear()
        await site.partitions.restore_missing_files()
        begins.touch()
        receipt = await first
        await eventually(lambda: supervisor._task.done())
        # settled: the receipt came when it served; no news may ever come
        assert (errors(receipt), await get(vip), site.news) == ({}, "a", [])
        changed = await site.put("p", load_balancer("lb", vip, a, revision=2))
        assert changed.repaired == {}


async def test_a_haproxy_that_has_just_ended_has_lost_nothing() -> None:
    async with world() as site:
        a, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        process = site.partitions.get("p")._runner.process
        descriptor = os.pidfd_open(process.master_pid)
        os.kill(process.master_pid, signal.SIGTERM)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        assert ended.poll(60_000)  # the event loop, which this blocks, does not know it yet
        os.close(descriptor)
        process._master_socket.unlink(missing_ok=True)
        assert (process.is_running, process.reload_blocker()) == (True, "")


async def test_a_guard_that_is_being_written_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world() as site:
        await site.take_over("p", 1)
        files, write, found = files_of(site.partitions.get("p")), storage_module.write_file, []

        def write_slowly(*details: object, **how: object) -> None:
            write(*details, **how)
            found.append(files.describe_missing_files())

        monkeypatch.setattr(storage_module, "write_file", write_slowly)
        await site.take_over("p", 2)
        assert set(found) == {""}
        assert files.describe_missing_files() == ""


async def test_nothing_is_reported_as_put_back_before_a_partition_has_begun() -> None:
    async with world() as site:
        await site.take_over("p", 1)
        supervisor = site.partitions.get("p")
        await eventually(lambda: supervisor._task is None or supervisor._task.done())
        site.news.clear()
        supervisor._started = False
        files_of(supervisor).config_dir.rmdir()
        await site.partitions.restore_missing_files()
        assert site.news == []
        supervisor._started = True
        await mended(site, "p")
        put_back = ["missing files or directories are restored"]
        await eventually(lambda: [event.text for event in site.news] == put_back)
