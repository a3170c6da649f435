"""Static files of the dashboard."""

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from litestar import Request
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from evenkeel.api.responses.answers import problem_answer
from evenkeel.core.kit.values import Value

PREFIX = "/ui"
INDEX = "index.html"
TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
}
HEADERS = (
    # no external sources, no inline scripts, no embedding in frames
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)


class PageFile(Value):
    """A file of the dashboard with the values of its headers, ready to be sent."""

    content: bytes
    media_type: bytes
    etag: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file (ASGI); 304 without a body if the client has it, and no body for HEAD."""
        headers = [*HEADERS, (b"etag", self.etag)]
        known = dict(scope["headers"]).get(b"if-none-match") == self.etag
        if not known:
            headers += [(b"content-type", self.media_type), (b"content-length", b"%d" % len(self.content))]
        await send({"type": "http.response.start", "status": 304 if known else 200, "headers": headers})
        # Neither a 304 nor the response to HEAD has a body (RFC 9110, 9.3.2 and 15.4.5).
        body = b"" if known or scope["method"] == "HEAD" else self.content  # type: ignore[typeddict-item]
        await send({"type": "http.response.body", "body": body, "more_body": False})


def read_files() -> dict[str, PageFile]:
    """Read the dashboard's files of known types into memory; return them by file name."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        content = file.read_bytes()
        suffix = file.name.rpartition(".")[2]
        if suffix in TYPES:
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'.encode()
            found[file.name] = PageFile(content=content, media_type=TYPES[suffix], etag=etag)
    return found


def page_handlers() -> Iterator[HTTPRouteHandler]:
    """Yield the handlers of ``/ui`` and of the files below it, which are read once."""
    served = read_files()

    async def serve_file(request: Request[Any, Any, Any]) -> ASGIApp:
        name = request.scope["path_params"].get("name", INDEX)
        return served.get(name) or problem_answer(404, f"/ui/{name[:64]} is not a file of the dashboard.")

    async def redirect_to_folder(request: Request[Any, Any, Any]) -> ASGIApp:
        # relative, for gateways with a prefix; the router takes /ui and /ui/ for the same path
        return served[INDEX] if request.scope["raw_path"].endswith(b"/") else _redirect_to_folder

    methods = [HttpMethod.GET, HttpMethod.HEAD]
    yield HTTPRouteHandler(PREFIX, http_method=methods, include_in_schema=False)(redirect_to_folder)
    yield HTTPRouteHandler(f"{PREFIX}/{{name:str}}", http_method=methods, include_in_schema=False)(serve_file)


async def _redirect_to_folder(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [*HEADERS, (b"location", b"ui/"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
