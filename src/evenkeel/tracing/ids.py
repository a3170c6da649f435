"""Ids of traces and spans, derived from the id of a change, and the decision which traces are kept.

A change id is a UUID (version 4). Its 128 bits are the trace id, so an operator finds the trace of a request by its id
without the dashes; its lower half is the id of the request's span.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanContext, TraceFlags

_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TRACEPARENT_PATTERN = re.compile(r"00-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
_LOWER_64_BITS = (1 << 64) - 1
_RANDOM_BITS = 56
"""Number of the lowest bits of a UUID that are random: as many as W3C Trace Context requires of a trace id."""


class FirstSpanIds(NamedTuple):
    """Ids of the first span of a change's trace: trace id (128 bits) and span id (64 bits)."""

    trace_id: int
    span_id: int


next_span_ids: ContextVar[FirstSpanIds | None] = ContextVar("next_trace_ids", default=None)
"""Ids for the next span to be started; None: random ids."""


def first_span_ids(change_id: str) -> FirstSpanIds | None:
    """Derive the ids of the first span of a change's trace; None if ``change_id`` is no UUID, or would give
    the invalid span id 0.
    """
    if not _UUID_PATTERN.fullmatch(change_id):
        return None
    number = int(change_id.replace("-", ""), 16)
    # A span id of zero is invalid (W3C Trace Context).
    return FirstSpanIds(number, number & _LOWER_64_BITS) if number & _LOWER_64_BITS else None


def remote_span_context(ids: FirstSpanIds) -> SpanContext:
    """Return the context of a trace's first span, as sampled, for spans of other processes."""
    return SpanContext(ids.trace_id, ids.span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def parse_traceparent(header: str) -> SpanContext | None:
    """Parse a ``traceparent`` header (W3C Trace Context, version 00); None if it is invalid. Only the flag
    "sampled" is kept.
    """
    found = _TRACEPARENT_PATTERN.fullmatch(header) if len(header) <= 64 else None
    if found is None:
        return None
    # All other bits are reserved and must not be passed on (W3C Trace Context, 3.2.2.5).
    flags = TraceFlags(int(found["flags"], 16) & TraceFlags.SAMPLED)
    context = SpanContext(int(found["trace"], 16), int(found["span"], 16), is_remote=True, trace_flags=flags)
    return context if context.is_valid else None


def format_traceparent(context: SpanContext) -> str:
    """Format a span's context as a ``traceparent`` header; of its flags only "sampled" is passed on."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & TraceFlags.SAMPLED:02x}"


class ChangeIdGenerator(IdGenerator):
    """Generator of ids of spans and traces: those in :data:`next_span_ids` if they are set, else random ones."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_span_id(self) -> int:
        """Return the id for a new span."""
        ids = next_span_ids.get()
        return self._random.generate_span_id() if ids is None else ids.span_id

    def generate_trace_id(self) -> int:
        """Return the trace id for a new span."""
        ids = next_span_ids.get()
        return self._random.generate_trace_id() if ids is None else ids.trace_id


class TraceShareSampler(Sampler):
    """Sampler that keeps a share of the traces, by the trace id alone: all processes with the same share keep the same
    traces.
    """

    def __init__(self, share: float) -> None:
        """Initialize the sampler. ``share``: share of the traces that are kept, 0 to 1."""
        self._share = share
        self._bound = round(share * (1 << _RANDOM_BITS))

    def is_kept(self, trace_id: int) -> bool:
        return trace_id & ((1 << _RANDOM_BITS) - 1) < self._bound

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: object = None,
        attributes: Mapping[str, object] | None = None,
        links: object = None,
        trace_state: object = None,
    ) -> SamplingResult:
        """Decide by the trace id alone: all spans of a trace get the same result. Kept spans keep
        ``attributes``.
        """
        if self.is_kept(trace_id):
            return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)  # type: ignore[arg-type]
        return SamplingResult(Decision.DROP)

    def get_description(self) -> str:
        """Return a description of the sampler for logs."""
        return f"ShareOfTraces({self._share:g})"
