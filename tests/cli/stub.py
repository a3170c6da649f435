"""A stand-in for a controller: canned answers, and a record of what was asked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Stub:
    """Answers ``(method, path)`` with ``(status, body)``; the last of several answers is repeated."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.url = ""
        self._answers: dict[tuple[str, str], list[tuple[int, Any]]] = {}

    def on(self, method: str, path: str, *bodies: Any, status: int = 200, base: str = "/evenkeel/v1") -> None:
        """Answer ``path`` (with its query) below the operators' API, or ``base``, with these bodies in turn."""
        self._answers[(method, f"{base}{path}")] = [(status, body) for body in bodies or (None,)]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Record the request, choose the answer."""
        self.asked.append((method, path.removeprefix("/evenkeel/v1"), body))
        answers = self._answers.get((method, path), [(404, {"faultcode": "Client", "faultstring": f"no {path}"})])
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def served(stub: Stub) -> Iterator[Stub]:
    """Serve it on a free port of 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = json.loads(self.rfile.read(length)) if length else None
            status, body = stub.answer(self.command, self.path, sent)
            content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any

        def log_message(self, format: str, *arguments: Any) -> None:
            """Be silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()
