"""Builder of the OpenAPI 3.1 document, from the route maps and the types that decode and encode bodies. The decoder
enforces the schemas; rules between attributes are not in the document, only in errors (400).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from evenkeel import __version__
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Operation, Parameter, RouteMap
from evenkeel.api.policy.names import PUBLIC
from evenkeel.api.responses.answers import Answer, Unauthorized, encode

Document = dict[str, Any]

_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_REF_TEMPLATE = "#/components/schemas/{name}"
_MEANINGS = {
    400: "A value, attribute or query parameter is not allowed",
    401: "Not authenticated",
    403: "Not allowed for the caller",
    404: "No such object",
    406: "Only JSON is available",
    408: "The body did not arrive in time",
    409: "It conflicts with the current state",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "Too many requests of the project; Retry-After gives the time to wait",
    500: "Internal error; the request id finds it in the log",
    501: "The provider does not support it",
    503: "A service is unavailable; try again",
}
_COMMON_ERRORS = (400, 404, 406, 500, 503)
_BODY_ERRORS = (408, 413, 415)
_CALLER_ERRORS = (401, 403, 429)
_SECURITY_SCHEMES = {
    "basic": {"type": "http", "scheme": "basic", "description": "With a password file"},
    "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token", "description": "With Keystone"},
}
"""Security schemes of the document. The configuration decides which one applies, so no operation names one."""


def openapi_routes(routes: Iterable[RouteMap]) -> RouteMap:
    """Return the route map that serves the document of ``routes``, built at the first request."""
    encoded: list[bytes] = []
    known = tuple(routes)

    async def handle(services: Services, call: Call) -> Answer:
        # built at the first request: most processes never serve the document
        if not encoded:
            encoded.append(encode(openapi_document(known)))
        return Answer(200, encoded[0])

    operation = Operation(
        method="GET", path="/openapi.json", handle=handle, summary="This document", rule=PUBLIC, hidden=True
    )
    return RouteMap(tag="Discovery", prefixes=("",), operations=(operation,))


def openapi_document(routes: Iterable[RouteMap]) -> Document:
    """Build the OpenAPI document of the routes, as JSON-encodable values, without hidden operations."""
    shown = [
        (route_map, operation) for route_map in routes for operation in route_map.operations if not operation.hidden
    ]
    schemas, components = msgspec.json.schema_components(_schema_types(shown), ref_template=_REF_TEMPLATE)
    named = dict(zip(_schema_types(shown), schemas, strict=True))
    for _, operation in shown:
        if operation.partial is not None and operation.answer is not None:
            _make_attributes_optional(components, operation.answer.__name__, operation.partial.__name__)
    paths: Document = {}
    for route_map, operation in shown:
        path = paths.setdefault(route_map.prefixes[0] + operation.path, {})
        path[operation.method.lower()] = _operation_document(route_map, operation, named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Even Keel",
            "version": __version__,
            "description": "Octavia v2 at /v2/lbaas (also /v2.0/lbaas), LBaaS v2 and v1 in Neutron's style at "
            "/neutron/v2.0, operators' API at /evenkeel/v1.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY_SCHEMES},
    }


def _schema_types(shown: list[tuple[RouteMap, Operation]]) -> list[type[Any]]:
    found: dict[type[Any], None] = {Unauthorized: None}
    for route_map, operation in shown:
        for kind in (*route_map.style.errors, operation.body, operation.answer):
            if kind is not None:
                found[kind] = None
    return list(found)


def _make_attributes_optional(components: Document, answer: str, view: str) -> None:
    """Change the schema of ``answer`` in ``components`` to objects with any selection of attributes: a copy
    of the schema of ``view`` without required attributes.
    """
    part = f"{view}Part"
    components[part] = {**components[view], "title": part, "required": []}
    whole, chosen = (_REF_TEMPLATE.format(name=name) for name in (view, part))
    for schema in components[answer]["properties"].values():
        target = schema.get("items", schema)
        if target.get("$ref") == whole:
            target["$ref"] = chosen


def _operation_document(route_map: RouteMap, operation: Operation, schemas: dict[type[Any], Document]) -> Document:
    shown: Document = {
        "operationId": _operation_id(route_map, operation),
        "tags": [route_map.tag],
        "summary": operation.summary,
        "responses": dict(_response_documents(route_map, operation, schemas)),
    }
    if parameters := [*_path_parameters(operation.path), *map(_parameter_document, operation.parameters)]:
        shown["parameters"] = parameters
    if operation.filters:
        shown["description"] = "Any attribute may be a query parameter, as a filter; repeated: any of the values."
    if operation.body is not None:
        shown["requestBody"] = {"required": True, "content": _json_content(schemas[operation.body])}
    return shown


def _operation_id(route_map: RouteMap, operation: Operation) -> str:
    words = re.findall(r"[A-Za-z0-9]+", route_map.prefixes[0] + operation.path)
    return "_".join([operation.method.lower(), *words])


def _json_content(schema: Document) -> Document:
    return {"application/json": {"schema": schema}}


def _response_documents(
    route_map: RouteMap, operation: Operation, schemas: dict[type[Any], Document]
) -> Iterator[tuple[str, Document]]:
    good: Document = {"description": operation.summary}
    if operation.answer is not None:
        good["content"] = _json_content(schemas[operation.answer])
    if operation.streams:
        good["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    yield str(operation.status), good
    body = _BODY_ERRORS if operation.body is not None else ()
    caller = () if operation.rule == PUBLIC else _CALLER_ERRORS
    error = {"anyOf": [schemas[kind] for kind in route_map.style.errors]}
    for status in sorted({*_COMMON_ERRORS, *body, *caller, *operation.errors}):
        shown = schemas[Unauthorized] if status == 401 else error
        yield str(status), {"description": _MEANINGS[status], "content": _json_content(shown)}


def _path_parameters(path: str) -> Iterator[Document]:
    for name in _PATH_PARAMETER.findall(path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameter_document(parameter: Parameter) -> Document:
    schema: Document = {"type": {int: "integer", bool: "boolean"}.get(parameter.type, "string")}
    shown: Document = {"name": parameter.name, "in": "query", "description": parameter.description, "schema": schema}
    if parameter.repeatable:
        shown["schema"] = {"type": "array", "items": schema}
        shown["explode"] = True
    return shown
