"""Traces of changes through all processes: the port to tracers, and a tracer that records nothing.

The id of an API request is the identity of the change that it makes, and travels with it (see
:mod:`evenkeel.core.kit.request_context`). It is also the trace id, and the id of the request's span is a part
of it: so any process that has a change can compute its place in the trace, and messages need no field for it.

Every function costs next to nothing while no tracer is in use.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool]
"""Attributes of a span: {name: value}, without secrets and message bodies."""
Changes = Mapping[str, str]
"""{change id: id of the changed load balancer}."""

HEADER = "traceparent"
"""Name of the header by which HTTP requests carry their trace (W3C Trace Context)."""
NO_ATTRIBUTES: Attributes = {}


class Span(Protocol):
    """One step of a trace, which ends with its ``with`` block; if an error leaves the block, the error's type
    is recorded.
    """

    def set(self, name: str, value: str | int) -> None: ...

    def fail(self, reason: str) -> None:
        """Mark the step as failed, for ``reason``."""
        ...


class DeferredSpan(Protocol):
    """A step of a trace whose changes, and so its traces, become known only after the step began. Without any
    change the step is dropped.
    """

    def set_changes(self, changes: Changes) -> None:
        """Add the span to the trace of each of these changes; without changes the span is dropped. Must be
        called once, before the span ends. Spans inside the span belong to the first change's trace.
        """
        ...


class Origin(Protocol):
    """A span that began an operation; later spans, also of other processes, become its children."""


class Tracer(Protocol):
    """Port to traces of changes: makes spans, the steps of a trace. No method raises."""

    @property
    def on(self) -> bool:
        """True if the tracer makes spans; otherwise callers need not gather attributes."""
        ...

    def request_span(
        self, change_id: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES, client: str = ""
    ) -> AbstractContextManager[Span]:
        """Begin the first span of a trace: an API request that may make a change with the id ``change_id``.
        ``client``: ``traceparent`` header of a client with a trace of its own, to which the span gets a
        link (empty: none); clients do not choose our trace ids.
        """
        ...

    def start_linked_trace(self, change_id: str) -> None:
        """Begin the trace of a further change that the current request makes, with a link to the request's
        trace; nothing without a current span.
        """
        ...

    def span(
        self, name: str, *, attributes: Attributes = NO_ATTRIBUTES, remote: bool = False
    ) -> AbstractContextManager[Span]:
        """Begin a step within the current step; without one nothing is traced. ``remote``: another program does the
        work.
        """
        ...

    def deferred_span(
        self, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[DeferredSpan]:
        """Begin a step whose changes, and so its traces, are known only later: see :class:`DeferredSpan`."""
        ...

    def origin(self) -> Origin | None:
        """Return a reference to the current span; None if there is none."""
        ...

    def span_following_from(
        self, origin: Origin | None, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        """Begin a step that follows from the span ``origin``, which may have ended; nothing is traced if
        ``origin`` is None.
        """
        ...

    def span_for_received_request(
        self, header: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        """Begin a step for a request of another process of this project; ``header``: the request's
        ``traceparent``. Nothing is traced if the header is invalid.
        """
        ...

    def headers(self) -> Mapping[str, str]:
        """Return the HTTP headers ({name: value}) by which requests made in the current step carry their
        trace; empty outside of a step.
        """
        ...


class _NoSpan:
    """A span, or deferred span, that records nothing."""

    def __enter__(self) -> "_NoSpan":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, name: str, value: str | int) -> None:
        """Do nothing: the span is not recorded."""

    def fail(self, reason: str) -> None:
        """Do nothing: the span is not recorded."""

    def set_changes(self, changes: Changes) -> None:
        """Do nothing: the span is not recorded."""


NOTHING = _NoSpan()
_NO_HEADERS: Mapping[str, str] = {}


class NoTracer:
    """A tracer that makes no spans."""

    on = False

    def request_span(
        self, change_id: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES, client: str = ""
    ) -> _NoSpan:
        return NOTHING

    def start_linked_trace(self, change_id: str) -> None:
        """Do nothing: the change is not traced."""

    def span(self, name: str, *, attributes: Attributes = NO_ATTRIBUTES, remote: bool = False) -> _NoSpan:
        return NOTHING

    def deferred_span(self, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> _NoSpan:
        return NOTHING

    def origin(self) -> Origin | None:
        return None

    def span_following_from(
        self, origin: Origin | None, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> _NoSpan:
        return NOTHING

    def span_for_received_request(self, header: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> _NoSpan:
        return NOTHING

    def headers(self) -> Mapping[str, str]:
        return _NO_HEADERS


_tracer: Tracer = NoTracer()


def tracer() -> Tracer:
    """Return the tracer of this process: one that makes no spans until :func:`use_tracer` was called."""
    return _tracer


def use_tracer(new: Tracer) -> None:
    """Set the tracer of this process."""
    global _tracer  # one for each process, like the registry of metrics
    _tracer = new
