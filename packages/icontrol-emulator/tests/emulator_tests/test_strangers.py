"""Clients that nobody here wrote, driven against one device: f5-sdk, f5-icontrol-rest, bigrest, Ansible's modules."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from emulator_tests.clients.ansible_tasks import NETWORK, TASKS, TRAFFIC
from icontrol_emulator import Emulator
from tests.services.icontrol_clients import clients
from tests.services.installation import NotInstallable

SCRIPTS = Path(__file__).parent / "clients"
SECONDS = 600


@pytest.fixture(scope="module")
def installed() -> tuple[Path, Path]:
    try:
        return clients()
    except NotInstallable as error:
        pytest.skip(str(error))


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with Emulator(["bigip-1", "bigip-2"], data_plane=False) as running:
        yield int(running.devices["bigip-1"].url.rpartition(":")[2])


async def run(installed: tuple[Path, Path], script: str, port: int, given: bytes = b"") -> tuple[int, str, str]:
    python, collections = installed
    kept = {name: value for name, value in os.environ.items() if not name.endswith("CA_BUNDLE")}
    process = await asyncio.create_subprocess_exec(
        str(python), str(SCRIPTS / script), str(port), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**kept, "PYTHONPATH": str(collections)},
    )  # fmt: skip
    try:
        output, errors = await asyncio.wait_for(process.communicate(given), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, output.decode(), errors.decode()


@pytest.mark.parametrize("script", ["with_f5_sdk.py", "with_bigrest.py"])
async def test_client_libraries(installed: tuple[Path, Path], port: int, script: str) -> None:
    status, output, errors = await run(installed, script, port)
    assert (status, errors[-3000:]) == (0, ""), output


async def test_objects_of_all_kinds_live_and_end(installed: tuple[Path, Path], port: int) -> None:
    status, output, errors = await run(installed, "f5_sdk_lifecycles.py", port)
    assert (status, errors[-3000:]) == (0, ""), output
    lines = output.splitlines()
    assert not [line for line in lines if not line.startswith("lived ")]
    assert len(lines) > 150


async def test_ansible_modules(installed: tuple[Path, Path], port: int) -> None:
    """Each task changes the device the first time; those about traffic and networks find what they want the second."""
    tasks = [(task, time) for task in TASKS for time in (1, 2) if time == 1 or task in NETWORK or task in TRAFFIC]
    status, output, errors = await run(
        installed, "ansible_modules.py", port, json.dumps([task for task, _ in tasks]).encode()
    )
    assert status == 0, errors[-3000:]
    results: list[dict[str, Any]] = json.loads(output)
    wrong = [
        f"{module} {arguments.get('name', '')}, time {time}: {result.get('msg', 'changed')}"
        for ((module, arguments), time), result in zip(tasks, results, strict=True)
        if result.get("changed") is not (time == 1)
    ]
    assert not wrong, "\n".join(wrong)
