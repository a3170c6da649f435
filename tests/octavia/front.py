"""One endpoint for command lines without a catalogue: load balancing by Octavia, networks by Even Keel's controller."""

import contextlib
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.services.octavia import PROJECT

_NETWORKS = ("/v2/", "/v2.0/")
"""Octavia lists its versions, so the client takes the first for networks, too."""


@contextlib.contextmanager
def front(octavia: str, networks: str) -> Iterator[str]:
    """Root URL of the endpoint until the block ends; requests are those of the test's project."""

    places = {"octavia": octavia, "networks": networks}

    class Forwarder(BaseHTTPRequestHandler):
        def _forward(self) -> None:
            place, path = _destination(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            kept = {name: value for name, value in self.headers.items() if name in ("Content-Type", "Accept")}
            request = urllib.request.Request(
                places[place] + path,
                self.rfile.read(length) if length else None,
                {**kept, "X-Project-Id": PROJECT},
                method=self.command,
            )
            try:
                with urllib.request.urlopen(request, timeout=60.0) as answer:
                    self._answer(answer.status, answer.headers.get("Content-Type"), answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    self._answer(error.code, error.headers.get("Content-Type"), error.read())

        def _answer(self, status: int, kind: str | None, body: bytes) -> None:
            self.send_response(status)
            if kind:
                self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _forward

    with ThreadingHTTPServer(("127.0.0.1", 0), Forwarder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _destination(path: str) -> tuple[str, str]:
    """Who answers, and the path there."""
    if path.startswith("/projects"):
        return "networks", path  # it says that there is no identity service
    start = next((start for start in _NETWORKS if path.startswith(start)), None)
    if start is None or path.startswith(f"{start}lbaas"):
        return "octavia", path
    return "networks", f"/v2.0/{path.removeprefix(start)}"
