"""A state directory that takes no writes, because its disk is full or read-only: what is on it already is enough to
start HAProxy.
"""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenkeel.haproxyd.daemon import lock_state_dir
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import PartitionFailed
from tests.haproxyd.world import World, config_path, files_of, free_vip, get, load_balancer, world
from tests.waiting import eventually


class StateDisk:
    """A small file system of its own for the state directory."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mounted"
        self.path.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.path], capture_output=True, check=False
        )
        if made.returncode:
            pytest.skip("no file system can be mounted here")
        self._filler = self.path / "filler"
        self._covered = False

    def refuse_writes(self, number: int) -> None:
        if number == errno.EROFS:
            # a mount over the other one: HAProxy has its log open for writing there
            subprocess.run(["mount", "--bind", self.path, self.path], check=True)
            subprocess.run(["mount", "-o", "remount,bind,ro", self.path], check=True)
            self._covered = True
            return
        with pytest.raises(OSError, match="No space"), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def allow_writes(self) -> None:
        if self._covered:
            subprocess.run(["umount", "-l", self.path], check=True)
            self._covered = False
        self._filler.unlink(missing_ok=True)

    def end(self) -> None:
        self.allow_writes()
        subprocess.run(["umount", "-l", self.path], check=True)


class RefusingDisk:
    """Calls of this process that write below the state directory fail; for hosts where nothing can be mounted."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "injected"
        self._patch = pytest.MonkeyPatch()

    def refuse_writes(self, number: int) -> None:
        def refusing(call, is_write=lambda *arguments: True):
            def refuse(path, *arguments, **named):
                if Path(os.fsdecode(path)).is_relative_to(self.path) and is_write(*arguments):
                    raise OSError(number, os.strerror(number), path)
                return call(path, *arguments, **named)

            return refuse

        self._patch.setattr(os, "open", refusing(os.open, lambda flags, *_: flags & os.O_ACCMODE != os.O_RDONLY))
        if number == errno.EROFS:
            self._patch.setattr(os, "unlink", refusing(os.unlink))

    def allow_writes(self) -> None:
        self._patch.undo()

    def end(self) -> None:
        self._patch.undo()


@pytest.fixture(params=[StateDisk, RefusingDisk], ids=["mounted", "injected"])
def disk(request: pytest.FixtureRequest) -> Iterator[StateDisk | RefusingDisk]:
    folder = Path(tempfile.mkdtemp(prefix="ek", dir=SHARED_MEMORY_DIR))
    try:
        made = request.param(folder)
        try:
            yield made
        finally:
            made.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


FULL, READ_ONLY = errno.ENOSPC, errno.EROFS


async def kill_haproxy(site: World) -> None:
    """Kill the partition's HAProxy, as the kernel does when memory runs out."""
    supervisor = site.partitions.get("p")
    for pid in (supervisor.worker_pid, supervisor._runner.process.master_pid):
        os.kill(pid, signal.SIGKILL)


async def serves(site: World, vip: str) -> bool:
    return await get(vip) == "a" and not site.partitions.get("p").problem


async def settled(site: World) -> None:
    """What follows the answer is done."""
    await eventually(lambda: site.partitions.get("p")._task.done())


async def put_one(site: World, vip: str) -> None:
    await site.put("p", load_balancer("lb", vip, await site.member("a")))
    await settled(site)


async def put_reloaded(site: World, vip: str) -> None:
    """A HAProxy that has been reloaded, so that there are server states, too."""
    await put_one(site, vip)
    (held,) = site.partitions.get("p").held.values()
    (frontend,) = held.frontends
    changed = replace(frontend, lines=("timeout client 9s", *frontend.lines))
    assert (await site.put("p", replace(held, revision=2, frontends=(changed,)))).how == "reload"
    await settled(site)


