"""The ASGI application, made from the route maps.

Each request gets an id, sent in ``x-openstack-request-id``. Litestar's router finds the path of a request; an
endpoint of the API then reads the raw body and returns bytes, past Litestar, which serves pages and refuses
requests that have no route.
"""

import functools
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from litestar import Litestar, Request, Response
from litestar.enums import HttpMethod
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, HTTPScope, Message, Receive
from litestar.utils import normalize_path

from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.api.common.event_stream import MEDIA_TYPE as EVENT_STREAM
from evenkeel.api.common.openapi import openapi_routes
from evenkeel.api.common.ports import ActivitySource, ChangeSink, NoActivity, NoTraffic, TrafficSource
from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import check_content_type, read_body
from evenkeel.api.http.call import NO_CALLER, Call, RequestLimits
from evenkeel.api.http.gatekeeper import Gatekeeper
from evenkeel.api.http.origins import OriginRule
from evenkeel.api.http.path_prefix import STATE
from evenkeel.api.http.rate_limit import UNLIMITED, RateLimit
from evenkeel.api.http.request_log import RequestLog
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.http.style import ApiStyle, ApiStyles
from evenkeel.api.identity.caller import Authenticator
from evenkeel.api.identity.none import NoAuthentication
from evenkeel.api.neutron.lookups import LOOKUP_ROUTES
from evenkeel.api.neutron.routes import NEUTRON_ROUTES
from evenkeel.api.neutron.style import strip_format_suffix
from evenkeel.api.neutron.v1.routes import V1_ROUTES
from evenkeel.api.octavia.routes import OCTAVIA_ROUTES
from evenkeel.api.operators.discovery import DISCOVERY_ROUTES
from evenkeel.api.operators.mirror.routes import MIRROR_ROUTES
from evenkeel.api.operators.routes import OPERATOR_ROUTES
from evenkeel.api.pages.files import page_handlers
from evenkeel.api.policy.names import PUBLIC
from evenkeel.api.policy.policy import Policy, default_policy
from evenkeel.api.responses.answers import Answer
from evenkeel.api.responses.errors import Forbidden, Refusal
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.request_context import PREFIX, begin_request
from evenkeel.core.kit.tracing import HEADER as TRACE_HEADER
from evenkeel.core.kit.tracing import NOTHING, Span, tracer
from evenkeel.core.networking.addresses import STRICT as STRICT_ADDRESSES
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.ports import CertificateStore, KeyManager, Network, Store
from evenkeel.core.tls.tls import UNRESTRICTED_TLS, TlsRules
from evenkeel.metrics.api import NO_ROUTE, count_request

ROUTES: tuple[RouteMap, ...] = (
    DISCOVERY_ROUTES,
    *OCTAVIA_ROUTES,
    *NEUTRON_ROUTES,
    *V1_ROUTES,
    OPERATOR_ROUTES,
    MIRROR_ROUTES,
    *LOOKUP_ROUTES,
)
"""Route maps of all APIs."""

METHODS: tuple[HttpMethod, ...] = tuple(HttpMethod)
METHOD_LABELS = {method.value: method.value for method in METHODS}
"""Known HTTP methods, for the ``method`` label in metrics: a client may send any word as the method, which must not
become a label.
"""
Endpoint = Callable[[HTTPScope, Receive], Awaitable[Answer]]
ErrorHandler = Callable[[Request[Any, Any, Any], Exception], Response[bytes]]

_REQUEST_ID = b"x-openstack-request-id"
_PLAIN_HOST = re.compile(rb"[0-9A-Za-z.:\[\]_-]*")
"""Pattern of valid values of the header Host; Litestar checks all others."""
_TRACE_HEADER = TRACE_HEADER.encode()
_SERVED = "served"
"""Key in a request's ``state`` under which :class:`Application` stores its paths for the shared routing."""


