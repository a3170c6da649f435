"""Imports: load balancers that come from another system (``/evenkeel/v1/imports``)."""

from typing import Literal

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.mirror.query import path_id
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.imports import discard_held, import_load_balancer, set_held
from evenkeel.api.usecases.mirror_requests import HeldPut, ImportPut
from evenkeel.core.kit.values import Value


class ImportView(Value):
    """Result of an import. ``new``: would be created; ``imported``: was created; ``present``: exists as given;
    ``differs``: exists, is not held and differs, so is never changed; ``outdated``: is held, differs and would be
    updated; ``updated``: is held, and was updated as given. Held: no device gets it before its switch-over.
    """

    id: str
    outcome: Literal["new", "imported", "present", "differs", "outdated", "updated"]
    differences: tuple[str, ...]
    """Objects and attributes in which the stored load balancer differs from the given one."""


async def put_import(services: Services, call: Call, body: ImportPut) -> Answer:
    """Handle PUT /imports/loadbalancers/{id}: import a load balancer, or check that with ``apply`` false.
    Idempotent. Raises :class:`InvalidQuery` for query parameters, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict`, :class:`Unavailable`.
    """
    query_options(call, ())
    load_balancer_id = path_id(call)
    result = await import_load_balancer(services, load_balancer_id, body)
    view = ImportView(id=load_balancer_id, outcome=result.outcome, differences=result.differences)
    return json_answer({"import": view})


class HeldView(Value):
    """Whether a load balancer is held: another system still serves it, and no device of this one has it."""

    id: str
    held: bool


async def put_held(services: Services, call: Call, body: HeldPut) -> Answer:
    """Handle PUT /imports/loadbalancers/{id}/held: release a held load balancer to its devices, or take it
    from them. Idempotent. Raises :class:`NotFound`, :class:`Conflict`, :class:`InvalidQuery` for unknown query
    parameters, :class:`Invalid` for an id that is no UUID.
    """
    query_options(call, ())
    load_balancer_id = path_id(call)
    await set_held(services, load_balancer_id, body.held)
    return json_answer({"import": HeldView(id=load_balancer_id, held=body.held)})


async def discard_import(services: Services, call: Call) -> Answer:
    """Handle DELETE /imports/loadbalancers/{id}: delete a held load balancer without its VIP's port; answers
    204. Raises :class:`NotFound`, :class:`Conflict` if it is not held, :class:`InvalidQuery` for unknown query
    parameters, :class:`Invalid` for an id that is no UUID.
    """
    query_options(call, ())
    await discard_held(services, path_id(call))
    return NO_CONTENT
