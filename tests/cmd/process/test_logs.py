"""What processes say is one line an event, in one format, whatever is in it; and what repeats is folded."""

import json
import subprocess
import sys
from typing import Any

import pytest
import structlog

from evenkeel.cmd.process.logs import FOLD_SECONDS, FOLDED_EVENTS_MAX, RepeatedEvents

SAYING = """
import logging
import sys
import warnings
import structlog
from oslo_config import cfg
from evenkeel.cmd.options.logging_options import LOGGING_OPTIONS
from evenkeel.cmd.process.logs import set_up_logs
conf = cfg.ConfigOpts()
conf.register_opts(LOGGING_OPTIONS)
conf([], default_config_files=[])
conf.set_override("log_format", sys.argv[1])
set_up_logs(conf, name="test")
log = structlog.get_logger()
log.warning("refused", reason="a\\r\\nlevel=error event=forged", name="\\x1b[2J\\u202egone", number=1)
try:
    raise ValueError("x\\x1b[31m\\r")
except ValueError as error:
    log.error("failed", exc_info=error)
for number in range(500):
    log.warning("database unreachable; trying again", error=f"no answer in {number} ms")
    logging.getLogger("asyncpg").warning("connection %d lost", number)
logging.getLogger("asyncpg").info("of no interest")
log.debug("of no interest")
"""


def said(log_format: str) -> list[str]:
    command = [sys.executable, "-c", SAYING, log_format]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stderr.decode().strip().split("\n")


def test_texts_of_others_begin_no_line_and_give_no_orders() -> None:
    lines = said("logfmt")
    assert len(lines) == 4, lines
    assert all(line.isprintable() for line in lines), lines
    assert "forged" in lines[0] and "gone" in lines[0] and "number=1" in lines[0]
    assert all(line.startswith("timestamp=") and " level=" in line and "process=test" in line for line in lines)


def test_json_is_an_object_in_each_line_also_for_libraries() -> None:
    first, failed, lost, library = map(json.loads, said("json"))
    assert (first["event"], first["number"], first["level"]) == ("refused", 1, "warning")
    assert "ValueError" in failed["exception"]
    assert lost["event"] == "database unreachable; trying again"
    assert (library["event"], library["logger"], library["process"]) == ("connection 0 lost", "asyncpg", "test")
    assert all(event["timestamp"].endswith("Z") for event in (first, failed, lost, library))


def test_console_is_for_people() -> None:
    assert "database unreachable; trying again" in said("console")[-2]


class Log:
    def __init__(self) -> None:
        self.now = 0.0
        self._repeated = RepeatedEvents(lambda: self.now)

    def takes(self, level: str, **event: Any) -> int | None:
        """How many were folded into it; None: it is folded itself."""
        event["level"] = level
        try:
            return int(self._repeated(None, level, event).get("repeated", 0))
        except structlog.DropEvent:
            return None


def test_the_same_reason_is_logged_once_a_minute_with_the_number_of_the_others() -> None:
    log = Log()
    assert log.takes("warning", event="lost", error="no answer in 1.5 s", shard="a") == 0
    for shard in "bcd":
        assert log.takes("warning", event="lost", error="no answer in 27 s", shard=shard) is None
    assert log.takes("warning", event="lost", error="refused", shard="a") == 0
    assert log.takes("error", event="other", error="no answer in 1.5 s") == 0
    log.now += FOLD_SECONDS
    assert log.takes("warning", event="lost", error="no answer in 1.5 s", shard="a") == 3
    log.now += FOLD_SECONDS
    assert log.takes("warning", event="lost", error="no answer in 1.5 s", shard="a") == 0


def test_warnings_without_a_reason_are_folded_only_if_equal_and_information_never() -> None:
    log = Log()
    assert log.takes("warning", event="guard lost", device="a") == 0
    assert log.takes("warning", event="guard lost", device="b") == 0
    assert log.takes("warning", event="guard lost", device="a") is None
    assert [log.takes("info", event="shard assigned", reason="x") for _ in range(3)] == [0, 0, 0]


def test_tracebacks_are_folded_by_their_error() -> None:
    log = Log()
    assert log.takes("error", event="failed", exc_info=ValueError("row 1")) == 0
    assert log.takes("error", event="failed", exc_info=ValueError("row 2")) is None
    assert log.takes("error", event="failed", exc_info=KeyError("row 2")) == 0


def test_not_everything_that_ever_was_is_remembered() -> None:
    log = Log()
    for number in range(FOLDED_EVENTS_MAX + 1):
        assert log.takes("warning", event="e", reason="x" * number) == 0
    assert log.takes("warning", event="e", reason="") == 0, "the oldest one is forgotten"


@pytest.mark.parametrize("seconds", [3600])
def test_an_hour_without_a_database_is_less_than_a_megabyte(seconds: int) -> None:
    log, size = Log(), 0
    for _ in range(seconds * 10):
        log.now += 0.1
        for part in ("failure detector", "scheduler", "sweeper", "renewals", "callbacks"):
            event = f"dependency unavailable; trying again part={part}"
            if log.takes("warning", event=event, error=f"[Errno 111] {log.now} ('127.0.0.1', 5432)") is not None:
                size += 300
    assert 5 * 59 * 300 <= size < 1_000_000
