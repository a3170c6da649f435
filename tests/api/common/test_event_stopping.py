"""A controller that stops ends its streams at once, so that its clients go to another one."""

import signal
from pathlib import Path

import httpx

from tests.api.common.test_event_stream import PATH, STREAM
from tests.api.stack import Stack


def test_streams_end_when_their_controller_stops(tmp_path: Path) -> None:
    with Stack.started(tmp_path) as stack:
        process = stack._workshop.processes["controller-1"]
        with httpx.stream("GET", stack.url + PATH, headers=STREAM, timeout=120.0) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("retry:")
            process.send(signal.SIGTERM)
            rest = list(lines)  # to the end of the answer: it is whole
        assert not [line for line in rest if not line.startswith(("id:", "data:", ":")) and line]
        assert process.wait(60.0)
