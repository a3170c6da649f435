"""Imports: load balancers that come from another system (``/evenkeel/v1/imports``)."""

from typing import Literal

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.mirror.query import path_id
from evenkeel.api.operators.query import options_of
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.imports import import_load_balancer
from evenkeel.api.usecases.mirror_requests import ImportPut
from evenkeel.core.kit.values import Value


class ImportView(Value):
    """Result of an import. ``new``: it would be created; ``imported``: it was created; ``present``: it exists as given;
    ``differs``: it exists and differs, and nothing was changed.
    """

    id: str
    outcome: Literal["new", "imported", "present", "differs"]
    differences: tuple[str, ...]
    """Objects and attributes that differ."""


async def put(services: Services, call: Call, body: ImportPut) -> Answer:
    """Handle PUT /imports/loadbalancers/{id}. Idempotent."""
    options_of(call, ())
    load_balancer_id = path_id(call)
    result = await import_load_balancer(services, load_balancer_id, body)
    view = ImportView(id=load_balancer_id, outcome=result.outcome, differences=result.differences)
    return json_answer({"import": view})