class Application:
    """The ASGI application of one set of services. It sets a request id on every response, including responses that no
    endpoint made. All applications of a process share their routing, see :func:`_make_router`."""

    def __init__(self, served: "_LazyPaths", end_streams: Callable[[], None]) -> None:
        """Initialize the application. ``end_streams``: called when the process stops, ends responses that
        still stream.
        """
        self._served = served
        self._build_error_answer = _make_error_answerer(ApiStyles(served.styles))
        self._router = _make_router(tuple(served.operations), served.styles)
        self.end_streams = end_streams
        """Function that ends streamed responses, because the process stops."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, or the lifespan (ASGI)."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        scope["path"] = strip_format_suffix(scope["path"])
        request_id = begin_request()
        state = {"request_id": request_id, "began": time.monotonic(), _SERVED: self._served}
        scope.setdefault("state", {}).update(state)
        header = (_REQUEST_ID, request_id.encode())
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], header]
                started = True
            await send(message)

        path = self._find_api_path(scope)
        if path is None:
            await self._router(scope, receive, send_with_headers)
            return
        try:
            await (await path.answer_request(scope, receive))(scope, receive, send_with_headers)
        except Exception as error:
            if started:
                raise
            await self._build_error_answer(scope, error)(scope, receive, send_with_headers)

    def _find_api_path(self, scope: Any) -> "_PathEndpoints | None":
        """Find the path of the API that the request is for, by Litestar's routes, and store path and
        parameters in the scope as Litestar does. None leaves the request to Litestar: pages, requests
        without a route, and requests with a root path or an unusual Host header.

        The steps that Litestar takes from a route to its handler, such as searching parameters and
        dependencies of the function, would cost more than the routing.
        """
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        if scope.get("root_path") or _PLAIN_HOST.fullmatch(host) is None:
            return None
        try:
            found = self._router.asgi_router.handle_routing(path=normalize_path(scope["path"]), method=scope["method"])
        except HTTPException:
            return None
        _, _, path, params, template = found
        if template not in self._served.operations:
            return None
        scope["path"], scope["path_params"] = path, params
        return self._served[template]


def create_app(
    *,
    store: Store,
    network: Network,
    driver: ChangeSink,
    default_provider: str,
    capabilities: Mapping[str, Capabilities] | None = None,
    max_body_bytes: int = 1 << 20,
    max_page_items: int = 1000,
    wait_until_applied: float = 0.0,
    identity: Authenticator | None = None,
    policy: Policy | None = None,
    rate_limit: RateLimit = UNLIMITED,
    origins: OriginRule | None = None,
    addresses: AddressRules = STRICT_ADDRESSES,
    certificates: CertificateStore | None = None,
    key_manager: KeyManager | None = None,
    acme: AcmeRequests | None = None,
    tls: TlsRules = UNRESTRICTED_TLS,
    bare_esd_tags: bool = False,
    documentation_url: str = "",
    new_id: Callable[[], str] | None = None,
    broker_problem: Callable[[], str] = lambda: "",
    traffic: TrafficSource | None = None,
    activity: ActivitySource | None = None,
) -> Application:
    """Create the API over the given ports; the caller starts and closes them.

    ``default_provider``: the environment of load balancers without a provider; empty: requests must name one.
    ``wait_until_applied``: longest time, seconds, that the answer to a write waits until devices have applied it.
    ``capabilities``: table of each device driver; a driver without an entry counts as supporting everything.
    ``identity``: authenticates; the default allows everything. ``policy``: authorizes; the default has no files.
    ``origins``: web pages that may write; None: pages of the API's own address. ``addresses``: the addresses that
    tenants may use. ``certificates``: the key manager that operators add to; None: none. ``key_manager``: reads
    references of listeners and pools; None: references are not read. ``acme``: requests certificates from an
    authority; None: such requests are refused. ``tls``: the allowed versions and ciphers.
    ``bare_esd_tags``: whether listeners' tags without prefix choose enhanced services; else they are logged.
    ``documentation_url``: URL of the documentation that the operators' API shows; empty: none.
    ``broker_problem``: why this process cannot send messages now; empty if it can; any thread may call it. ``traffic``:
    load balancers' traffic over time; None: no series are kept. ``activity``: this process's activity over time; None:
    nothing is counted.

    Raises :class:`ValueError` for a route without a policy rule.
    """
    services = Services(
        store=store,
        network=network,
        driver=driver,
        default_provider=default_provider,
        capabilities=capabilities or {},
        limits=RequestLimits(body_bytes=max_body_bytes, page_items=max_page_items, applied_seconds=wait_until_applied),
        addresses=addresses,
        certificates=certificates,
        key_manager=key_manager,
        acme=acme,
        tls=tls,
        bare_esd_tags=bare_esd_tags,
        documentation_url=documentation_url,
        new_id=new_id,
        broker_problem=broker_problem,
        traffic=traffic or NoTraffic(),
        activity=activity or NoActivity(),
    )
    routes = (*ROUTES, openapi_routes(ROUTES))
    gatekeeper = Gatekeeper(identity or NoAuthentication(), policy or default_policy(), rate_limit, routes)
    return Application(
        _build_paths(routes, services, gatekeeper, origins or OriginRule()), end_streams=services.event_feed.close
    )


@functools.lru_cache(maxsize=4)
def _make_router(paths: tuple[str, ...], styles: frozenset[ApiStyle]) -> Litestar:
    """Build the routing, which depends on no service: one handler for all paths and methods, so that every 405 lists
    the allowed methods, and the pages.

    A handler for each path would cost a controller a third of a second at its start: Litestar examines every handler,
    and all that it has already when it gets another one.
    """
    # Litestar requires a type for each path parameter.
    litestar_paths = [path.replace("}", ":str}") for path in paths]
    handler = HTTPRouteHandler(litestar_paths, http_method=METHODS, status_code=200, include_in_schema=False)
    return Litestar(
        route_handlers=[handler(_dispatch_request), *page_handlers()],
        exception_handlers={Exception: _make_error_handler(ApiStyles(styles))},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=None,  # bodies.read_body has the limit
        etag=None,
    )


async def _dispatch_request(request: Request[Any, Any, Any]) -> ASGIApp:
    scope = request.scope
    answer: ASGIApp = await scope["state"][_SERVED][scope["path_template"]].answer(scope, request.receive)
    return answer


def _operations_with_maps(routes: Iterable[RouteMap]) -> Iterator[tuple[RouteMap, Operation]]:
    return ((route_map, operation) for route_map in routes for operation in route_map.operations)


def _operation_paths(route_map: RouteMap, operation: Operation) -> Iterator[str]:
    """Yield the paths of an operation, one for each prefix."""
    return ((prefix + operation.path) or "/" for prefix in route_map.prefixes)


def _make_error_answerer(styles: ApiStyles) -> Callable[[HTTPScope, Exception], Answer]:
    def build_error_answer(scope: HTTPScope, error: Exception) -> Answer:
        """Build and count the response to an error outside of endpoints: no route, a wrong method, or in a response
        that has not started.
        """
        began = scope["state"]["began"]
        answer = styles.style_of(scope["path"]).answer_to(error, scope["state"]["request_id"])
        count_request(METHOD_LABELS.get(scope["method"], NO_ROUTE), NO_ROUTE, answer.status, time.monotonic() - began)
        return answer

    return build_error_answer


def _make_error_handler(styles: ApiStyles) -> ErrorHandler:
    build_error_answer = _make_error_answerer(styles)

    def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        answer = build_error_answer(request.scope, error)
        headers = {name.decode(): value.decode() for name, value in answer.headers}
        return Response(answer.body or b"", status_code=answer.status, headers=headers, media_type="application/json")

    return answer_error


class _LazyPaths(dict[str, "_PathEndpoints"]):
    """The endpoints of an application by path, made at the first request for the path, because a process that
    has just started, and an application in a test, serves only a few of the three hundred paths.

    ``make_endpoint``: makes the endpoint of an operation.
    """

    def __init__(self, routes: Iterable[RouteMap], make_endpoint: Callable[[RouteMap, Operation], Endpoint]) -> None:
        super().__init__()
        self._make_endpoint = make_endpoint
        self.styles = frozenset(route_map.style for route_map in routes)
        self.operations: dict[str, list[tuple[RouteMap, Operation]]] = defaultdict(list)
        """``{path: operations with their route maps}``."""
        for route_map, operation in _operations_with_maps(routes):
            for path in _operation_paths(route_map, operation):
                self.operations[path].append((route_map, operation))

    def __missing__(self, path: str) -> "_PathEndpoints":
        operations = self.operations[path]
        endpoints = {operation.method: self._make_endpoint(route_map, operation) for route_map, operation in operations}
        unaudited = {operation.method for _, operation in operations if not operation.audited}
        style = operations[-1][0].style
        made = self[path] = _PathEndpoints(path, endpoints, style, unaudited)
        return made


def _build_paths(
    routes: Sequence[RouteMap], services: Services, gatekeeper: Gatekeeper, origins: OriginRule
) -> _LazyPaths:
    """Build the paths of an application; their endpoints run handlers with these services."""
    in_error = services.with_changes_in_error()

    def make_endpoint(route_map: RouteMap, operation: Operation) -> Endpoint:
        used = in_error if route_map.style.changes_in_error else services
        return _make_endpoint(operation, route_map.style, used, gatekeeper, origins)

    return _LazyPaths(routes, make_endpoint)


class _PathEndpoints:
    """A path with the endpoints of its methods. ``route``: the path with placeholders for parameters, for logs and
    metrics. ``unaudited``: methods that the audit trail leaves out.
    """

    def __init__(
        self, route: str, endpoints: Mapping[str, Endpoint], style: ApiStyle, unaudited: Collection[str] = ()
    ) -> None:
        self._route = route
        self._unaudited = unaudited
        self._endpoints = endpoints
        self.style = style
        self._allow = ((b"allow", ", ".join(sorted({*endpoints, "OPTIONS"})).encode()),)

    async def answer_request(self, scope: HTTPScope, receive: Receive) -> ASGIApp:
        """Return the response to a request whose parameters and body are not parsed yet. OPTIONS gets 204, a
        method without endpoint 405; an endpoint's error is returned as a response, not raised.
        """
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            return (
                Answer(204, headers=self._allow)
                if scope["method"] == "OPTIONS"
                else self.style.method_not_allowed(self._allow)
            )
        with _begin_request_span(scope, self._route) as span:
            request_log = RequestLog(scope, self._route, audited=scope["method"] not in self._unaudited)
            try:
                answer = await endpoint(scope, receive)
            except Exception as error:
                answer = self.style.answer_to(error, scope["state"]["request_id"])
                request_log.log_end(answer.status, error)
            else:
                request_log.log_end(answer.status)
            span.set("http.response.status_code", answer.status)
            if answer.status >= 500:
                span.fail(f"status {answer.status}")
        return answer


def _begin_request_span(scope: HTTPScope, route: str) -> AbstractContextManager[Span]:
    """Begin the tracing span of a request; without tracing, return a span that records nothing."""
    if not tracer().on:
        return NOTHING
    method = METHOD_LABELS.get(scope["method"], NO_ROUTE)
    client = next((value for name, value in scope["headers"] if name == _TRACE_HEADER), b"")
    return tracer().request_span(
        scope["state"]["request_id"].removeprefix(PREFIX),
        f"{method} {route}",
        attributes={"http.request.method": method, "http.route": route},
        client=client.decode("latin-1"),
    )


def _make_endpoint(
    operation: Operation, style: ApiStyle, services: Services, gatekeeper: Gatekeeper, origins: OriginRule
) -> Endpoint:
    handle, rule = operation.handle, operation.rule
    reader = None if operation.body is None else style.body_reader(operation.body)
    limit_bytes = max(services.limits.body_bytes, operation.body_bytes)

    async def answer_request(scope: HTTPScope, receive: Receive) -> Answer:
        headers = dict(scope["headers"])
        # before credentials and body are processed, so that the rule holds for each route alike
        origins.check_origin(scope["method"], headers)
        if style.only_json and not (operation.streams and EVENT_STREAM in headers.get(b"accept", b"")):
            check_accept(headers.get(b"accept"))
        try:
            caller = NO_CALLER if rule == PUBLIC else await gatekeeper.admit(rule, headers, scope)
        except Forbidden:
            if operation.refused is None:
                raise
            return operation.refused()
        call = Call(
            caller=caller,
            headers=headers,
            params=scope["path_params"],
            path=scope["path"],
            query_string=scope["query_string"],
            request_id=scope["state"]["request_id"],
            scheme=scope["scheme"],
            prefix=scope["state"].get(STATE, ""),
            permissions=gatekeeper.permissions(scope),
        )
        if reader is None:
            return await handle(services, call)
        # after authorization: a body is read for callers only that may send the request
        check_content_type(headers, only_json=style.only_json)
        body = reader.decode_body(await read_body(receive, headers, limit_bytes))
        return await handle(services, call, body)

    return answer_request


def check_accept(accept: bytes | None) -> None:
    """Check that the client accepts JSON, as it does without an Accept header (``accept`` None). Raises
    :class:`Refusal` (406).
    """
    if accept is None or accept == b"*/*" or b"application/json" in accept:
        return
    kinds = {part.split(b";", 1)[0].strip() for part in accept.lower().split(b",")}
    if not kinds & {b"*/*", b"application/*", b"application/json", b""}:
        raise Refusal(406, "Only content type application/json is accepted.")


__all__ = ["ROUTES", "Application", "create_app"]
