"""What /proc says of processes."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from evenkeel.haproxyd.haproxy.processes import execution_marker, parent_pid, start_ticks
from tests.waiting import eventually

GONE = 2**22 + 1
"""Above the largest pid that there can be (proc(5), pid_max)."""


@pytest.fixture
def shell() -> Iterator[subprocess.Popen[bytes]]:
    """A shell that executes another program once it reads a line."""
    with subprocess.Popen(
        ["/bin/sh", "-c", "echo up; read line; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as made:
        assert made.stdout is not None and made.stdout.readline() == b"up\n"
        yield made
        made.kill()


async def test_execution_of_a_process_differs_after_it_executed_another_program_and_only_then(
    shell: subprocess.Popen[bytes],
) -> None:
    before = execution_marker(shell.pid)
    assert before and execution_marker(shell.pid) == before
    started = start_ticks(shell.pid)
    assert shell.stdin is not None
    shell.stdin.write(b"\n")
    shell.stdin.flush()
    await eventually(lambda: execution_marker(shell.pid) not in (before, b""))
    # settled: neither ever changes
    assert (start_ticks(shell.pid), parent_pid(shell.pid)) == (started, os.getpid())


def test_a_process_that_does_not_exist_has_no_execution_no_start_and_no_parent() -> None:
    assert (execution_marker(GONE), start_ticks(GONE), parent_pid(GONE)) == (b"", 0, 0)
