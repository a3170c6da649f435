"""Kinds of tenant objects as declared, and the five operations that follow: list, show, delete, create, change."""

from collections.abc import Awaitable, Callable
from typing import Any

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.common.resources import Resource, object_id, one
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler, Operation
from evenkeel.api.octavia.resources import parent_of, parent_row
from evenkeel.api.octavia.route_parts import OPTION_ERRORS, reading, removing
from evenkeel.api.policy.names import octavia_rule
from evenkeel.api.responses.answers import Answer
from evenkeel.core.kit.values import Value


class Declared(Value):
    """One kind of children of load balancers."""

    resource: Resource
    path: str
    view: type[Any]
    new: type[Any]
    """Body of a create request; its attribute with the resource's name is passed to ``make``."""
    make: Callable[..., Awaitable[Any]]
    """Use case ``(services, call, wanted)``; with a parent in the path ``(services, call, parent, wanted)``."""
    change: type[Any]
    """Body of a change request; its attribute with the resource's name is passed to ``modify``."""
    modify: Callable[..., Awaitable[Any]]
    """Use case ``(services, call, id, changes)``; with a parent in the path ``(services, call, parent_id, id,
    changes)``.
    """
    make_summary: str
    change_summary: str
    parent: str = ""
    """Path parameter that names the parent; empty: the path names none."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations on objects of this kind."""
        rule, answer = self.resource.rule or self.resource.name, single_object_type(self.resource.name, self.view)
        return (
            *reading(self.resource, self.view, self.path, self.parent),
            removing(self.resource, self.path, self.parent),
            Operation(
                method="POST",
                path=self.path,
                handle=self._create(),
                summary=self.make_summary,
                rule=octavia_rule(rule, "post"),
                body=self.new,
                answer=answer,
                status=201,
                errors=OPTION_ERRORS,
            ),
            Operation(
                method="PUT",
                path=f"{self.path}/{{id}}",
                handle=self._change(),
                summary=self.change_summary,
                rule=octavia_rule(rule, "put"),
                body=self.change,
                answer=answer,
                errors=OPTION_ERRORS,
            ),
        )

    def _create(self) -> Handler:
        async def handle(services: Services, call: Call, body: Any) -> Answer:
            parents = [await parent_row(services, call, self.parent)] if self.parent else []
            wanted = getattr(body, self.resource.name)
            return one(self.resource, await self.make(services, call, *parents, wanted), 201)

        return handle

    def _change(self) -> Handler:
        async def handle(services: Services, call: Call, body: Any) -> Answer:
            parents = [parent_of(call, self.parent)] if self.parent else []
            id_, changes = object_id(call, self.resource.title), getattr(body, self.resource.name)
            return one(self.resource, await self.modify(services, call, *parents, id_, changes))

        return handle
