"""Who workers run as: whoever takes one over finds an empty folder, and nobody else's files, sockets or memory."""

import asyncio
import contextlib
import os
import re
import signal
import stat
import tempfile
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.haproxy import worker_users
from evenkeel.haproxyd.haproxy.launch import LOG_BLOCKS_MAX
from evenkeel.haproxyd.haproxy.worker_users import (
    PartitionUser,
    WorkerUser,
    WorkerUsers,
    missing_privileges,
    read_privileges,
)
from evenkeel.haproxyd.settings import DaemonSettings
from tests.devices.services import session_of
from tests.haproxyd.daemonworld import Daemon, Traffic, balancer
from tests.haproxyd.world import Member, World, errors, files_of, free_vip, load_balancer, world
from tests.haproxyd.world import Traffic as VipTraffic
from tests.services.process import free_port
from tests.waiting import eventually

REASON = missing_privileges(read_privileges(os.getpid()))
as_root = pytest.mark.skipif(bool(REASON), reason=f"this process is {REASON}")

TRY_ALL = """
import os, socket, sys
def works(path, folder):
    try:
        if not folder and not os.path.isfile(path):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
        elif folder:
            os.listdir(path)
        else:
            open(path).close()
    except OSError:
        return False
    return True
for line in sys.stdin.read().splitlines():
    kind, _, path = line.partition(" ")
    if works(path, kind == "folder"):
        print(path)
"""
"""Run as somebody: which files and folders can be read, and which sockets connected to? Those it is told to try."""


class Seen(msgspec.Struct, frozen=True):
    """A process as /proc has it."""

    uid: int
    gid: int
    groups: str
    capabilities: int
    root: str
    memory_max: str
    """In bytes: of the address space, or of data, which HAProxy limits from 3.0 on."""
    core_max: str
    file_max: str
    ignores_file_max: bool


def seen(pid: int) -> Seen:
    place = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    limits = (place / "limits").read_text()
    return Seen(
        uid=int(status["Uid"].split()[1]),
        gid=int(status["Gid"].split()[1]),
        groups=status["Groups"].strip(),
        capabilities=int(status["CapEff"], 16) | int(status["CapPrm"], 16),
        root=str((place / "root").readlink()),
        memory_max=min(_limit(limits, "Max address space"), _limit(limits, "Max data size")),
        core_max=_limit(limits, "Max core file size"),
        file_max=_limit(limits, "Max file size"),
        ignores_file_max=bool(int(status["SigIgn"], 16) >> (signal.SIGXFSZ - 1) & 1),
    )


def _limit(limits: str, name: str) -> str:
    found = re.search(rf"^{name}\s+(\S+)", limits, re.MULTILINE)
    assert found
    return found[1]


def worker(site: World, name: str) -> Seen:
    pid = site.partitions.get(name).worker_pid
    assert pid
    return seen(pid)


