"""Mirrored load balancers: stored, deleted, and their statuses."""

import re
from typing import Annotated

from msgspec import Meta

from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import Request
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import options_of
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.responses.errors import BadList
from evenkeel.api.usecases.mirror_requests import MirrorId, MirrorPut
from evenkeel.api.usecases.mirrors import put_mirrored, remove_mirrored
from evenkeel.core.control.mirrors import IDS_MAX, MirrorStatus
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.names import MAX_ENVIRONMENT_NAME_CHARACTERS
from evenkeel.core.kit.values import Value

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SECONDS = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?")


class PutView(Value):
    """A load balancer as it is after a write."""

    id: str
    revision: int
    provisioning_status: str


class IdsBody(Request):
    """Body with ids of load balancers."""

    ids: Annotated[list[MirrorId], Meta(max_length=IDS_MAX)]


class StatusList(Value):
    """Statuses of load balancers; ids without an entry do not exist."""

    loadbalancers: tuple[MirrorStatus, ...]


def _path_id(call: Call) -> LoadBalancerId:
    """Return the id in the path. Raises :class:`Invalid`."""
    given = call.params["id"]
    if not _UUID.fullmatch(given):
        raise Invalid("Invalid input for field/attribute id. Value should be a UUID in lower case.")
    return LoadBalancerId(given)


def provider_of(options: dict[str, str]) -> str:
    """Return the query parameter ``provider``, which is required. Raises :class:`BadList`."""
    provider = options.get("provider", "")
    if not 1 <= len(provider) <= MAX_ENVIRONMENT_NAME_CHARACTERS:
        raise BadList(
            "Invalid input for query parameter provider. Value should be the name of an environment, of 1 to "
            f"{MAX_ENVIRONMENT_NAME_CHARACTERS} characters."
        )
    return provider


def _snapshot_of(options: dict[str, str]) -> float:
    given = options.get("snapshot", "")
    if not _SECONDS.fullmatch(given):
        raise BadList("Invalid input for query parameter snapshot. Value should be a time in seconds.")
    return float(given)


async def put(services: Services, call: Call, body: MirrorPut) -> Answer:
    """Handle PUT /mirror/loadbalancers/{id}. Idempotent."""
    options_of(call, ())
    load_balancer_id = _path_id(call)
    now = await put_mirrored(services, load_balancer_id, body)
    view = PutView(id=load_balancer_id, revision=now.revision, provisioning_status=now.provisioning_status.value)
    return json_answer({"loadbalancer": view})


async def delete(services: Services, call: Call) -> Answer:
    """Handle DELETE /mirror/loadbalancers/{id}. Idempotent."""
    options = dict(options_of(call, ("provider", "snapshot")))
    await remove_mirrored(services, _path_id(call), provider_of(options), _snapshot_of(options))
    return NO_CONTENT


async def statuses(services: Services, call: Call, body: IdsBody) -> Answer:
    """Handle POST /mirror/statuses."""
    options_of(call, ())
    found = await services.mirrors.statuses([LoadBalancerId(id_) for id_ in body.ids])
    return json_answer(StatusList(loadbalancers=found))
