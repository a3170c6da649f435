"""``evenkeel activity``."""

import json
from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

POINT: dict[str, Any] = {
    "at": "2026-01-01T00:00:00",
    "requests": 2.0,
    "failed_requests": 0.0,
    "request_seconds": 0.02,
    "changes": 0,
    "time_to_active_seconds": None,
    "load_balancers": 0,
    "connections": None,
    "active_connections": None,
    "bytes_in": None,
    "bytes_out": None,
    "request_errors": None,
}
TIMES = {"count": 3, "mean_seconds": 1.0, "median_seconds": 0.8, "p95_seconds": 2.0}


def known(*points: dict[str, Any], reason: str = "") -> dict[str, Any]:
    activity = {"since": "2026-01-01T00:00:00", "interval": 60.0, "points": list(points), "reason": reason}
    requests = {"count": 7, "failed": 1, "mean_seconds": 0.1, "routes": []}
    return {"activity": {**activity, "requests": requests, "time_to_active": TIMES}}


def test_figures_that_are_known_have_a_trend(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/activity", known(POINT, {**POINT, "at": "2026-01-01T00:01:00", "requests": 4.0}))
    ran = evenkeel("activity")
    assert ran.code == 0, ran.err
    assert "requests/s" in ran.out and "seconds to ACTIVE" not in ran.out and "bytes in/s" not in ran.out
    assert "7 requests, 1 failed" in ran.err and "95 % within 2 s" in ran.err


def test_other_formats_have_the_points(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/activity", known(POINT))
    assert json.loads(evenkeel("activity", "-f", "json").out) == [POINT]


def test_without_points_it_states_why(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/activity", known(reason="this controller keeps no series"))
    assert "no points: this controller keeps no series" in evenkeel("activity").err
