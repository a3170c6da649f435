"""Tenants' objects as an API declares them, and the operations that follow: list, show, delete, create, change."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.common.resources import Resource, find_parent, object_answer, parent_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler, Operation, Parameter
from evenkeel.api.policy.names import octavia_rules
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.kit.values import Value

WRITE_ERRORS = (409, 501)
"""Error statuses of a request to create or change an object, besides those that all routes have."""


class ApiFunctions(Value):
    """How one API lists, shows and deletes objects: the same functions for all its resources."""

    listing: Callable[[Any], Handler]
    """Function that returns the handler of a resource's list."""
    parameters: Sequence[Parameter]
    """Query parameters of a list."""
    page: Callable[[Any, type[Any]], type[Any]]
    """Function that returns the type of a list's response, given a resource and the type of one object."""
    find: Callable[[Any, Services, Call], Awaitable[Any]]
    """Function that returns the object of a resource that the path names."""
    select: Callable[[Any, Sequence[str]], Any]
    """Function that reduces a view to the attributes in the parameter ``fields``."""
    remove: Callable[[Any, Services, Call, str], Awaitable[None]]
    """Function that deletes the object of a resource with an id."""


class WriteRequest(NamedTuple):
    """One kind of requests that create or change an object."""

    body: type[Any]
    """Type of the body; its attribute with the resource's name is passed to ``run``."""
    run: Callable[..., Awaitable[Any]]
    """Use case that returns the stored object. ``(services, call, wanted)`` creates an object; ``(services, call, id,
    changes)`` changes it; if the path has a parent, the parent or its id follows ``call``.
    """
    summary: str = ""
    """Summary of the route, if it is not "Create a" or "Change a" with the resource's name."""
    show: Callable[[Any], Any] | None = None
    """Function that converts what ``run`` returns to the object in the response; None: the resource's ``view``."""
    answer: type[Any] | None = None
    """Type of the response's body; None: the resource's view, wrapped in its name."""


class DeleteRequest(NamedTuple):
    """One kind of requests that delete an object."""

    run: Callable[[Services, Call, str], Awaitable[None]]
    """Use case that deletes the object with an id."""
    summary: str = ""
    """Summary of the route, if it is not "Delete a" with the resource's name."""
    parameters: Sequence[Parameter] = ()


class DeclaredObject(Value):
    """One kind of objects in one API of tenants. ``create``, ``change`` None: the API has no such operation."""

    api: ApiFunctions
    resource: Resource
    """The objects' names, filters and parent, and the function that shows an object."""
    view: type[Any]
    """Type of one object in responses."""
    create: WriteRequest | None = None
    change: WriteRequest | None = None
    remove: DeleteRequest | None = None
    """How an object is deleted; None: by the API's own ``remove``, which most resources use."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Operations on objects of this kind: list, show and delete, and create and change if they are declared."""
        return (
            self._list_operation(),
            self._show_operation(),
            *(() if self.create is None else (self._create_operation(self.create),)),
            *(() if self.change is None else (self._change_operation(self.change),)),
            self._delete_operation(self.remove or DeleteRequest(partial(self.api.remove, self.resource))),
        )

    @property
    def routes(self) -> ObjectRoutes:
        """Route builder for objects of this kind, to declare operations beyond those of :attr:`operations`."""
        resource, parent = self.resource, self.resource.parent
        below = f"/{parent.plural}/{{{parent.name}_id}}" if parent else ""
        return ObjectRoutes(
            name=resource.name,
            plural=resource.plural,
            path=f"{below}/{resource.path or resource.plural}",
            view=self.view,
            rule=octavia_rules(resource.rule or resource.name),
        )

    @property
    def _kind_title(self) -> str:
        return self.resource.called or self.resource.name

    def _list_operation(self) -> Operation:
        resource, view = self.resource, self.view
        return self.routes.list_operation(
            self.api.listing(resource),
            f"List {resource.called}s" if resource.called else f"List {resource.plural}",
            answer=self.api.page(resource, view),
            partial=view,
            parameters=self.api.parameters,
            filters=True,
        )

    def _show_operation(self) -> Operation:
        resource = self.resource

        async def handle_show(services: Services, call: Call) -> Answer:
            fields = call.query_values("fields")
            row = await self.api.find(resource, services, call)
            return json_answer({resource.name: self.api.select(resource.view(row), fields)})

        return self.routes.show_fields(handle_show, f"Show a {self._kind_title}")

    def _create_operation(self, request: WriteRequest) -> Operation:
        resource, show = self.resource, request.show or self.resource.view

        async def handle_create(services: Services, call: Call, body: Any) -> Answer:
            parents = () if resource.parent is None else (await find_parent(resource.parent, services, call),)
            row = await request.run(services, call, *parents, getattr(body, resource.name))
            return json_answer({resource.name: show(row)}, 201)

        answer, summary = request.answer or self.routes.answer_type, request.summary or f"Create a {self._kind_title}"
        return self.routes.create_operation(handle_create, request.body, summary, answer=answer, errors=WRITE_ERRORS)

    def _change_operation(self, request: WriteRequest) -> Operation:
        resource = self.resource

        async def handle_change(services: Services, call: Call, body: Any) -> Answer:
            ids = [id_ for id_ in (parent_id(resource, call), resource.id_in_path(call)) if id_ is not None]
            return object_answer(resource, await request.run(services, call, *ids, getattr(body, resource.name)))

        summary = request.summary or f"Change a {self._kind_title}"
        return self.routes.change_operation(handle_change, request.body, summary, errors=WRITE_ERRORS)

    def _delete_operation(self, request: DeleteRequest) -> Operation:
        async def handle_delete(services: Services, call: Call) -> Answer:
            await request.run(services, call, self.resource.id_in_path(call))
            return NO_CONTENT

        summary = request.summary or f"Delete a {self._kind_title}"
        return self.routes.delete_operation(handle_delete, summary, parameters=request.parameters, errors=(409,))
