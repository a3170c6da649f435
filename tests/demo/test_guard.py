"""Nothing that a cluster's daemon started is left, however the cluster ends."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.demo.device_kinds.guard import ProcessGuard
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from tests.demo.test_processes import is_there
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")

SLEEP = "import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


@pytest.fixture
def lookalikes() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for process in made:
        process.kill()
        process.wait()


def lookalike(directory: Path, program: str = SLEEP) -> subprocess.Popen[bytes]:
    """A detached process that looks like an HAProxy of ``directory``."""
    command = ["haproxy", "-c", program, f"{directory}/partitions/one/haproxy.cfg"]
    return subprocess.Popen(command, executable=sys.executable, start_new_session=True)


async def ended(process: subprocess.Popen[bytes]) -> None:
    await eventually(lambda: process.poll() is not None)


async def test_closing_ends_the_haproxys_of_the_directory_and_no_others(
    tmp_path: Path, lookalikes: list[subprocess.Popen[bytes]]
) -> None:
    ours, neighbours = tmp_path / "demo", tmp_path / "demo-2"
    removed = tmp_path / "sockets"
    removed.mkdir()
    lookalikes += [lookalike(ours), lookalike(ours, STUBBORN), lookalike(neighbours)]
    await eventually(lambda: len(haproxy_pids(str(ours))) == 2)
    guard = ProcessGuard(ours, removed=[removed], log=tmp_path / "log")
    guard.start()
    closing = asyncio.create_task(asyncio.to_thread(guard.close))
    await asyncio.gather(ended(lookalikes[0]), ended(lookalikes[1]))
    await closing
    assert haproxy_pids(str(ours)) == []
    assert haproxy_pids(str(neighbours)) == [lookalikes[2].pid]
    assert not removed.exists()


async def test_processes_end_with_a_starter_that_was_killed(
    tmp_path: Path, lookalikes: list[subprocess.Popen[bytes]]
) -> None:
    lookalikes.append(lookalike(tmp_path))
    program = (
        "import time; from pathlib import Path; from evenkeel.demo.device_kinds.guard import ProcessGuard\n"
        f"guard = ProcessGuard(Path({str(tmp_path)!r}), log=Path({str(tmp_path / 'log')!r})); guard.start()\n"
        "print('up', flush=True); time.sleep(600)"
    )
    starter = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    try:
        assert starter.stdout is not None
        assert await starter.stdout.readline() == b"up\n"
        assert is_there(lookalikes[0].pid)
    finally:
        starter.kill()
        await starter.communicate()
    await ended(lookalikes[0])


def test_a_guard_that_never_started_has_nothing_to_close(tmp_path: Path) -> None:
    ProcessGuard(tmp_path, log=tmp_path / "log").close()