@pytest.mark.parametrize("number", [FULL, READ_ONLY])
async def test_a_haproxy_that_dies_is_started_from_what_is_on_disk(disk, number: int) -> None:
    async with world(state_dir=disk.path, restart_max_seconds=0.2) as site:
        vip = free_vip()
        await put_reloaded(site, vip)
        text = config_path(site.partitions.get("p")).read_text()
        disk.refuse_writes(number)
        await kill_haproxy(site)
        await eventually(lambda: len(site.news) == 2)
        assert [event.up for event in site.news] == [False, True]
        await eventually(lambda: serves(site, vip))
        # settled: the file is written before haproxy serves
        assert config_path(site.partitions.get("p")).read_text() == text
        disk.allow_writes()


@pytest.mark.parametrize("number", [FULL, READ_ONLY])
async def test_a_daemon_that_begins_starts_what_is_on_disk(disk, number: int) -> None:
    async with world(state_dir=disk.path) as site:
        vip = free_vip()
        await put_reloaded(site, vip)
        await site.partitions.close()
        disk.refuse_writes(number)
        await kill_haproxy(site)
        await site.restart()
        assert await serves(site, vip)
        disk.allow_writes()


def test_one_daemon_can_lock_a_read_only_state_directory(disk) -> None:
    lock_state_dir(disk.path).close()
    disk.refuse_writes(READ_ONLY)
    with lock_state_dir(disk.path), pytest.raises(ValueError, match="another daemon uses it"):
        lock_state_dir(disk.path)
    disk.allow_writes()


async def started_unrecorded(site, disk) -> str:
    """The VIP of a load balancer whose HAProxy was killed, and started again while the disk was full."""
    vip = free_vip()
    await put_one(site, vip)  # without server states, whose removal would make room
    disk.refuse_writes(FULL)
    await kill_haproxy(site)
    await eventually(lambda: len(site.news) == 2)
    return vip


async def test_start_that_could_not_be_recorded_is_verified_and_recorded_later(disk) -> None:
    async with world(state_dir=disk.path, restart_max_seconds=0.2) as site:
        vip = await started_unrecorded(site, disk)
        await eventually(lambda: serves(site, vip))
        await site.restart()
        supervisor = site.partitions.get("p")
        worker = supervisor.worker_pid
        assert not supervisor._runner._state.known
        assert await get(vip) == "a", "it is adopted, and goes on"
        with pytest.raises(PartitionFailed, match="No space left"):
            await site.put("p", *supervisor.held.values())
        assert (await get(vip), supervisor.worker_pid) == ("a", worker)
        disk.allow_writes()
        assert (await site.put("p", *supervisor.held.values())).how == "reload"
        assert (await site.put("p", *supervisor.held.values())).how == "nothing"


async def test_a_start_that_could_not_be_recorded_is_recorded_after_the_next_change(disk) -> None:
    async with world(state_dir=disk.path, restart_max_seconds=0.2) as site:
        await started_unrecorded(site, disk)
        held = tuple(site.partitions.get("p").held.values())
        assert (await site.put("p", *held)).how == "nothing", "what changes nothing needs no room"
        disk.allow_writes()
        assert (await site.put("p", *held)).how == "nothing"
        await settled(site)
        worker = site.partitions.get("p").worker_pid
        await site.restart()
        assert (await site.put("p", *held)).how == "nothing"
        assert site.partitions.get("p").worker_pid == worker


async def test_a_record_of_another_process_is_not_believed() -> None:
    """As one that stayed because the next could not be written, where the kernel gave the worker's pid again."""
    async with world() as site:
        wanted = load_balancer("lb", free_vip(), await site.member("a"))
        await site.put("p", wanted)
        await settled(site)
        storage = PartitionStorage(files_of(site.partitions.get("p")).directory, site.directory)
        saved = storage.read_running()
        storage.write_running(replace(saved, master_started=saved.master_started - 1))
        await site.restart()
        assert (await site.put("p", wanted)).how == "reload"


async def test_a_haproxy_whose_log_cannot_be_opened_is_started() -> None:
    async with world(restart_max_seconds=0.2) as site:
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, await site.member("a")))
        log = files_of(site.partitions.get("p")).directory / "haproxy.log"
        await asyncio.to_thread(log.unlink)
        log.mkdir()
        await kill_haproxy(site)
        await eventually(lambda: len(site.news) == 2)
        await eventually(lambda: serves(site, vip))
