"""Traces of changes through all processes: the port, and a tracer that makes none.

The id of an API request is the identity of the change that it makes, and travels with it (see
:mod:`evenkeel.core.request_context`). It is also the trace id, and the id of the request's span is a part of it: so any
process that has a change knows its place in the trace, and messages need no field for it.

Every function costs next to nothing while no tracer is in use.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool]
"""Of a span. Never secrets, nor bodies."""
Changes = Mapping[str, str]
"""Load balancers, by the id of their change."""

HEADER = "traceparent"
"""In HTTP requests: W3C Trace Context."""
NO_ATTRIBUTES: Attributes = {}


class Span(Protocol):
    """One step of a trace. It ends with its block; an error that leaves the block is noted by its type."""

    def set(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        ...

    def fail(self, reason: str) -> None:
        """Note that the step failed."""
        ...


class DeferredSpan(Protocol):
    """A step of which the changes, and so the traces, turn out after its begin. It is dropped if none do."""

    def concerns(self, changes: Changes) -> None:
        """It is a step in the trace of each of these changes; called once. Spans inside it are in the first one's."""
        ...


class Origin(Protocol):
    """A span to which others are added later."""


class Tracer(Protocol):
    """Makes spans. No method raises."""

    @property
    def on(self) -> bool:
        """Whether it makes any: callers need not gather attributes if not."""
        ...

    def request(
        self, change_id: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES, client: str = ""
    ) -> AbstractContextManager[Span]:
        """The first span of a trace: an API request that may make a change of that id. ``client``: the header of a
        client with a trace of its own, to which there will be a link: strangers do not name ours."""
        ...

    def also(self, change_id: str) -> None:
        """The current request makes this change, too: its trace begins with a link to the request."""
        ...

    def span(
        self, name: str, *, attributes: Attributes = NO_ATTRIBUTES, remote: bool = False
    ) -> AbstractContextManager[Span]:
        """A step within the current one; nothing if there is none. ``remote``: another program does it."""
        ...

    def deferred_span(
        self, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[DeferredSpan]:
        """Work on changes that are not known yet."""
        ...

    def origin(self) -> Origin | None:
        """The current span; None if there is none."""
        ...

    def after(
        self, origin: Origin | None, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        """A step that follows from that one, which may have ended."""
        ...

    def received(
        self, header: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES
    ) -> AbstractContextManager[Span]:
        """A request of a process of ours, with its ``traceparent``; nothing if that is none."""
        ...

    def headers(self) -> Mapping[str, str]:
        """Of requests made in the current step; empty outside of one."""
        ...


class _Nothing:
    """A span, and work, that nobody sees."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set(self, name: str, value: str | int) -> None:
        """Ignore it."""

    def fail(self, reason: str) -> None:
        """Ignore it."""

    def concerns(self, changes: Changes) -> None:
        """Ignore them."""


NOTHING = _Nothing()
_NO_HEADERS: Mapping[str, str] = {}


class NoTracer:
    """Makes no spans."""

    on = False

    def request(
        self, change_id: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES, client: str = ""
    ) -> _Nothing:
        """Nothing."""
        return NOTHING

    def also(self, change_id: str) -> None:
        """Nothing."""

    def span(self, name: str, *, attributes: Attributes = NO_ATTRIBUTES, remote: bool = False) -> _Nothing:
        """Nothing."""
        return NOTHING

    def deferred_span(self, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> _Nothing:
        """Nothing."""
        return NOTHING

    def origin(self) -> Origin | None:
        """None."""
        return None

    def after(self, origin: Origin | None, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> _Nothing:
        """Nothing."""
        return NOTHING

    def received(self, header: str, name: str, *, attributes: Attributes = NO_ATTRIBUTES) -> _Nothing:
        """Nothing."""
        return NOTHING

    def headers(self) -> Mapping[str, str]:
        """Empty."""
        return _NO_HEADERS


_tracer: Tracer = NoTracer()


def tracer() -> Tracer:
    """That of this process."""
    return _tracer


def use_tracer(new: Tracer) -> None:
    """From now on."""
    global _tracer  # as the registry of metrics, one for each process
    _tracer = new
