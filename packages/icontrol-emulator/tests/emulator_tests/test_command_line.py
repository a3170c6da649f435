from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from emulator_tests.client import Client
from icontrol_emulator.latency import latency_named
from tests.waiting import eventually


async def test_process_publishes_its_endpoints_and_stops_on_sigterm(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "icontrol_emulator", "--device", "one@127.0.0.1:0", "--device", "two@127.0.0.1:0",
        "--ha", "pair", "--state-dir", str(tmp_path), "--user", "lb:pw",
    )  # fmt: skip
    try:
        endpoints = tmp_path / "endpoints.json"
        await eventually(endpoints.exists)
        shown = json.loads(await asyncio.to_thread(endpoints.read_text))
        assert [device["name"] for device in shown["devices"]] == ["one", "two"]
        client = Client(shown["devices"][1]["url"], Path(shown["ca_file"]), "lb", "pw")
        assert len((await client.get("cm/device"))["items"]) == 2
        await client.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@pytest.mark.parametrize(("text", "seconds"), [("none", 0.0), ("30ms", 0.03), ("0ms", 0.0)])
def test_latency_is_named_or_in_milliseconds(text: str, seconds: float) -> None:
    assert latency_named(text).seconds("GET", "/mgmt/tm/ltm/pool", commands=0, objects=0) == seconds


@pytest.mark.parametrize("text", ["30", "ms", "-1ms", "60001ms", "soon"])
def test_other_latencies_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="none, realistic or 0ms to 60000ms"):
        latency_named(text)


async def test_clusters_are_started_by_their_number_of_devices(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "icontrol_emulator", "--ha", "cluster", "--devices", "3", "--state-dir", str(tmp_path),
    )  # fmt: skip
    try:
        endpoints = tmp_path / "endpoints.json"
        await eventually(endpoints.exists)
        shown = json.loads(await asyncio.to_thread(endpoints.read_text))
        assert [device["name"] for device in shown["devices"]] == ["bigip-1", "bigip-2", "bigip-3"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
