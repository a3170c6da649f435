"""What is printed: plain lines in a pipe, a picture on a terminal."""

import io

from rich.console import Console

from evenkeel.demo.narration import LiveProgressPrinter, ProgressPrinter, render_live_view
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.traffic import TrafficCounts

AGENT = {"host": "host-1", "alive": True, "acting_shards": 2, "home_shards": 1, "load_balancers": 7, "queue_depth": 0}


def test_a_pipe_gets_one_line_a_saying_however_long() -> None:
    out = io.StringIO()
    ProgressPrinter(Console(file=out, width=40)).say("[x] " + "word " * 30)
    assert out.getvalue().count("\n") == 1
    assert " s  [x] word" in out.getvalue()


def test_a_terminal_shows_agents_traffic_and_events() -> None:
    out = io.StringIO()
    narrator = LiveProgressPrinter(Console(file=out, width=100, force_terminal=True))
    narrator.picture.agents = [AGENT, AGENT | {"host": "host-2", "alive": False}]
    narrator.picture.events = [{"text": "host-2 took over"}]
    narrator.picture.counts = TrafficCounts(sent=9, failed=1)
    narrator.refresh()
    narrator.close()
    plain = Console(file=io.StringIO(), width=100, record=True)
    plain.print(render_live_view(narrator.picture))
    text = plain.export_text()
    assert "host-1 │ alive" in text
    assert "host-2 │ down" in text
    assert "9 sent, 1 failed" in text
    assert "host-2 took over" in text


def test_an_outcome_is_judged_by_what_is_promised() -> None:
    good = DemoResult(
        create_writes_promised=12, counts=TrafficCounts(sent=5), takeover_seconds=4.0, create_writes={"bigip-1": 12}
    )
    good.add_violations()
    assert good.problems == []
    bad = DemoResult(
        create_writes_promised=12,
        counts=TrafficCounts(sent=5, failed=2, first_failure="reset"),
        takeover_seconds=10.0,
        create_writes={"bigip-1": 13},
    )
    bad.add_violations()
    assert [problem.split()[0] for problem in bad.problems] == ["2", "takeover", "bigip-1"]


def test_the_table_ends_with_what_only_this_type_of_device_has() -> None:
    outcome = DemoResult(
        create_writes_promised=3,
        create_writes={"haproxy-1": 2},
        more=[("a step of its own", "went well")],
    )
    assert outcome.rows()[3:] == [
        ("writes to a device for the create", "haproxy-1 2"),
        ("a step of its own", "went well"),
    ]


def test_rows_of_https_are_in_the_table_only_if_there_was_https() -> None:
    counts = TrafficCounts()
    counts.sent = 2
    without, with_https = DemoResult(create_writes_promised=3), DemoResult(create_writes_promised=3, https=counts)
    assert [name for name, _ in without.rows() if "HTTPS" in name] == []
    assert ("HTTPS requests sent", "2") in with_https.rows()
