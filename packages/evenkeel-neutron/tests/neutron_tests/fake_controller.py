"""A controller that remembers what it was asked, and answers as a test says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class FakeController:
    """Answers every request with :attr:`status` and :attr:`answer`."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[Asked] = []
        self.status = 200
        self.answer: Any = {}
        self.breaks_off = False
        """Whether it closes the connection without an answer."""


@contextmanager
def fake_controller() -> Iterator[FakeController]:
    """One that serves until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.asked.append(Asked(self.command, self.path, headers, self.rfile.read(length)))
            if made.breaks_off:
                self.close_connection = True
                return
            content = made.answer if isinstance(made.answer, bytes) else json.dumps(made.answer).encode()
            self.send_response(made.status)
            for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(content)))):
                self.send_header(name, value)
            self.send_header("X-Openstack-Request-Id", "req-1")
            self.send_header("Server-Timing", "secret")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = FakeController(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
