"""An ACME server that answers as it is told: its signatures are not checked, and any answer may be a wrong one."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

TOKEN = "dG9rZW4tb2YtdGhlLWNoYWxsZW5nZQ"
"""The library reads a token as base64url, and writes it again: one with other last bits would be another one."""


class Response(NamedTuple):
    """What is sent for one path."""

    body: Any
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class AuthorityServer:
    """Well-behaved by default; :attr:`responses` has other answers by path."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.responses: dict[str, Response | Callable[[BaseHTTPRequestHandler], None]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer._respond(self)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                """The test knows what it has sent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        names = {"newNonce": "nonce", "newAccount": "account", "newOrder": "new-order"}
        self.order = {
            "status": "pending",
            "identifiers": [{"type": "dns", "value": "www.example.org"}],
            "authorizations": [f"{self.root}/authorization"],
            "finalize": f"{self.root}/finalize",
        }
        challenge = {"type": "http-01", "url": f"{self.root}/challenge", "token": TOKEN, "status": "pending"}
        self.authorization = {
            "status": "pending",
            "identifier": {"type": "dns", "value": "www.example.org"},
            "challenges": [{**challenge, "type": "dns-01"}, challenge],
        }
        self._usual = {
            "/directory": Response({key: f"{self.root}/{name}" for key, name in names.items()}),
            "/nonce": Response({}),
            "/account": Response({"status": "valid"}, 201, (("Location", f"{self.root}/account/1"),)),
            "/new-order": Response(self.order, 201, (("Location", f"{self.root}/order/1"),)),
            "/order/1": Response(self.order),
            "/authorization": Response(self.authorization),
            "/challenge": Response(challenge),
            "/finalize": Response(self.order),
        }
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(f"{handler.command} {handler.path}")
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        found = self.responses.get(handler.path) or self._usual.get(handler.path) or Response({}, 404)
        if not isinstance(found, Response):
            found(handler)
            return
        body = found.body if isinstance(found.body, bytes) else json.dumps(found.body).encode()
        handler.send_response(found.status)
        for name, value in (("Replay-Nonce", "bm9uY2U"), ("Content-Type", "application/json"), *found.headers):
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)
