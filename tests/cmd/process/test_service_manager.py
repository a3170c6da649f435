"""What processes tell systemd: when they serve, that their event loops run, and that they end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.cmd.process.service_manager import EventLoopWatchdog, ServiceManager
from tests.cmd.small_controller import small_controller
from tests.cmd.systemd import Systemd
from tests.waiting import eventually


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    made = Systemd(str(tmp_path / "notify"))
    yield made
    made.close()


def test_without_systemd_nothing_is_reported() -> None:
    environment: dict[str, str] = {}
    manager = ServiceManager(environment)
    manager.notify_ready()
    assert manager.watchdog_seconds == 0
    asyncio.run(manager.watch())


def test_child_processes_do_not_inherit_what_is_for_this_one(systemd: Systemd) -> None:
    environment = {"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}
    manager = ServiceManager(environment)
    assert not environment and manager.watchdog_seconds == 30.0
    manager.set_status("waiting")
    manager.notify_ready()
    manager.notify_stopping()
    assert systemd.heard() == ["STATUS=waiting", "READY=1", "STATUS=serving", "STOPPING=1", "STATUS=stopping"]


def test_the_watchdog_of_another_process_is_left_alone() -> None:
    assert ServiceManager({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}).watchdog_seconds == 0
    assert ServiceManager({"WATCHDOG_USEC": "x"}).watchdog_seconds == 0


def test_an_abstract_address_and_one_that_is_gone() -> None:
    systemd = Systemd(f"@evenkeel-test-{os.getpid()}")
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.address})
    manager.notify_ready()
    assert systemd.heard()[0] == "READY=1"
    systemd.close()
    manager.notify_stopping()  # logged


async def test_the_watchdog_is_fed_until_another_loop_hangs(systemd: Systemd) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "30000"})
    answers = [False, False, True, True]
    asked: list[float] = []

    def hangs(seconds: float) -> bool:
        asked.append(seconds)
        return answers.pop(0) if len(answers) > 1 else True

    watching = asyncio.create_task(manager.watch(hangs=hangs))
    await eventually(lambda: len(asked) >= 6)
    watching.cancel()
    assert systemd.heard() == ["WATCHDOG=1", "WATCHDOG=1"] and asked[0] == 0.03


async def test_a_heart_beats_as_long_as_its_loop_runs() -> None:
    heart = EventLoopWatchdog()
    beating = asyncio.create_task(heart.record_beats(0.001))
    await asyncio.sleep(0)
    assert not heart.is_stopped(60.0)
    beating.cancel()
    await eventually(lambda: heart.is_stopped(0.01))


START_SECONDS = 240.0


@pytest.mark.timeout(900)
async def test_a_controller_is_ready_when_its_api_listens_reloads_at_sighup_and_states_when_it_ends(
    systemd: Systemd, tmp_path: Path
) -> None:
    config = small_controller(tmp_path)
    code = "import sys; from evenkeel.cmd.commands import controller; sys.exit(controller())"
    environment = {**os.environ, "NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "3000000"}
    command = [sys.executable, "-c", code, "--config-file", str(config)]
    output = tmp_path / "output"
    with output.open("w") as file:
        process = await asyncio.to_thread(lambda: subprocess.Popen(command, env=environment, stderr=file))
    try:
        await eventually(
            lambda: "READY=1" in systemd.heard() or process.poll() is not None, within_seconds=START_SECONDS
        )
        await eventually(lambda: "WATCHDOG=1" in systemd.heard() or process.poll() is not None)
        config.write_text(config.read_text().replace("[DEFAULT]", "[DEFAULT]\ndebug = true\nsettle_time = 1"))
        process.send_signal(signal.SIGHUP)
        await eventually(lambda: "configuration reloaded" in output.read_text() or process.poll() is not None)
        config.write_text("[DEFAULT]\ndebug = perhaps\n")
        process.send_signal(signal.SIGHUP)
        await eventually(lambda: "configuration not reloaded" in output.read_text() or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        # settled: what a process has said is complete when it has ended
        await eventually(lambda: process.poll() is not None)
        assert process.returncode == 0, output.read_text()
        assert "changed=['debug'] needs_restart=['settle_time']" in output.read_text()
        assert [line for line in systemd.heard() if line.endswith("=1") and line != "WATCHDOG=1"] == [
            "READY=1",
            "STOPPING=1",
        ]
    finally:
        process.kill()
        process.wait()


async def test_a_health_file_is_written_while_the_loops_run(tmp_path: Path) -> None:
    file = tmp_path / "health"
    hangs = False
    watching = asyncio.create_task(ServiceManager({}, health_file=str(file)).watch(hangs=lambda _: hangs))
    await eventually(file.exists)
    watching.cancel()
    file.unlink()
    hangs = True
    watching = asyncio.create_task(ServiceManager({}, health_file=str(file)).watch(hangs=lambda _: hangs))
    await asyncio.sleep(0)
    watching.cancel()
    assert not file.exists()
    await asyncio.wait_for(ServiceManager({}).watch(), 10)


async def test_a_worker_tells_its_parent_as_it_would_systemd_and_nobody_once_that_is_gone(tmp_path: Path) -> None:
    parent, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with worker:
        manager = ServiceManager({}, parent=worker, watchdog_seconds=0.03)
        with parent:
            manager.notify_ready()
            watching = asyncio.create_task(manager.watch())
            assert parent.recv(100) == b"READY=1\nSTATUS=serving"
            assert await asyncio.to_thread(parent.recv, 100) == b"WATCHDOG=1"
            watching.cancel()
        manager.notify_stopping()
