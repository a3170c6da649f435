"""The demo's one URL from its first second on: a reverse proxy to whichever controller answers, and the demo's
controls.

The proxy listens on the loopback address only; the controls need a token, which is in the URL that the demo prints.
Controllers are not aware of the proxy.
"""

import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import ClientConnectionError, ClientError, ClientSession, ClientTimeout, web

from evenkeel.demo.controls import ActionRefused, FaultControls

LISTEN_ADDRESS = "127.0.0.1"
BODY_BYTES_MAX = 1 << 20
CONNECT_SECONDS = 2.0
TOKEN_HEADER = "X-Demo-Token"  # noqa: S105  # its name
_HOP_BY_HOP = frozenset(
    {"connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_STARTING_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Even Keel</title>
<script>setTimeout(() => location.reload(), 1000)</script></head>
<body><p>The demo is starting its first controller…</p></body></html>"""
# not by meta refresh, which takes an address with a fragment for a place in the same page


class DashboardProxy:
    """Reverse proxy that forwards requests to the first controller that answers, and serves the demo's
    controls.

    ``controllers`` returns the root URLs of the controllers that have been started.
    """

    def __init__(self, controllers: Callable[[], Sequence[str]], controls: FaultControls) -> None:
        self._controllers = controllers
        self._controls = controls
        self._token = secrets.token_urlsafe(16)
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None
        self._hosts: frozenset[str] = frozenset()
        self.url = ""
        """URL of the dashboard, with the token; empty before the start."""

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1, and set ``url``."""
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        app.router.add_get("/demo/controls", self._show_controls)
        app.router.add_post("/demo/controls", self._handle_control)
        app.router.add_route("*", "/{path:.*}", self._forward_to_any)
        # Bodies are passed on with their Content-Encoding, so they must stay compressed.
        self._session = ClientSession(
            auto_decompress=False, timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LISTEN_ADDRESS, 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self._hosts = frozenset({f"{LISTEN_ADDRESS}:{port}", f"localhost:{port}"})
        self.url = f"http://{LISTEN_ADDRESS}:{port}/ui/?demo={self._token}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def _check_host(self, request: web.Request) -> None:
        # DNS rebinding: a foreign page's name may resolve to this address, but it has neither our name nor the token
        if request.host not in self._hosts:
            raise web.HTTPMisdirectedRequest(text=f"this is {LISTEN_ADDRESS}")

    async def _show_controls(self, request: web.Request) -> web.Response:
        self._check_token(request)
        return web.json_response(self._controls.state())

    async def _handle_control(self, request: web.Request) -> web.Response:
        self._check_token(request)
        try:
            body = await request.json()
            requested = body if isinstance(body, dict) else {}
            await self._controls.perform_action(requested.get("action"), requested.get("host"))
        except ValueError:
            return web.json_response({"reason": "the body is not JSON"}, status=400)
        except ActionRefused as error:
            return web.json_response({"reason": str(error)}, status=409)
        return web.json_response(self._controls.state())

    def _check_token(self, request: web.Request) -> None:
        self._check_host(request)
        given = request.headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode(errors="replace"), self._token.encode()):
            raise web.HTTPForbidden(text="the token is that of the URL that the demo has printed")

    async def _forward_to_any(self, request: web.Request) -> web.StreamResponse:
        self._check_host(request)
        body = await request.read()
        for url in self._controllers():
            try:
                return await self._forward_to(url, request, body)
            except ClientConnectionError:
                continue  # try the next controller: all serve the same
        if request.path.startswith("/ui"):
            return web.Response(text=_STARTING_PAGE, content_type="text/html", status=503)
        return web.json_response({"faultstring": "no controller of the demo answers"}, status=503)

    async def _forward_to(self, url: str, request: web.Request, body: bytes) -> web.StreamResponse:
        """Forward the request to one controller and stream the response; a response that breaks off aborts
        the client's connection.

        Raises :class:`ClientConnectionError` only before any part of the response was sent.
        """
        assert self._session is not None  # noqa: S101  # started
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        forwarding: Any = self._session.request(
            request.method, url + request.raw_path, headers=headers, data=body or None, allow_redirects=False
        )
        async with forwarding as found:
            kept = {name: value for name, value in found.headers.items() if name.lower() not in _HOP_BY_HOP}
            answer = web.StreamResponse(status=found.status, headers=kept)
            await answer.prepare(request)
            try:
                async for chunk in found.content.iter_any():
                    await answer.write(chunk)
            except (TimeoutError, ClientError, ConnectionError):
                # cut short: the browser sees an incomplete response, and repeats the request
                if request.transport is not None:
                    request.transport.abort()
                return answer
            await answer.write_eof()
            return answer
