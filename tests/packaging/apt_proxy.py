"""An HTTP proxy that listens in a network namespace and fetches with the network of this process: hosts that are cut
off install Debian's packages through it."""

import ctypes
import os
import shutil
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 3128
FETCH_SECONDS = 300
_CLONE_NEWNET = 0x40000000


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if not self.path.startswith("http://"):
            return self.send_error(400)
        kept = {name: self.headers[name] for name in ("If-Modified-Since", "Range") if name in self.headers}
        request = urllib.request.Request(self.path, headers=kept)
        try:
            with urllib.request.urlopen(request, timeout=FETCH_SECONDS) as answer:
                self.send_response(answer.status)
                for name in ("Content-Length", "Content-Type", "Last-Modified", "Content-Range"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.end_headers()
                shutil.copyfileobj(answer, self.wfile)
        except urllib.error.HTTPError as error:
            self.send_response(error.code)
            self.send_header("Content-Length", "0")
            self.end_headers()
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: apt tells what went wrong."""


def _listening(namespace: str, address: str) -> socket.socket:
    """A socket that listens in a namespace, made by a thread of its own, since a namespace is a thread's."""
    made: list[socket.socket] = []

    def make() -> None:
        with Path(f"/run/netns/{namespace}").open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        made.append(socket.create_server((address, PORT)))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


@contextmanager
def apt_proxy(namespace: str, address: str) -> Iterator[None]:
    server = ThreadingHTTPServer((address, PORT), _Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = _listening(namespace, address)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
