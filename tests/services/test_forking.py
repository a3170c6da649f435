"""A program that is forked instead of executed, the emulator: nobody who starts it can tell."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.demo.processes import DemoProcess
from tests.services import forking
from tests.services.forking import Forked, forked_starts
from tests.waiting import eventually

PROGRAM = (sys.executable, "-m", "icontrol_emulator")
SECONDS = 120.0


@pytest.fixture(autouse=True, scope="module")
def forking_starts() -> Iterator[None]:
    with forked_starts():
        yield


def emulator(folder: Path, *arguments: str) -> DemoProcess:
    return DemoProcess("devices", [*PROGRAM, *arguments], log=folder / "log")


async def started(folder: Path) -> DemoProcess:
    process = emulator(folder, "--state-dir", str(folder))
    process.start()
    await eventually((folder / "endpoints.json").exists, within_seconds=SECONDS)
    return process


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


async def test_forked_program_has_its_own_session_and_can_be_killed_and_started_again(tmp_path: Path) -> None:
    process = await started(tmp_path)
    first = process.pid
    assert isinstance(process._popen, Forked)
    assert process.running
    assert os.getsid(first) == first
    assert parent_of(first) == os.getpid()
    process.kill()
    assert process.state == "exit code -9"
    (tmp_path / "endpoints.json").unlink()
    again = await started(tmp_path)
    assert again.pid != first
    again.stop(SECONDS)
    assert again.state == "exit code 0"


async def test_forked_program_gets_arguments_and_a_log_and_its_exit_code_is_reported(tmp_path: Path) -> None:
    process = emulator(tmp_path, "--state-dir", str(tmp_path), "--no-such-argument")
    process.start()
    assert process.wait(SECONDS)
    assert process.state == "exit code 2"
    assert "--no-such-argument" in process.tail()


async def test_whoever_waits_for_one_that_lives_gets_an_error_after_the_time(tmp_path: Path) -> None:
    process = await started(tmp_path)
    assert not process.wait(0.05)
    process.send(signal.SIGTERM)
    assert process.wait(SECONDS)


async def test_forked_program_ends_with_whoever_started_it(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from tests.services.forking import forked_starts\n"
        "from tests.services.test_forking import started\n"
        "with forked_starts():\n"
        "    print(asyncio.run(started(Path(sys.argv[1]))).pid, flush=True)\n"
        "    os._exit(0)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    ran = await asyncio.to_thread(
        subprocess.run, command, cwd=forking.ROOT, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    place = Path(f"/proc/{int(ran.stdout)}/status")
    await eventually(lambda: not place.exists() or "State:\tZ" in place.read_text(), within_seconds=SECONDS)


def test_other_commands_are_executed(tmp_path: Path) -> None:
    process = DemoProcess("other", [sys.executable, "-c", "print('hello')"], log=tmp_path / "log")
    process.start()
    assert process.wait(SECONDS)
    assert isinstance(process._popen, subprocess.Popen)
    assert process.tail() == "hello"


def test_an_interpreter_with_other_settings_is_executed(tmp_path: Path) -> None:
    settings = {"PYTHONHASHSEED": "7" if os.environ.get("PYTHONHASHSEED") != "7" else "8"}
    process = DemoProcess("devices", [*PROGRAM, "--help"], log=tmp_path / "log", environment=settings)
    process.start()
    assert process.wait(SECONDS)
    assert isinstance(process._popen, subprocess.Popen)
