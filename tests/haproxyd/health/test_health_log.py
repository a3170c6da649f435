"""Lines of HAProxy's log about servers. The recorded ones are of 2.6.12 and 2.8.25, which write the same."""

import asyncio
import os
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.disk import run_dir
from evenkeel.haproxyd.health.health_log import (
    DATAGRAM_BYTES_MAX,
    HealthLogListener,
    parse_health_line,
    queue_limit,
)
from evenkeel.haproxyd.ports import PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from tests.waiting import eventually

TAG = b"<129>Nov 21 08:36:42 Project_abc.d-1[28758]: "
DOWN = (
    b"Server be_1/s2 is DOWN. 1 active and 0 backup servers left. 0 sessions active, 0 requeued, "
    b"0 remaining in queue.\n"
)
UP = (
    b"Server be_1/s1 is UP, changed from CLI. 1 active and 0 backup servers online. 0 sessions requeued, "
    b"0 total in queue."
)
READY = b"Server be_1/s1 is UP/READY (leaving forced maintenance)."


@pytest.mark.parametrize(
    ("line", "server", "up"),
    [(DOWN, "s2", False), (UP, "s1", True), (b"Backup " + UP, "s1", True), (READY, "s1", True)],
)
def test_a_servers_change_is_understood(line: bytes, server: str, up: bool) -> None:
    found = parse_health_line(TAG + line)
    assert found is not None
    assert (found.tag, found.backend, found.server, found.up) == ("Project_abc.d-1", "be_1", server, up)
    assert found.text == line.decode().strip()


@pytest.mark.parametrize("form", [b"", b"<129>"])
def test_a_line_without_a_tag_says_of_no_partition(form: bytes) -> None:
    assert parse_health_line(form + DOWN) is None


@pytest.mark.parametrize(
    "line",
    [
        b"Server be_1/s1 was DOWN and now enters maintenance.",
        b"Server be_1/s1 is going DOWN for maintenance. 0 active and 0 backup servers left.",
        b"backend be_1 has no server available!",
        b'Health check for server be_1/s2 failed, reason: Layer4 connection problem, info: "Connection refused", '
        b"check duration: 0ms, status: 0/2 DOWN.",
        b"Server be_1 is DOWN",
        b"",
        b"\xff\x00Server",
    ],
)
def test_other_lines_are_left_alone(line: bytes) -> None:
    assert parse_health_line(TAG + line) is None


@given(st.binary(max_size=300))
def test_no_datagram_breaks_it(datagram: bytes) -> None:
    parse_health_line(datagram)
    parse_health_line(TAG + datagram)
    parse_health_line(TAG + DOWN + datagram)


@pytest.mark.parametrize(
    "datagram", [b"a", b"a.", b"a[1", b"a ", b"<1>", b"a[1]:", b"Server ", b"x Server b/", b"a[1]: Server b/"]
)
def test_the_time_for_a_line_grows_with_its_length_only(datagram: bytes) -> None:
    """A bound so generous that only a search that begins anew at every character is over it."""
    longest = (datagram * DATAGRAM_BYTES_MAX)[:DATAGRAM_BYTES_MAX]
    began = time.process_time()
    for _ in range(20):
        parse_health_line(longest)
        parse_health_line((TAG + longest)[:DATAGRAM_BYTES_MAX])
    assert time.process_time() - began < 5


def test_a_datagram_over_the_limit_is_not_read() -> None:
    longest = (TAG + DOWN).ljust(DATAGRAM_BYTES_MAX, b".")
    assert parse_health_line(longest) is not None
    assert parse_health_line(longest + b".") is None