async def reachable(uid: int, folders: Iterable[Path]) -> list[str]:
    """What somebody with this id could read or connect to in folders that everybody may enter."""
    found = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    lines = [f"{'folder' if path.is_dir() else 'file'} {path}" for path in found]
    process = await asyncio.create_subprocess_exec(
        "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "/usr/bin/env", "-i", "python3", "-c", TRY_ALL,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate("\n".join(lines).encode())
    assert process.returncode == 0
    return output.decode().splitlines()


@as_root
async def test_each_tenants_workers_are_a_user_of_their_own_shut_into_an_empty_folder():
    async with world(memory_max_mib=300) as site:
        a = await site.member("a")
        for name in ("one", "two"):
            assert errors(await site.put(name, load_balancer(name, free_vip(), a))) == {}
        one, two = worker(site, "one"), worker(site, "two")
        assert len({one.uid, two.uid, os.geteuid()}) == len({one.gid, two.gid, os.getegid()}) == 3
        for each in (one, two):
            assert (each.groups, each.capabilities) == ("", 0)
            assert each.root == str(site.settings.jail_dir)
            assert (each.memory_max, each.core_max) == (str(300 * 1024 * 1024), "0")
            assert (each.file_max, each.ignores_file_max) == (str(LOG_BLOCKS_MAX * 512), True)
        master = seen(site.partitions.get("one").master_pid)
        assert (master.uid, master.root) == (0, "/")


@as_root
async def test_a_worker_cannot_read_anything_of_anybodys():
    async with world() as site:
        site.directory.chmod(0o755)
        a = await site.member("a")
        for name in ("one", "two"):
            await site.put(name, load_balancer(name, free_vip(), a))
        folders = (site.settings.state_dir, site.settings.run_dir)
        for folder in folders:
            folder.chmod(0o755)  # as an operator or a packager might have left them
        uid = worker(site, "one").uid
        opened = {path for path in await reachable(uid, folders) if Path(path) not in folders}
        assert opened == set()


@as_root
async def test_a_worker_that_is_shut_in_can_use_its_own_socket_alone():
    async with world() as site:
        a = await site.member("a")
        for name in ("one", "two"):
            await site.put(name, load_balancer(name, free_vip(), a))
        uids = {worker(site, name).uid for name in ("one", "two")}
        sockets = [path.stat() for path in site.settings.jail_dir.iterdir() if path.is_socket()]
        assert {one.st_uid for one in sockets} == uids
        assert all(one.st_mode & 0o077 == 0 for one in sockets)
        everything = [path.lstat() for path in site.settings.jail_dir.rglob("*") if not path.is_socket()]
        assert all(one.st_uid == 0 for one in everything)
        assert not any(one.st_mode & 0o022 for one in everything if not stat.S_ISLNK(one.st_mode))


@as_root
async def test_workers_change_hands_without_losing_a_request():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        before = worker(site, "p")
        async with VipTraffic(vip) as traffic:
            for seconds in range(20, 25):
                await site.put("p", load_balancer("lb", vip, a, lines=(f"timeout client {seconds}s",)))
                await traffic.more(20)
        assert traffic.failures == []
        assert worker(site, "p") == before


@as_root
async def test_a_user_id_outlives_the_daemon_and_is_given_back_when_its_last_worker_ended():
    async with world(worker_uid_count=1) as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("one", load_balancer("lb", vip, a))
        master, before = site.partitions.get("one").master_pid, worker(site, "one")
        await site.restart()
        await site.put("one", load_balancer("lb", vip, a))
        assert (site.partitions.get("one").master_pid, worker(site, "one")) == (master, before)
        with pytest.raises(PartitionFailed, match="no user id is left for its workers; worker_uid_count allows 1"):
            await site.put("two", load_balancer("other", free_vip(), a))
        await site.put("one")
        await eventually(lambda: not site.partitions.get("one").is_running)

        async def taken() -> bool:
            try:
                return not errors(await site.put("two", load_balancer("other", free_vip(), a)))
            except PartitionFailed:
                return False

        await eventually(taken)
        assert worker(site, "two").uid == before.uid  # settled: a receipt comes when the worker runs


@as_root
async def test_a_haproxy_that_dies_when_it_holds_nothing_gives_its_user_id_back():
    async with world() as site:
        a = await site.member("a")
        await site.put("p", load_balancer("lb", free_vip(), a))
        supervisor = site.partitions.get("p")
        storage = PartitionStorage(files_of(supervisor).directory, files_of(supervisor).directory)
        assert storage.read_worker_uid() == worker(site, "p").uid
        master = supervisor.master_pid
        await site.put("p")
        with contextlib.suppress(ProcessLookupError):
            os.kill(master, signal.SIGKILL)
        await eventually(lambda: storage.read_worker_uid() == 0)


@as_root
async def test_one_user_may_serve_all():
    async with world(user="nobody", group="daemon") as site:
        a = await site.member("a")
        for name in ("one", "two"):
            await site.put(name, load_balancer(name, free_vip(), a))
        assert worker(site, "one").uid == worker(site, "two").uid == 65534
        assert worker(site, "one").gid != 65534


@as_root
async def test_a_haproxy_of_a_daemon_that_could_not_switch_is_replaced_without_losing_a_request(daemon: Daemon):
    daemon.prefix = ("setpriv", "--bounding-set=-setuid,-setgid")
    member, port = Member("a"), free_port()
    await member.start()
    await daemon.start()
    async with daemon.client() as client:
        about = await client.raw("GET", "/v1")
        assert b"workers run as the daemon's user, because it is without CAP_SETGID, CAP_SETUID" in about[1]
        await client.patch("p", change(balancer(port, member)))
    before = pids(daemon)
    assert {seen(pid).uid for pid in before} == {0}
    async with Traffic(port).flowing() as traffic:
        await eventually(lambda: traffic.answered)
        daemon.terminate()
        daemon.prefix = ()
        await daemon.start()
        await eventually(lambda: not set(before) & set(pids(daemon)))
        answered = traffic.answered
        await eventually(lambda: traffic.answered > answered + 20)
    assert traffic.failed == []
    assert len({seen(pid).uid for pid in pids(daemon)}) == 2
    async with daemon.client() as client:
        assert b'"shared_reason"' not in (await client.raw("GET", "/v1"))[1]
        await client.patch("p", change(balancer(free_port(), member, revision=2)))
    await member.stop()


@as_root
async def test_everything_that_a_daemon_leaves_is_for_its_user_alone(daemon: Daemon):
    umask = os.umask(0)  # the loosest that somebody may start it with
    try:
        await daemon.start()
    finally:
        os.umask(umask)
    async with daemon.client() as client:
        await client.patch("p", change(balancer(free_port())))
        await client.observe("p")
    daemon.terminate()
    jail = daemon.folder / "r" / "workers" / "root"
    kept = [daemon.endpoint_file, daemon.state_dir, *daemon.state_dir.rglob("*"), *(daemon.folder / "r").rglob("*")]
    loose = {
        path
        for path in kept
        if not path.is_symlink() and not path.is_relative_to(jail) and path.exists() and path.stat().st_mode & 0o077
    }
    assert loose == set()


@as_root
async def test_no_process_shows_a_secret(daemon: Daemon):
    await daemon.start()
    async with daemon.client() as client:
        await client.patch("p", change(balancer(free_port())))
    names = {name for pid in pids(daemon) for name in environment(pid)}
    assert "PATH" in names
    assert {name for name in names if not name.startswith("HAPROXY_")} <= {"PATH", "PWD", "OLDPWD", "SHLVL", "_"}


def environment(pid: int) -> set[str]:
    """Names of the variables a process was started with."""
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return {line.partition("=")[0] for line in lines if line}


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as folder:
        made = Daemon(Path(folder))
        try:
            yield made
        finally:
            made.clean_up()


def change(*balancers: wire.LoadBalancerConfig, epoch: int = 1) -> wire.PartitionChange:
    return wire.PartitionChange(epoch=epoch, session_id=session_of(epoch), load_balancers=balancers)


def pids(daemon: Daemon) -> list[int]:
    """Masters and workers of a daemon's HAProxys."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-W" in words and str(daemon.folder).encode() in b" ".join(words):
            found.append(int(place.name))
    return sorted(found)


# -- settings


def settings(folder: Path, **changes) -> DaemonSettings:
    return DaemonSettings(name="x", state_dir=folder, run_dir=folder, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"user": "no-such-user"}, "user = no-such-user, group = : no such user or group"),
        ({"user": "nobody", "group": "no-such-group"}, "group = no-such-group: no such"),
        ({"user": "root"}, "user: root is no user for workers"),
        (
            {"worker_uid_first": 2**32 - 10, "worker_uid_count": 20},
            "worker_uid_first = 4294967286, .*: not all are ids",
        ),
        ({"worker_uid_first": 0}, "worker_uid_first = 0, .*: not all are ids"),
    ],
)
@as_root
def test_impossible_worker_user_is_refused(tmp_path, changes, reason):
    with pytest.raises(ValueError, match=reason):
        WorkerUsers(settings(tmp_path, **changes))


def test_a_daemon_that_is_not_root_runs_workers_as_itself_and_reports_it(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_users, "missing_privileges", lambda privileges: "not started as root")
    users = WorkerUsers(settings(tmp_path))
    assert (users.has_separate_users, users.assign("p")) == (False, None)
    assert users.shared_reason == "not started as root"
    with pytest.raises(ValueError, match="user = daemon, group = : cannot be had: the daemon is not started as root"):
        WorkerUsers(settings(tmp_path, user="daemon"))


@as_root
def test_an_id_has_one_partition(tmp_path):
    users = WorkerUsers(settings(tmp_path, worker_uid_first=70_000))
    assert users.assign("a") == users.restore("a", 70_000) == WorkerUser(uid=70_000, gid=70_000)
    assert users.restore("b", 70_000) is None and users.restore("b", 69_999) is None
    users.release("b", 70_000)
    assert users.assign("b") == WorkerUser(uid=70_001, gid=70_001)
    users.release("a", 70_000)
    assert users.assign("c") == WorkerUser(uid=70_000, gid=70_000)


@as_root
async def test_a_disk_that_is_full_gives_nobody_an_id(tmp_path, monkeypatch):
    users = WorkerUsers(settings(tmp_path))
    storage = PartitionStorage(tmp_path, tmp_path / "keys")

    def full(storage, uid):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PartitionStorage, "write_worker_uid", full)
    one = PartitionUser("p", storage, users)
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            await one.ensure_assigned()
    first = worker_users.UNUSED_ID_RANGE_STARTS[0]
    assert one.user is None
    assert (users.assign("p"), users.assign("q")) == tuple(WorkerUser(uid=uid, gid=uid) for uid in (first, first + 1))
