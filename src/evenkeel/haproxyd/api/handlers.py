"""One handler per route. Handlers only read the request, call the core and encode the result.

:mod:`api.server` answers their errors, as :mod:`api.refusals` maps them.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import msgspec
from aiohttp import web

from evenkeel.core.kit.request_context import HEADER, parse_request_ids
from evenkeel.core.kit.tracing import HEADER as TRACE_HEADER
from evenkeel.core.kit.tracing import Attributes, tracer
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.api.journal import WriteJournal
from evenkeel.haproxyd.api.refusals import DaemonRefused, refusal_code
from evenkeel.haproxyd.api.strict_decoding import decode_body
from evenkeel.haproxyd.health.events import EventRing

T = TypeVar("T", bound=msgspec.Struct)

AGENT_NAME = web.RequestKey("agent", str)
"""Name of the agent whose credentials the request carried."""
EVENT_NUMBER_MAX = 2**53
OBSERVATION_AGE_SECONDS_MAX = 60.0
_NAME_PATTERN = re.compile(wire.NAME_REGEX)


class PartitionOperations(Protocol):
    """The operations on this host's partitions that the handlers call;
    :class:`~evenkeel.haproxyd.partition.manager.PartitionManager` has them.
    """

    def names(self) -> tuple[str, ...]: ...

    def show(self, name: str) -> wire.PartitionConfig: ...

    async def take_over(self, name: str, wanted: wire.GuardState) -> wire.GuardState: ...

    async def change(self, name: str, change: wire.PartitionChange, *, complete: bool) -> wire.Receipt: ...


class Handlers:
    """HTTP handlers of the daemon's API, one method per route. Those that take a parameter or body raise
    :class:`DaemonRefused` for a bad one, and let the errors of the partitions pass: :mod:`api.refusals`
    maps them to responses.
    """

    def __init__(
        self,
        operations: PartitionOperations,
        *,
        about: Callable[[], wire.About],
        observe: Callable[[float], Awaitable[wire.DaemonObservation]],
        events: EventRing,
        journal: WriteJournal,
        settings: HttpSettings,
    ) -> None:
        self._operations = operations
        self._about = about
        self._observe = observe
        self._events = events
        self._journal = journal
        self._settings = settings
        self._waiting = 0
        self._changes: set[asyncio.Task[wire.Receipt]] = set()

    async def show_about(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1``: answer with name, versions, ids, owners and problems of the daemon."""
        return json_response(self._about())

    async def list_partitions(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1/partitions``: answer with a summary of each partition, sorted by name."""
        shown = [self._operations.show(name) for name in sorted(self._operations.names())]
        return json_response(
            wire.PartitionList(
                partitions=tuple(
                    wire.PartitionSummary(
                        name=partition.name,
                        epoch=partition.epoch,
                        load_balancers=len(partition.load_balancers),
                        problem=partition.problem,
                    )
                    for partition in shown
                )
            )
        )

    async def show_partition(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1/partitions/{name}``: answer with the partition's configuration, without private
        keys. Raises :class:`DaemonRefused` for an invalid name, ``PartitionUnknown`` if there is no such
        partition.
        """
        return json_response(self._operations.show(_partition_name(request)))

    async def take_over_partition(self, request: web.Request) -> web.Response:
        """Handle ``POST /v1/partitions/{name}/guard``: make the sender the partition's owner, creating the
        partition if it does not exist; answer with the new guard. A journal entry is written, also for a
        refusal unless name or body are invalid.

        Raises :class:`DaemonRefused` for an invalid name or body, and the errors of
        :meth:`PartitionOperations.take_over`, such as ``StaleOwner``.
        """
        name = _partition_name(request)
        wanted = await self._decode_body(request, wire.GuardState)
        try:
            guard = await self._operations.take_over(name, wanted)
        except Exception as error:
            self._add_journal_entry(request, name, wanted.epoch, accepted=False, how=refusal_code(error))
            raise
        self._add_journal_entry(request, name, guard.epoch, accepted=True, how="guard")
        return json_response(guard)

    async def put_partition(self, request: web.Request) -> web.Response:
        """Handle ``PUT /v1/partitions/{name}``: replace the partition's whole contents; answer with a receipt
        and write a journal entry when the change ends.

        Raises :class:`DaemonRefused` for an invalid name or body, or (``busy``) after ``change_seconds``, and
        then the change continues; also the errors of :meth:`PartitionOperations.change`, such as
        ``StaleOwner`` and ``NotPartitionOwner``.
        """
        return await self._change_partition(request, complete=True)

    async def patch_partition(self, request: web.Request) -> web.Response:
        """Handle ``PATCH /v1/partitions/{name}``: change only the load balancers that the request names;
        answer with a receipt and write a journal entry when the change ends.

        Raises :class:`DaemonRefused` for an invalid name or body, or (``busy``) after ``change_seconds``, and
        then the change continues; also the errors of :meth:`PartitionOperations.change`, such as
        ``StaleOwner`` and ``NotPartitionOwner``.
        """
        return await self._change_partition(request, complete=False)

    async def show_observation(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1/observation``: answer with the status of all partitions, of which those without an
        event or change may be ``within`` seconds old.

        Raises :class:`DaemonRefused` for a bad ``within``, or (``busy``) while the daemon adopts its
        HAProxys.
        """
        return json_response(await self._observe(_number_parameter(request, "within", OBSERVATION_AGE_SECONDS_MAX)))

    async def show_events(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1/events``: answer with the events above the number ``after``; if there is none, wait for one,
        at most ``wait`` seconds. Raises :class:`DaemonRefused` for a bad parameter, or if too many requests wait.
        """
        after = _integer_parameter(request, "after", EVENT_NUMBER_MAX)
        wait_seconds = _number_parameter(request, "wait", self._settings.events_wait_seconds_max)
        if self._waiting >= self._settings.events_waiting_max:
            raise DaemonRefused("busy", f"{self._waiting} are waiting for events; try again later")
        self._waiting += 1
        try:
            return json_response(await self._events.events_after(after, wait_seconds))
        finally:
            self._waiting -= 1

    async def show_journal(self, request: web.Request) -> web.Response:
        """Handle ``GET /v1/journal``: answer with the write attempts above the number ``after``, oldest
        first. Raises :class:`DaemonRefused` if ``after`` is no number.
        """
        return json_response(self._journal.entries_after(_integer_parameter(request, "after", EVENT_NUMBER_MAX)))

    async def _change_partition(self, request: web.Request, *, complete: bool) -> web.Response:
        name = _partition_name(request)
        change = await self._decode_body(request, wire.PartitionChange)
        # a task of its own, so that a change is not cancelled half-way when the client disconnects or times out
        task = asyncio.create_task(
            self._apply_change(request.headers.get(TRACE_HEADER, ""), name, change, complete=complete)
        )
        # The event loop keeps only weak references to tasks.
        self._changes.add(task)
        task.add_done_callback(lambda done: self._journal_outcome(request, name, change, done))
        await asyncio.wait({task}, timeout=self._settings.change_seconds)
        if not task.done():
            raise DaemonRefused(
                "busy", f"not applied within {self._settings.change_seconds:g} s; it continues, try again later"
            )
        return json_response(task.result())

    async def _apply_change(
        self, traceparent: str, name: str, change: wire.PartitionChange, *, complete: bool
    ) -> wire.Receipt:
        attributes: Attributes = {"evenkeel.partition": name, "evenkeel.shard.epoch": change.epoch}
        with tracer().span_for_received_request(traceparent, "write partition", attributes=attributes) as span:
            receipt = await self._operations.change(name, change, complete=complete)
            span.set("evenkeel.how", receipt.how)
            return receipt

    def _journal_outcome(
        self, request: web.Request, name: str, change: wire.PartitionChange, task: "asyncio.Task[wire.Receipt]"
    ) -> None:
        self._changes.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        self._journal.add(
            partition=name,
            agent=request[AGENT_NAME],
            epoch=change.epoch,
            accepted=error is None,
            how=refusal_code(error) if error else task.result().how,
            load_balancer_ids=[*(balancer.id for balancer in change.load_balancers), *change.removed],
            request_ids=parse_request_ids(request.headers.get(HEADER, "")),
        )

    def _add_journal_entry(self, request: web.Request, name: str, epoch: int, *, accepted: bool, how: str) -> None:
        self._journal.add(partition=name, agent=request[AGENT_NAME], epoch=epoch, accepted=accepted, how=how)

    async def _decode_body(self, request: web.Request, kind: type[T]) -> T:
        limit = self._settings.body_bytes_max
        too_large = DaemonRefused("too_large", f"the body has more than the {limit} bytes that this daemon takes")
        # A body that announces its size is refused before any of it is read.
        if (request.content_length or 0) > limit:
            raise too_large
        coding = request.headers.get("Content-Encoding", "identity")
        # A small compressed body may expand beyond any limit.
        if coding.lower() != "identity":
            raise DaemonRefused("invalid", f"Content-Encoding: {coding[:40]!r}; allowed is identity")
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return decode_body(await request.read(), kind)
        except web.HTTPRequestEntityTooLarge as error:
            raise too_large from error
        except TimeoutError as error:
            raise DaemonRefused("invalid", f"the body did not arrive in {self._settings.body_seconds:g} s") from error


def json_response(value: msgspec.Struct, *, status: int = 200) -> web.Response:
    """Build an HTTP response whose body is the value as JSON."""
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


def _partition_name(request: web.Request) -> str:
    name = request.match_info["name"]
    if not _NAME_PATTERN.fullmatch(name):
        raise DaemonRefused("invalid", f"partition: {name[:128]!r} does not match {wire.NAME_REGEX}")
    return name


def _integer_parameter(request: web.Request, key: str, maximum: int) -> int:
    """Return an integer query parameter from 0 to ``maximum``; 0 if it is absent. Raises :class:`DaemonRefused`
    for any other text.
    """
    text = request.query.get(key, "0")
    if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > maximum:
        raise DaemonRefused("invalid", f"{key}: {text[:40]!r} is not an integer from 0 to {maximum}")
    return int(text)


def _number_parameter(request: web.Request, key: str, maximum: float) -> float:
    """Return a query parameter, an integer or decimal number from 0 to ``maximum``; 0 if it is absent. Raises
    :class:`DaemonRefused` for any other text.
    """
    text = request.query.get(key, "0")
    if not re.fullmatch(r"[0-9]{1,16}(\.[0-9]{1,6})?", text) or float(text) > maximum:
        raise DaemonRefused("invalid", f"{key}: {text[:40]!r} is not a number from 0 to {maximum:g}")
    return float(text)
