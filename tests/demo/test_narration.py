"""What is printed: plain lines in a pipe, a picture on a terminal."""

import io

from rich.console import Console

from evenkeel.demo.narration import LiveNarrator, Narrator, drawn
from evenkeel.demo.outcome import NOT_COUNTED, DemoResult
from evenkeel.demo.traffic import Counts

AGENT = {"host": "host-1", "alive": True, "acting_shards": 2, "home_shards": 1, "load_balancers": 7, "queue_depth": 0}


def test_a_pipe_gets_one_line_a_saying_however_long() -> None:
    out = io.StringIO()
    Narrator(Console(file=out, width=40)).say("[x] " + "word " * 30)
    assert out.getvalue().count("\n") == 1
    assert " s  [x] word" in out.getvalue()


def test_a_terminal_shows_agents_traffic_and_events() -> None:
    out = io.StringIO()
    narrator = LiveNarrator(Console(file=out, width=100, force_terminal=True))
    narrator.picture.agents = [AGENT, AGENT | {"host": "host-2", "alive": False}]
    narrator.picture.events = [{"text": "host-2 took over"}]
    narrator.picture.counts = Counts(sent=9, failed=1)
    narrator.refresh()
    narrator.close()
    plain = Console(file=io.StringIO(), width=100, record=True)
    plain.print(drawn(narrator.picture))
    text = plain.export_text()
    assert "host-1 │ alive" in text
    assert "host-2 │ down" in text
    assert "9 sent, 1 failed" in text
    assert "host-2 took over" in text


def test_an_outcome_is_judged_by_what_is_promised() -> None:
    good = DemoResult(
        create_requests_promised=12, counts=Counts(sent=5), takeover_seconds=4.0, create_requests={"bigip-1": 12}
    )
    good.judge()
    assert good.problems == []
    bad = DemoResult(
        create_requests_promised=12,
        counts=Counts(sent=5, failed=2, first_failure="reset"),
        takeover_seconds=10.0,
        create_requests={"bigip-1": 13},
    )
    bad.judge()
    assert [problem.split()[0] for problem in bad.problems] == ["2", "takeover", "bigip-1"]


def test_the_table_says_when_nothing_could_be_counted() -> None:
    outcome = DemoResult(create_requests_promised=3)
    outcome.judge()
    assert outcome.rows()[5] == ("device requests used to create the load balancer", NOT_COUNTED)


def test_the_table_says_what_was_counted_and_what_only_this_device_has() -> None:
    outcome = DemoResult(
        create_requests_promised=3,
        requests_counted="writes to the device",
        create_requests={"haproxy-1": 2},
        more=[("a step of its own", "went well")],
    )
    assert outcome.rows()[5:] == [
        ("writes to the device used to create the load balancer", "haproxy-1 2"),
        ("a step of its own", "went well"),
    ]
