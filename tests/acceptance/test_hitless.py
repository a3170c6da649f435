"""Requests through a real HAProxy never fail, whatever is changed, and whoever of the control plane dies."""

from pathlib import Path

import pytest

from tests.acceptance.hitless.run import Run, started

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1500)]


async def test_no_request_fails_while_everything_is_changed_killed_and_resynced(tmp_path: Path) -> None:
    await no_request_fails(tmp_path, clients=4, pause_seconds=0.1, requests=1000, renewals=6)


async def test_no_request_of_more_clients_fails_while_everything_is_changed_killed_and_resynced(tmp_path: Path) -> None:
    await no_request_fails(tmp_path, clients=6, pause_seconds=0.05, requests=3000, renewals=6)


async def no_request_fails(
    directory: Path, *, clients: int, pause_seconds: float, requests: int, renewals: int
) -> None:
    async with started(directory) as cluster:
        run = Run(cluster, rounds=1, clients=clients, pause_seconds=pause_seconds, requests=requests, renewals=renewals)
        report = await run.run()
    assert report.failed == 0, report
    assert report.strange == [], report
    assert report.renewals == renewals and report.guests > 0, report
    assert all(report.sent.values()), report
    assert "nothing" in report.resync
