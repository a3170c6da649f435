"""Spans on their way to a collector, which may be down, slow or wrong."""

import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel.metrics.tracing import SPANS
from evenkeel.tracing import export
from evenkeel.tracing.export import TraceExport
from tests.services.otlp import collecting


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may stand still for longer than spans are waited for."""
    monkeypatch.setattr(export, "EXPORT_TIMEOUT_SECONDS", 60.0)
    monkeypatch.setattr(export, "CLOSE_SECONDS", 60.0)


def exporting(url: str) -> TraceExport:
    return TraceExport(url, service="evenkeel-test", instance="host-1", share=1.0)


def request(made: TraceExport, count: int = 1) -> None:
    for _ in range(count):
        with made.tracer.request_span(str(uuid.uuid4()), "GET /x"):
            pass


def counted(outcome: str) -> float:
    return float(SPANS.labels(outcome)._value.get())


def test_the_last_spans_arrive_when_the_process_ends() -> None:
    before = counted("sent")
    with collecting() as collector:
        made = exporting(collector.url)
        request(made, 3)
        made.close()
        assert [(span.service, span.name) for span in collector.spans] == [("evenkeel-test", "GET /x")] * 3
    assert counted("sent") - before == 3


def test_a_collector_that_is_down_costs_only_the_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "EXPORT_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(export, "SEND_EVERY_MILLISECONDS", 20)
    monkeypatch.setattr(export, "BATCH_SPANS", 1)
    before = counted("lost")
    made = exporting("http://127.0.0.1:9/v1/traces")
    with capture_logs() as told:
        request(made, 3)
        made.close()
    assert counted("lost") - before == 3
    assert [entry["event"] for entry in told] == ["traces are lost: the collector does not accept them"]


def test_the_queue_is_bounded_and_never_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "QUEUE_SPANS", 600)
    monkeypatch.setattr(export, "CLOSE_SECONDS", 0.1)
    release = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            release.wait(60.0)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        made = exporting(f"http://127.0.0.1:{server.server_address[1]}/v1/traces")
        request(made, 5000)  # returns, although nothing is taken
        made.close()  # in a limited time
        (processor,) = made._provider._active_span_processor._span_processors
        assert len(processor._batch_processor._queue) <= 600  # type: ignore[attr-defined]
        release.set()
        server.shutdown()
        thread.join()


def test_without_the_option_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys, evenkeel.cmd.controller, evenkeel.cmd.agent, evenkeel.cmd.haproxyd;"
        "sys.exit(any(name.startswith(('opentelemetry', 'evenkeel.tracing')) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
