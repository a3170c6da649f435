"""Requests through a real HAProxy never fail, whatever is changed, and whoever of the control plane dies."""

from pathlib import Path

import pytest

from tests.acceptance.hitless.run import Run, started

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1500)]


RENEWALS = 6


async def test_no_request_fails_while_everything_is_changed_killed_and_resynced(tmp_path: Path) -> None:
    async with started(tmp_path) as cluster:
        report = await Run(cluster, rounds=1, clients=6, pause_seconds=0.05, requests=3000, renewals=RENEWALS).run()
    assert report.failed == 0, report
    assert report.strange == [], report
    assert report.renewals == RENEWALS and report.guests > 0, report
    assert all(report.sent.values()), report
    assert "nothing" in report.resync
