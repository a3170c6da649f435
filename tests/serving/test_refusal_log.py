import asyncio

import pytest
from structlog.testing import capture_logs

from evenkeel.serving import refusal_log
from evenkeel.serving.refusal_log import EVERY_SECONDS, RefusalLog
from tests.waiting import eventually


async def test_the_first_is_reported_at_once_and_then_sums() -> None:
    now = 100.0
    tally = RefusalLog("api", monotonic=lambda: now)
    with capture_logs() as logs:
        for _ in range(1000):
            tally.add("too slow", "10.0.0.1")
        assert [entry["count"] for entry in logs] == [1]
        now += EVERY_SECONDS
        tally.add("too slow", "10.0.0.2")
    assert [(entry["count"], entry["last_peer"]) for entry in logs] == [(1, "10.0.0.1"), (1000, "10.0.0.2")]


async def test_the_last_ones_are_reported_without_a_further_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_log, "EVERY_SECONDS", 0.05)
    tally = RefusalLog("api")
    with capture_logs() as logs:
        for _ in range(3):
            tally.add("too slow", "10.0.0.1")
        await eventually(lambda: len(logs) == 2)
        await asyncio.sleep(0.2)
    assert [entry["count"] for entry in logs] == [1, 2]
