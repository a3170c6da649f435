"""Export of spans to a collector, by a thread of its own from a bounded queue: spans that do not fit are
dropped, and so are those of batches that the collector does not accept in time.
"""

import logging
import threading
from collections.abc import Sequence

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import evenkeel
from evenkeel.metrics.tracing import SPANS
from evenkeel.tracing.ids import ChangeIdGenerator, TraceShareSampler
from evenkeel.tracing.tracer import OpenTelemetryTracer

log = structlog.get_logger(__name__)

QUEUE_SPANS = 4096
BATCH_SPANS = 512
SEND_EVERY_MILLISECONDS = 2000
EXPORT_TIMEOUT_SECONDS = 5.0
"""Time-out in seconds for one batch of spans, including repetitions."""
CLOSE_SECONDS = 3.0
"""Time-out in seconds for the last spans when the process stops."""
SPAN_LIMITS = SpanLimits(
    max_span_attributes=32, max_span_attribute_length=256, max_events=8, max_links=32, max_link_attributes=8
)


class CountingExporter(SpanExporter):
    """Exporter of spans that counts sent and lost ones, and logs when the collector becomes unreachable and
    reachable again.
    """

    def __init__(self, inner: SpanExporter, endpoint: str) -> None:
        self._inner = inner
        self._endpoint = endpoint
        self._lost = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans, and count them as sent or lost. Does not raise: an error becomes the result
        FAILURE.
        """
        try:
            result = self._inner.export(spans)
        except Exception as error:
            log.debug("spans not encoded or sent", error=type(error).__name__)
            result = SpanExportResult.FAILURE
        lost = result is not SpanExportResult.SUCCESS
        SPANS.labels("lost" if lost else "sent").inc(len(spans))
        if lost != self._lost:
            self._lost = lost
            if lost:
                log.warning("traces are lost: the collector does not accept them", endpoint=self._endpoint)
            else:
                log.info("the collector accepts traces again", endpoint=self._endpoint)
        return result

    def shutdown(self) -> None:
        """Close the exporter's connections."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Return True: this exporter buffers nothing."""
        return True


class TraceExport:
    """A tracer whose spans are sent to a collector, and the sending thread."""

    def __init__(self, endpoint: str, *, service: str, instance: str, share: float) -> None:
        """Start the export to ``endpoint``, an OTLP URL. ``service``, ``instance``: names of this process in
        traces. ``share``: share of the traces that are kept, 0 to 1.
        """
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # CountingExporter logs the loss of traces, once
        sampler = TraceShareSampler(share)
        self._provider = TracerProvider(
            sampler=sampler,
            resource=Resource(
                {
                    "service.name": service,
                    "service.instance.id": instance,
                    "service.version": evenkeel.__version__,
                }
            ),
            id_generator=ChangeIdGenerator(),
            span_limits=SPAN_LIMITS,
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_TIMEOUT_SECONDS)
        self._provider.add_span_processor(
            BatchSpanProcessor(
                CountingExporter(exporter, endpoint),
                max_queue_size=QUEUE_SPANS,
                schedule_delay_millis=SEND_EVERY_MILLISECONDS,
                max_export_batch_size=BATCH_SPANS,
            )
        )
        self.tracer = OpenTelemetryTracer(self._provider, sampler)

    def close(self) -> None:
        """Send the last spans, for at most :data:`CLOSE_SECONDS`; blocks the calling thread."""
        # in a thread: the provider's shutdown has no time-out of its own while the collector does not answer
        closing = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
