"""A collector of traces: takes OTLP over HTTP as protobuf, and keeps the spans."""

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class CollectedSpan(NamedTuple):
    """One span as it arrived; ids in hexadecimal."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, Any]
    links: tuple[str, ...]
    """Trace ids."""
    failed: str
    """Why; empty: it did not fail."""


class Collector:
    """What arrived."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[CollectedSpan] = []
        self.bodies: list[bytes] = []

    def take(self, body: bytes) -> None:
        """Keep the spans of one request."""
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _attributes(resource.resource)["service.name"]
            self.spans += [_span(service, each) for scope in resource.scope_spans for each in scope.spans]

    def of_trace(self, trace_id: str) -> list[CollectedSpan]:
        """Its spans so far."""
        return [span for span in self.spans if span.trace_id == trace_id]


def _attributes(holder: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}


def _span(service: str, span: Any) -> CollectedSpan:
    return CollectedSpan(
        service=service,
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_attributes(span),
        links=tuple(link.trace_id.hex() for link in span.links),
        failed=(span.status.message or "failed") if span.status.code == 2 else "",
    )


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of 127.0.0.1."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            gzipped = self.headers.get("Content-Encoding") == "gzip"
            collector.take(gzip.decompress(body) if gzipped else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
