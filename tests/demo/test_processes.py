"""Processes that are started, killed and never outlive their starter."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.demo.processes import DemoProcess, ProcessFailed, stop_all
from tests.waiting import eventually

WORD_SECONDS = 120.0
SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
]


def is_there(pid: int) -> bool:
    """Does a process with this id exist, other than as a zombie?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # before the file was opened, or between that and reading
        return False


async def started(command: list[str], log: Path) -> DemoProcess:
    """A process that has printed its first word."""
    process = DemoProcess("sleeper", command, log=log)
    process.start()
    await process.wait_until(lambda: "up" in process.tail(), "its word", timeout_seconds=WORD_SECONDS)
    return process


async def test_a_killed_process_is_gone_when_kill_returns(tmp_path: Path) -> None:
    process = await started(SLEEP, tmp_path / "log")
    process.kill()
    assert not process.running
    assert process.state == f"exit code -{signal.SIGKILL.value}"


async def test_a_process_can_be_started_again_and_its_log_goes_on(tmp_path: Path) -> None:
    process = await started(SLEEP, tmp_path / "log")
    process.kill()
    process.start()
    await process.wait_until(lambda: process.tail().count("up") == 2, "its second word", timeout_seconds=WORD_SECONDS)
    process.kill()


async def test_a_process_that_ends_early_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    process = DemoProcess("failing", [sys.executable, "-c", "raise SystemExit('no luck')"], log=tmp_path / "log")
    process.start()
    with pytest.raises(ProcessFailed, match=r"failing \(exit code 1\)(.|\n)*no luck"):
        await process.wait_until(lambda: False, "wonders", timeout_seconds=WORD_SECONDS)


async def test_a_process_that_is_not_ready_in_time_is_reported(tmp_path: Path) -> None:
    process = await started(SLEEP, tmp_path / "log")
    with pytest.raises(ProcessFailed, match="no wonders within 0 s"):
        await process.wait_until(lambda: False, "wonders", timeout_seconds=0)
    process.kill()


async def test_stopping_insists_even_on_the_stubborn_and_the_frozen(tmp_path: Path) -> None:
    stubborn, frozen = await started(STUBBORN, tmp_path / "1"), await started(SLEEP, tmp_path / "2")
    frozen.send(signal.SIGSTOP)
    stop_all([stubborn, frozen], timeout_seconds=0.5)
    assert not stubborn.running
    assert not frozen.running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
async def test_children_die_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from evenkeel.demo.processes import DemoProcess\n"
        f"child = DemoProcess('child', {SLEEP!r}, log=Path({str(tmp_path / 'log')!r})); child.start()\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(await parent.stdout.readline())
        assert is_there(child)
    finally:
        parent.kill()
        await parent.communicate()
    await eventually(lambda: not is_there(child))
