"""Spans of one process."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from evenkeel.core.kit.request_context import PREFIX, begin_request, new_change_id
from evenkeel.core.kit.tracing import NoTracer, use_tracer
from evenkeel.tracing.ids import ChangeIdGenerator, TraceShareSampler, first_span_ids, parse_traceparent
from evenkeel.tracing.tracer import STEPS_MAX, OpenTelemetryTracer

CLIENTS = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


class Traced:
    """A tracer, and the spans that ended."""

    def __init__(self, share: float = 1.0) -> None:
        self._exporter = InMemorySpanExporter()
        sampler = TraceShareSampler(share)
        provider = TracerProvider(sampler=sampler, id_generator=ChangeIdGenerator(), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = OpenTelemetryTracer(provider, sampler)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name."""
        return {span.name: span for span in self._exporter.get_finished_spans()}

    @property
    def count(self) -> int:
        return len(self._exporter.get_finished_spans())


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    use_tracer(made.tracer)
    yield made
    use_tracer(NoTracer())


def change() -> str:
    return str(uuid.uuid4())


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_the_id_of_a_request_is_that_of_its_trace(traced: Traced) -> None:
    made = change()
    with traced.tracer.request_span(made, "POST /x"), traced.tracer.span("inside"):
        header = traced.tracer.headers()["traceparent"]
    request, inside = traced.spans["POST /x"], traced.spans["inside"]
    assert trace_of(request) == trace_of(inside) == made.replace("-", "")
    assert parent_of(inside) == id_of(request) == int(made.replace("-", "")[16:], 16)
    assert header == f"00-{trace_of(inside)}-{id_of(inside):016x}-01"
    assert request.parent is None and dict(request.attributes or {}) == {"evenkeel.request_id": PREFIX + made}


def test_another_process_continues_the_trace_by_the_change_alone(traced: Traced) -> None:
    made = change()
    with traced.tracer.deferred_span("reconcile") as work:
        with traced.tracer.span("pull") as pull:
            pull.set("pages", 2)
        work.set_changes({made: "lb"})
        with traced.tracer.span("PATCH", remote=True):
            assert traced.tracer.headers()
    ids = first_span_ids(made)
    spans = traced.spans
    assert ids is not None and parent_of(spans["reconcile"]) == ids.span_id
    assert {trace_of(span) for span in spans.values()} == {made.replace("-", "")}
    assert parent_of(spans["pull"]) == parent_of(spans["PATCH"]) == id_of(spans["reconcile"])
    assert (spans["reconcile"].start_time or 0) <= (spans["pull"].start_time or 0) < (spans["PATCH"].start_time or 0)
    assert dict(spans["reconcile"].attributes or {})["evenkeel.load_balancer.id"] == "lb"
    assert dict(spans["pull"].attributes or {}) == {"pages": 2}


def test_work_without_changes_leaves_no_span(traced: Traced) -> None:
    with traced.tracer.deferred_span("reconcile") as work:
        with traced.tracer.span("pull"):
            pass
        work.set_changes({})
        with traced.tracer.span("apply"):
            assert traced.tracer.headers() == {}
    with traced.tracer.span("outside"):
        pass
    assert traced.count == 0


def test_work_on_several_changes_is_in_each_trace_with_links_to_the_first(traced: Traced) -> None:
    first, second = change(), change()
    with traced.tracer.deferred_span("reconcile") as work:
        work.set_changes({first: "a", second: "b", "not an id": "c"})
    found = {trace_of(span): span for span in traced._exporter.get_finished_spans()}
    assert set(found) == {first.replace("-", ""), second.replace("-", "")}
    (link,) = found[second.replace("-", "")].links
    assert link.context.trace_id == int(first.replace("-", ""), 16)


def test_an_error_is_noted_by_its_type_only(traced: Traced) -> None:
    with pytest.raises(ValueError), traced.tracer.deferred_span("reconcile") as work:
        with pytest.raises(KeyError), traced.tracer.span("pull"):
            raise KeyError("secret")
        work.set_changes({change(): "lb"})
        raise ValueError("secret")
    told = {name: span.status.description for name, span in traced.spans.items()}
    assert told == {"reconcile": "ValueError", "pull": "KeyError"}
    assert not any(span.events for span in traced.spans.values())


