"""``evenkeel loadbalancer series``."""

import json
from typing import Any

from evenkeel.cli.series import short_number, trend_bars
from tests.cli.conftest import Run
from tests.cli.stub import Stub

ID = "5a7da699-e093-4046-91ac-a5371622eb21"
PATH = f"/loadbalancers/{ID}/series"


def point(minute: int, connections: float) -> dict[str, Any]:
    rates = {"bytes_in": 2048.0, "bytes_out": 3.5e6, "request_errors": 0.0}
    counts = {"active_connections": 4, "members_online": 1, "members": 2}
    return {"at": f"2026-01-02T03:{minute:02}:00", "connections": connections, **rates, **counts}


def series(*points: dict[str, Any], reason: str = "") -> dict[str, Any]:
    return {"interval": 60.0, "points": list(points), "reason": reason}


def test_a_table_has_a_trend_of_each_figure_with_gaps(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, series(point(0, 0.0), point(1, 7.0), point(4, 3.5)))
    ran = evenkeel("loadbalancer", "series", ID)
    assert ran.code == 0, ran.err
    (line,) = (each for each in ran.out.splitlines() if "connections/s" in each)
    assert "▁█  ▅" in line and "3.5" in line
    assert "3.5M" in ran.out and "2.05k" in ran.out
    assert "from 2026-01-02T03:00:00 to 2026-01-02T03:04:00 UTC, 3 points" in ran.err


def test_json_has_the_points(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, series(point(0, 0.5)))
    assert json.loads(evenkeel("loadbalancer", "series", ID, "-f", "json").out) == [point(0, 0.5)]


def test_without_points_it_states_why(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", PATH, series(reason="this controller keeps no series"))
    ran = evenkeel("loadbalancer", "series", ID)
    assert ran.code == 0 and "no points: this controller keeps no series" in ran.err


def test_a_trend_has_the_mean_of_each_place() -> None:
    assert trend_bars([2.0, 6.0, 8.0, 0.0], [0, 0, 1, 3]) == "▅█ ▁"
    assert trend_bars([0.0], [0]) == "▁"


def test_numbers_are_short() -> None:
    assert [short_number(value) for value in (0.0, 0.1234, 999.0, 1234.0, 5.6e6, 7.89e9)] == [
        "0",
        "0.123",
        "999",
        "1.23k",
        "5.6M",
        "7.89G",
    ]
