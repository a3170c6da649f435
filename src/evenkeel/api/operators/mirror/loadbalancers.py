"""Mirrored load balancers: store, delete and list them, with statuses and statistics; and the lease that lets only one
writer store them.
"""

from typing import Annotated

from msgspec import Meta

from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import Request
from evenkeel.api.http.call import Call
from evenkeel.api.operators.mirror.query import parse_marker, parse_provider, parse_snapshot, path_id
from evenkeel.api.operators.query import parse_number_within, query_options
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.mirror_requests import MirrorId, MirrorLease, MirrorPut
from evenkeel.api.usecases.mirrors import put_mirrored, remove_mirrored
from evenkeel.core.control.mirrors import IDS_MAX, ListenerTotals, MirrorEntry, MirrorStatus
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value


class PutView(Value):
    """The state of a mirrored load balancer after a write."""

    id: str
    revision: int
    provisioning_status: str


class IdsBody(Request):
    """Body with ids of load balancers."""

    ids: Annotated[list[MirrorId], Meta(max_length=IDS_MAX)]


class StatusList(Value):
    """Statuses of load balancers; ids without an entry do not exist."""

    loadbalancers: tuple[MirrorStatus, ...]


class StatisticsList(Value):
    """Traffic totals of the listeners for which there are any."""

    listeners: tuple[ListenerTotals, ...]


class EntryPage(Value):
    """A page of load balancers, in order of their ids."""

    loadbalancers: tuple[MirrorEntry, ...]
    next: str | None
    """Marker of the next page; None: this is the last one."""


async def put_load_balancer(services: Services, call: Call, body: MirrorPut) -> Answer:
    """Handle PUT /mirror/loadbalancers/{id}: make the mirrored load balancer equal to the given one.
    Idempotent. Raises :class:`MirrorConflict`, :class:`Invalid`, :class:`Unsupported`, :class:`NotFound`
    if it is removed meanwhile, :class:`KeyManagerUnavailable`, :class:`InvalidQuery` for unknown query
    parameters.
    """
    query_options(call, ())
    load_balancer_id = path_id(call)
    now = await put_mirrored(services, load_balancer_id, body)
    view = PutView(id=load_balancer_id, revision=now.revision, provisioning_status=now.provisioning_status.value)
    return json_answer({"loadbalancer": view})


async def delete_load_balancer(services: Services, call: Call) -> Answer:
    """Handle DELETE /mirror/loadbalancers/{id}: delete a mirrored load balancer with its children; answers
    204, also if there is none. Raises :class:`MirrorConflict`, :class:`InvalidQuery` for a missing or bad query
    parameter, :class:`Invalid` for an id that is no UUID.
    """
    options = query_options(call, ("provider", "snapshot"))
    await remove_mirrored(services, path_id(call), parse_provider(options), parse_snapshot(options))
    return NO_CONTENT


async def list_load_balancers(services: Services, call: Call) -> Answer:
    """Handle GET /mirror/loadbalancers: list a page of mirrored load balancers by id, also those that are
    being deleted. Raises :class:`InvalidQuery`.
    """
    options = query_options(call, ("provider", "marker", "limit"))
    limit = parse_number_within("limit", options.get("limit", str(IDS_MAX)), 1, IDS_MAX)
    # one more shows whether there is another page
    found = await services.mirrors.list_mirrored_load_balancers(
        parse_provider(options), marker=parse_marker(options), limit=limit + 1
    )
    page = found[:limit]
    return json_answer(EntryPage(loadbalancers=page, next=page[-1].id if len(found) > limit else None))


async def list_statuses(services: Services, call: Call, body: IdsBody) -> Answer:
    """Handle POST /mirror/statuses: show the statuses of mirrored load balancers and their children; unknown
    ids are left out. Raises :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    found = await services.mirrors.read_statuses([LoadBalancerId(id_) for id_ in body.ids])
    return json_answer(StatusList(loadbalancers=found))


async def list_statistics(services: Services, call: Call, body: IdsBody) -> Answer:
    """Handle POST /mirror/statistics: show the traffic totals of the listeners of mirrored load balancers.
    Raises :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    found = await services.mirrors.read_statistics([LoadBalancerId(id_) for id_ in body.ids])
    return json_answer(StatisticsList(listeners=found))


async def list_changes(services: Services, call: Call) -> Answer:
    """Handle GET /mirror/changes: list mirrored load balancers whose statuses changed since the cursor
    ``since`` of an earlier response. Raises :class:`InvalidQuery` for a missing provider.
    """
    options = query_options(call, ("provider", "since"))
    return json_answer(await services.mirrors.changes_since(parse_provider(options), options.get("since", "")))


async def take_lease(services: Services, call: Call, body: MirrorLease) -> Answer:
    """Handle PUT /mirror/lease: take, renew or give back the right to write a provider's load balancers;
    shows the lease, which may be another holder's. Raises :class:`Invalid` for an unknown provider,
    :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    # refuses providers that do not exist
    await services.providers.device_driver_of(body.provider)
    return json_answer(await services.mirrors.take_writer_lease(body.provider, body.holder, body.seconds))