async def test_a_task_that_outlives_its_step_adds_nothing(traced: Traced) -> None:
    ended = asyncio.Event()

    async def later() -> None:
        await ended.wait()
        with traced.tracer.span("late"):
            assert traced.tracer.headers() == {}

    with traced.tracer.request_span(change(), "POST /x"):
        one = asyncio.create_task(later())
    with traced.tracer.deferred_span("reconcile") as work:
        two = asyncio.create_task(later())
        work.set_changes({})
    ended.set()
    await asyncio.gather(one, two)
    assert set(traced.spans) == {"POST /x"}


def test_steps_before_the_changes_are_known_are_bounded(traced: Traced) -> None:
    with traced.tracer.deferred_span("reconcile") as work:
        for _ in range(3 * STEPS_MAX):
            with traced.tracer.span("step"):
                pass
        work.set_changes({change(): "lb"})
    assert traced.count == STEPS_MAX + 1


def test_a_clients_trace_is_linked_and_never_joined(traced: Traced) -> None:
    made = change()
    with traced.tracer.request_span(made, "POST /x", client=CLIENTS):
        pass
    span = traced.spans["POST /x"]
    assert trace_of(span) == made.replace("-", "")
    assert [f"{link.context.trace_id:032x}" for link in span.links] == ["0123456789abcdef0123456789abcdef"]


@pytest.mark.parametrize(
    "header",
    ["", "00", "x" * 10_000, "00-" + "0" * 32 + "-" + "0" * 16 + "-01", CLIENTS.upper(), CLIENTS + "-more", "ä"],
)
def test_invalid_trace_context_is_ignored(header: str, traced: Traced) -> None:
    assert parse_traceparent(header) is None
    with (
        traced.tracer.request_span(change(), "POST /x", client=header),
        traced.tracer.span_for_received_request(header, "write"),
    ):
        pass
    assert set(traced.spans) == {"POST /x"} and traced.spans["POST /x"].links == ()


def test_a_device_joins_the_trace_by_the_header(traced: Traced) -> None:
    with traced.tracer.span_for_received_request(CLIENTS, "write partition") as span:
        span.set("how", "reload")
    (found,) = traced.spans.values()
    assert (trace_of(found), parent_of(found)) == (CLIENTS[3:35], int(CLIENTS[36:52], 16))


def test_a_step_may_follow_one_that_has_ended(traced: Traced) -> None:
    with traced.tracer.request_span(change(), "POST /x"):
        origin = traced.tracer.origin()
    with traced.tracer.span_following_from(origin, "send hint"):
        pass
    assert parent_of(traced.spans["send hint"]) == id_of(traced.spans["POST /x"])
    assert traced.tracer.origin() is None


def test_a_second_change_of_a_request_has_a_trace_with_a_link_to_it(traced: Traced) -> None:
    request_id = begin_request()
    with traced.tracer.request_span(request_id.removeprefix(PREFIX), "POST /x"):
        first, second = new_change_id(), new_change_id()
    assert PREFIX + first == request_id
    span = traced.spans["change"]
    assert trace_of(span) == second.replace("-", "")
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [first.replace("-", "")]


def test_processes_with_the_same_share_keep_the_same_traces() -> None:
    changes = [change() for _ in range(2000)]
    kept = []
    for _ in range(2):
        traced = Traced(share=0.25)
        for each in changes:
            with traced.tracer.request_span(each, "POST /x"), traced.tracer.span("inside"):
                pass
            with traced.tracer.deferred_span("reconcile") as work:
                work.set_changes({each: "lb"})
        kept.append({trace_of(span) for span in traced._exporter.get_finished_spans()})
        assert traced.count == 3 * len(kept[-1])
    assert kept[0] == kept[1]
    assert 300 < len(kept[0]) < 700
