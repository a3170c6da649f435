"""Implementation of :class:`evenkeel.core.kit.tracing.Tracer` with OpenTelemetry.

A span is a child of the current one only while that has not ended: tasks that outlive the step that started
them add nothing to its trace.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from typing import NamedTuple, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

from evenkeel.core.kit.request_context import PREFIX, REQUEST_IDS_MAX
from evenkeel.core.kit.tracing import HEADER, NO_ATTRIBUTES, NOTHING, Attributes, Changes, DeferredSpan, Origin, Span
from evenkeel.tracing.ids import (
    FirstSpanIds,
    TraceShareSampler,
    first_span_ids,
    format_traceparent,
    next_span_ids,
    parse_traceparent,
    remote_span_context,
)

STEPS_MAX = 200
"""Maximum number of steps of a deferred span that are stored until its changes are known."""
REQUEST_ID_ATTRIBUTE = "evenkeel.request_id"
LOAD_BALANCER_ATTRIBUTE = "evenkeel.load_balancer.id"


class RecordedSpan:
    """A span that OpenTelemetry records, in the form of :class:`evenkeel.core.kit.tracing.Span`."""

    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def fail(self, reason: str) -> None:
        """Mark the span as failed, for ``reason``."""
        self._span.set_status(Status(StatusCode.ERROR, reason))


class _EndedStep(NamedTuple):
    """A step of a deferred span that ended before the changes were known. ``began``, ``ended``: nanoseconds
    since the epoch; ``failed``: why it failed, empty if it did not.
    """

    name: str
    kind: SpanKind
    attributes: Attributes
    began: int
    ended: int
    failed: str


class _PendingStep:
    """A running step of a deferred span whose changes are not known yet. ``failed``: why the step failed;
    empty if it did not.
    """

    __slots__ = ("attributes", "failed")

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = dict(attributes)
        self.failed = ""

    def set(self, name: str, value: str | int) -> None:
        self.attributes[name] = value

    def fail(self, reason: str) -> None:
        """Mark the step as failed, for ``reason``."""
        self.failed = reason


class RecordedDeferredSpan:
    """A deferred span: when its changes are known, spans of OpenTelemetry are started, with the steps that
    ended until then.
    """

    def __init__(self, tracer: trace.Tracer, share: TraceShareSampler, name: str, attributes: Attributes) -> None:
        self._tracer = tracer
        self._share = share
        self._name = name
        self._attributes = attributes
        self._began = time.time_ns()
        self._steps: list[_EndedStep] = []
        self._spans: list[trace.Span] = []
        self._token: Token[Context] | None = None
        self.known = False

    def set_changes(self, changes: Changes) -> None:
        """Start a span in the trace of each of these changes (at most :data:`REQUEST_IDS_MAX`) whose trace is
        kept. Steps so far, and later spans of this task, become children of the first one. Changes whose
        id is no UUID are left out.
        """
        self.known = True
        kept = [
            (change_id, ids) for change_id in changes if (ids := first_span_ids(change_id)) and self._is_sampled(ids)
        ]
        for change_id, ids in kept[:REQUEST_IDS_MAX]:
            # The steps are in the trace of the first change only, so the spans in the other traces link to it.
            links = [Link(span.get_span_context()) for span in self._spans[:1]]
            attributes = {
                REQUEST_ID_ATTRIBUTE: PREFIX + change_id,
                LOAD_BALANCER_ATTRIBUTE: changes[change_id],
                **self._attributes,
            }
            parent = trace.set_span_in_context(trace.NonRecordingSpan(remote_span_context(ids)), Context())
            self._spans.append(
                self._tracer.start_span(
                    self._name,
                    parent,
                    SpanKind.CONSUMER,
                    attributes=attributes,
                    links=links,
                    start_time=self._began,
                )
            )
        if self._spans:
            # from here on, spans of this task are children of the first change's span
            inside = trace.set_span_in_context(self._spans[0])
            self._token = contexts.attach(inside)
            for step in self._steps:
                self._record_step(step, inside)
        self._steps.clear()

    def _is_sampled(self, ids: FirstSpanIds) -> bool:
        return self._share.is_kept(ids.trace_id)

    def _record_step(self, step: _EndedStep, inside: Context) -> None:
        span = self._tracer.start_span(step.name, inside, step.kind, attributes=step.attributes, start_time=step.began)
        if step.failed:
            span.set_status(Status(StatusCode.ERROR, step.failed))
        span.end(step.ended)

    @contextmanager
    def step(self, name: str, kind: SpanKind, attributes: Attributes) -> Iterator[Span]:
        """Record the block as a step of the deferred span before its changes are known; steps beyond
        :data:`STEPS_MAX` are dropped. An error that leaves the block marks the step as failed.
        """
        began, waiting = time.time_ns(), _PendingStep(attributes)
        try:
            yield waiting
        except BaseException as error:
            waiting.fail(type(error).__name__)
            raise
        finally:
            if len(self._steps) < STEPS_MAX:
                step = _EndedStep(name, kind, waiting.attributes, began, time.time_ns(), waiting.failed)
                self._steps.append(step)

    def end(self, failed: str = "") -> None:
        """End the spans that were started for the changes. ``failed``: why the work failed; empty: it did
        not.
        """
        if self._token is not None:
            contexts.detach(self._token)
        for span in self._spans:
            if failed:
                span.set_status(Status(StatusCode.ERROR, failed))
            span.end()


_current_deferred_span: ContextVar[RecordedDeferredSpan | None] = ContextVar("traced_work", default=None)


class OpenTelemetryTracer:
    """Tracer that records the spans of one process with OpenTelemetry."""

    on = True

    def __init__(self, provider: TracerProvider, share: TraceShareSampler) -> None:
        self._tracer = provider.get_tracer("evenkeel")
        self._share = share

    @contextmanager
    def request_span(
        self, change_id: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES, client: str = ""
    ) -> Iterator[Span]:
        linked = parse_traceparent(client) if client else None
        links = [] if linked is None else [Link(linked)]
        named = {REQUEST_ID_ATTRIBUTE: PREFIX + change_id, **attributes}
        with self._current_span(self._root_span(change_id, name, named, links)) as span:
            yield span

    def start_linked_trace(self, change_id: str) -> None:
        current = trace.get_current_span()
        if current.is_recording():
            links = [Link(current.get_span_context())]
            self._root_span(change_id, "change", {REQUEST_ID_ATTRIBUTE: PREFIX + change_id}, links).end()

    def span(
        self, name: str, *, attributes: Attributes = NO_ATTRIBUTES, remote: bool = False
    ) -> AbstractContextManager[Span]:
        kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
        if trace.get_current_span().is_recording():
            return self._current_span(self._tracer.start_span(name, kind=kind, attributes=attributes))
        work = _current_deferred_span.get()
        return NOTHING if work is None or work.known else work.step(name, kind, attributes)

    @contextmanager
    def deferred_span(self, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> Iterator[DeferredSpan]:
        work = RecordedDeferredSpan(self._tracer, self._share, name, attributes)
        token = _current_deferred_span.set(work)
        try:
            yield work
        except BaseException as error:
            work.end(type(error).__name__)
            raise
        else:
            work.end()
        finally:
            work.known = True  # for tasks that outlive it
            _current_deferred_span.reset(token)

    def origin(self) -> Origin | None:
        current = trace.get_current_span()
        return current.get_span_context() if current.is_recording() else None

    def span_following_from(
        self, origin: Origin | None, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        if origin is None:
            return NOTHING
        return self._current_span(
            self._start_child_span(cast(SpanContext, origin), name, SpanKind.PRODUCER, attributes)
        )

    def span_for_received_request(
        self, header: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        sender = parse_traceparent(header) if header else None
        return (
            NOTHING
            if sender is None
            else self._current_span(self._start_child_span(sender, name, SpanKind.SERVER, attributes))
        )

    def headers(self) -> Mapping[str, str]:
        current = trace.get_current_span()
        return {HEADER: format_traceparent(current.get_span_context())} if current.is_recording() else {}

    def _root_span(self, change_id: str, name: str, attributes: Attributes, links: list[Link]) -> trace.Span:
        token = next_span_ids.set(first_span_ids(change_id))
        try:
            # In an empty context, so that the request begins a trace of its own inside any other span.
            return self._tracer.start_span(name, Context(), SpanKind.SERVER, attributes=attributes, links=links)
        finally:
            next_span_ids.reset(token)

    def _start_child_span(self, parent: SpanContext, name: str, kind: SpanKind, attributes: Attributes) -> trace.Span:
        inside = trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())
        return self._tracer.start_span(name, inside, kind, attributes=attributes)

    @contextmanager
    def _current_span(self, span: trace.Span) -> Iterator[Span]:
        """Make ``span`` the current one until the block ends, then end it. An error that leaves the block
        marks the span as failed.
        """
        token = contexts.attach(trace.set_span_in_context(span))
        opened = RecordedSpan(span)
        try:
            yield opened
        except BaseException as error:
            opened.fail(type(error).__name__)
            raise
        finally:
            contexts.detach(token)
            span.end()
