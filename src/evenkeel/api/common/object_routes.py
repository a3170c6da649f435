"""Routes to objects of one kind: path, policy rule, status and type of the response follow from the kind."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import defstruct

from evenkeel.api.common.linking import list_type, single_object_type
from evenkeel.api.http.lists import FIELDS_PARAMETER
from evenkeel.api.http.routing import Handler, Operation
from evenkeel.core.kit.values import Value


class ObjectRoutes(Value):
    """Builder of routes to objects of one kind. Each method declares one route; ``others`` are further
    attributes of its operation, and may replace the type of the body and of the response, the status and
    the query parameters.
    """

    name: str
    """Name of the attribute that wraps one object."""
    plural: str
    path: str
    view: type[Any]
    """Type of one object in responses."""
    rule: Callable[[str], str]
    """Function that returns the name of an operation's policy rule."""
    key: str = "{id}"
    """Path of one object, relative to ``path``."""

    @property
    def answer_type(self) -> type[Any]:
        """Type of a response with one object."""
        return single_object_type(self.name, self.view)

    def list_operation(self, handle: Handler, summary: str, **others: Any) -> Operation:
        """Declare GET of all objects."""
        return self._make_operation(
            "GET", "", "list", handle, summary, {"answer": list_type(self.plural, self.view)} | others
        )

    def show_operation(self, handle: Handler, summary: str, **others: Any) -> Operation:
        """Declare GET of one object."""
        return self._make_operation("GET", self.key, "show", handle, summary, {"answer": self.answer_type} | others)

    def show_fields(self, handle: Handler, summary: str, **others: Any) -> Operation:
        """Declare GET of one object, whose response has only the attributes in the query parameter
        ``fields``, if there are any.
        """
        chosen = defstruct(f"{self.view.__name__}Chosen", [(self.name, self.view)], kw_only=True)
        known = {"answer": chosen, "partial": self.view, "parameters": (FIELDS_PARAMETER,)}
        return self._make_operation("GET", self.key, "show", handle, summary, known | others)

    def create_operation(self, handle: Handler, body: type[Any], summary: str, **others: Any) -> Operation:
        """Declare POST of a new object; the response 201 shows the object."""
        known = {"body": body, "answer": self.answer_type, "status": 201}
        return self._make_operation("POST", "", "create", handle, summary, known | others)

    def change_operation(self, handle: Handler, body: type[Any], summary: str, **others: Any) -> Operation:
        """Declare PUT of one object; the response shows it."""
        return self._make_operation(
            "PUT", self.key, "change", handle, summary, {"body": body, "answer": self.answer_type} | others
        )

    def delete_operation(self, handle: Handler, summary: str, **others: Any) -> Operation:
        """Declare DELETE of one object; answers 204."""
        return self._make_operation("DELETE", self.key, "delete", handle, summary, {"status": 204} | others)

    def put_operation(self, name: str, handle: Handler, summary: str, rule: str = "change", **others: Any) -> Operation:
        """Declare PUT of ``name`` below one object's path: an action on the object, such as ``failover``; the response
        shows the object.
        """
        return self._make_operation(
            "PUT", f"{self.key}/{name}", rule, handle, summary, {"answer": self.answer_type} | others
        )

    def post_operation(self, name: str, handle: Handler, summary: str, rule: str, **others: Any) -> Operation:
        """Declare POST of ``name`` below one object's path: an inquiry about the object, such as its plan."""
        return self._make_operation("POST", f"{self.key}/{name}", rule, handle, summary, others)

    def get_operation(self, name: str, handle: Handler, summary: str, rule: str, **others: Any) -> Operation:
        """Declare GET of ``name`` below one object's path: a part of the object or information about it."""
        return self._make_operation("GET", f"{self.key}/{name}", rule, handle, summary, others)

    def _make_operation(
        self, method: str, below: str, rule: str, handle: Handler, summary: str, others: Mapping[str, Any]
    ) -> Operation:
        path = f"{self.path}/{below}" if below else self.path
        return Operation(method=method, path=path, handle=handle, summary=summary, rule=self.rule(rule), **others)
