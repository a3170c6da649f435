"""Objects of other projects: Octavia refuses them with 403, and responds with 404 if no project has the object.

Handlers see the objects of the caller's scope only. Where a handler finds nothing, a second read checks whether the
requested object, or the parent that the body names, belongs to another project.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler, Operation
from evenkeel.api.octavia.resources import TENANT_RESOURCES
from evenkeel.api.responses.answers import Answer
from evenkeel.api.responses.errors import Forbidden
from evenkeel.core.kit.errors import NotFound

_KINDS = {resource.title: resource.kind for resource in TENANT_RESOURCES}
_PARENTS = ("loadbalancer_id", "listener_id", "pool_id")
"""Attributes of a body with the parents of a new object. Other ids in a body name objects of the same load balancer:
for these, it is never disclosed whether another project has them.
"""


def operation_refusing_foreign_objects(operation: Operation) -> Operation:
    """Return a copy of the operation whose handler raises :class:`Forbidden` instead of :class:`NotFound` if
    the requested object, or the parent in the body, belongs to another project.
    """
    return replace(operation, handle=_refuse_foreign(operation.handle))


def _refuse_foreign(handle: Handler) -> Handler:
    async def refuse_or_handle(services: Services, call: Call, *body: Any) -> Answer:
        try:
            return await handle(services, call, *body)
        except NotFound as missing:
            if missing.object_id in _named_ids(call, *body) and await _is_of_another_project(services, call, missing):
                raise Forbidden from missing
            raise

    return refuse_or_handle


def _named_ids(call: Call, *body: Any) -> Iterator[str]:
    """Yield the ids in the path, and those of the parents that the body names."""
    yield from call.params.values()
    for root in body:
        for item in (getattr(root, name) for name in root.__struct_fields__):
            yield from (id_ for name in _PARENTS if isinstance(id_ := getattr(item, name, None), str))


async def _is_of_another_project(services: Services, call: Call, missing: NotFound) -> bool:
    kind = _KINDS.get(missing.kind)
    # Callers who see every project would have found the object.
    if kind is None or call.caller.scope is None:
        return False
    try:
        served = await services.tenants.served_by(kind, missing.object_id, project_id=None)
    except NotFound:
        return False
    return served.project_id != call.caller.scope