@contextmanager
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def settings() -> Iterator[DaemonSettings]:
    """In a folder that every user may enter, so that what keeps them out is further down."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    made.chmod(0o711)
    yield DaemonSettings(name="here", state_dir=made / "state", run_dir=made / "run")
    shutil.rmtree(made)


async def test_health_socket_is_the_daemons_where_workers_are_its_own_user(settings: DaemonSettings) -> None:
    log = HealthLogListener(settings.health_log_socket, lambda _: None)
    with loose_umask():
        run_dir.create_run_dirs(settings)
        await log.start()
        assert os.umask(0) == 0  # as it was
    assert stat.S_IMODE(settings.health_log_socket.stat().st_mode) == 0o600
    log.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run workers as another user")
async def test_workers_of_another_user_that_are_shut_in_may_write_and_others_may_not(settings: DaemonSettings) -> None:
    heard: list[PartitionEvent] = []
    with loose_umask():
        settings.run_dir.mkdir()
        run_dir.create_run_dirs(settings)
    log = HealthLogListener(settings.health_log_socket, heard.append, others_write=True)
    await log.start()
    try:
        assert await send_as_nobody(settings.health_log_socket) == "PermissionError"
        assert await send_as_nobody(settings.health_log_socket, jail=settings.jail_dir) == ""
        await eventually(lambda: heard)
    finally:
        log.close()


async def send_as_nobody(path: Path, *, jail: Path | None = None) -> str:
    """The error's name."""
    shut_in = f"os.chroot({str(jail)!r})" if jail else "pass"
    script = f"""
import os, socket
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
{shut_in}
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    sender.sendto({TAG + DOWN!r}, {str(path)!r})
except OSError as error:
    print(type(error).__name__)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


async def test_every_haproxys_lines_arrive_by_one_socket(tmp_path: Path) -> None:
    heard: list[PartitionEvent] = []
    path = tmp_path / "run" / "health"
    log = HealthLogListener(path, heard.append)
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(path))  # by a daemon that was killed
    await log.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as haproxy:
        haproxy.sendto(b"noise", str(path))
        haproxy.sendto(TAG + DOWN, str(path))
        haproxy.sendto(DOWN, str(path))
        haproxy.sendto(TAG + UP, str(path))
    await eventually(lambda: len(heard) == 2)
    log.close()
    assert [(news.partition, news.server, news.up) for news in heard] == [
        ("Project_abc.d-1", "s2", False),
        ("Project_abc.d-1", "s1", True),
    ]
    assert not path.exists()


async def test_lines_of_a_process_that_is_not_the_partitions_worker_are_ignored(tmp_path: Path) -> None:
    heard: list[PartitionEvent] = []
    asked: list[tuple[str, int]] = []
    workers: set[int] = set()

    def is_worker(partition: str, pid: int) -> bool:
        asked.append((partition, pid))
        return pid in workers

    log = HealthLogListener(tmp_path / "health", heard.append, is_worker=is_worker)
    await log.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(TAG + DOWN, str(tmp_path / "health"))  # it calls itself 28758
        await eventually(lambda: asked)
        assert asked == [("Project_abc.d-1", os.getpid())] and not heard  # settled: nothing may ever be heard
        workers.add(os.getpid())
        sender.sendto(TAG + DOWN, str(tmp_path / "health"))
        await eventually(lambda: heard)
    log.close()


def send_until_refused(path: Path, count_max: int) -> int:
    """Send lines as HAProxy does, which drops a line that the kernel refuses. Returns the number of accepted lines."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as haproxy:
        haproxy.setblocking(False)
        for count in range(count_max):
            try:
                haproxy.sendto(TAG + DOWN, str(path))
            except BlockingIOError:
                return count
    return count_max


async def test_lines_that_haproxy_drops_because_the_daemon_is_busy_are_reported_as_lost(tmp_path: Path) -> None:
    heard: list[PartitionEvent] = []
    losses: list[int] = []
    log = HealthLogListener(tmp_path / "health", heard.append, on_loss=lambda: losses.append(len(heard)))
    await log.start()
    accepted = send_until_refused(tmp_path / "health", 100_000)  # the event loop reads none meanwhile
    assert accepted <= queue_limit() + 1
    await eventually(lambda: losses)
    # settled: the one report comes when the queue is empty
    assert losses == [accepted], "once, after the lines that arrived"
    log.close()


async def test_lines_that_the_daemon_reads_in_time_are_not_reported_as_lost(tmp_path: Path) -> None:
    heard: list[PartitionEvent] = []
    losses: list[int] = []
    log = HealthLogListener(tmp_path / "health", heard.append, on_loss=lambda: losses.append(1))
    await log.start()
    for round_ in range(1, 6):
        assert send_until_refused(tmp_path / "health", 5) == 5
        await eventually(lambda: len(heard) == 5 * round_)  # noqa: B023  # awaited in the same round
        await asyncio.sleep(0)
    assert not losses  # settled: nothing may ever be reported
    log.close()
