from structlog.testing import capture_logs

from evenkeel.serving.refusal_log import EVERY_SECONDS, RefusalLog


def test_the_first_is_told_at_once_and_then_sums() -> None:
    now = 100.0
    tally = RefusalLog("api", monotonic=lambda: now)
    with capture_logs() as logs:
        for _ in range(1000):
            tally.add("too slow", "10.0.0.1")
        assert [entry["count"] for entry in logs] == [1]
        now += EVERY_SECONDS
        tally.add("too slow", "10.0.0.2")
    assert [(entry["count"], entry["last_peer"]) for entry in logs] == [(1, "10.0.0.1"), (1000, "10.0.0.2")]
