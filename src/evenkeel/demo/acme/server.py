"""The demo's authority for ACME clients: an HTTPS server in threads of this process."""

import http.client
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

import dns.exception
import dns.message
import dns.query
import dns.rdatatype

from evenkeel.demo.acme.protocol import AcmeChallengeCheck, AcmeProtocol, dns_01_challenge, http_01_challenge
from evenkeel.demo.authority import CertificateAuthority

HTTP_PORT = 80
"""The port at which RFC 8555 wants http-01 to be answered."""
FETCH_SECONDS = 5.0
IDLE_SECONDS = 60.0
BODY_BYTES_MAX = 64 * 1024
ANSWER_BYTES_MAX = 1024


class _Server(ThreadingTCPServer):
    # Not HTTPServer, which looks for the name of its address and may wait for a resolver.
    daemon_threads = True
    block_on_close = False
    protocol: AcmeProtocol

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of the current error, unless a client has gone away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            self.send_error(413)
            return
        found = self.server.protocol.respond(self.command, self.path, self.rfile.read(int(length)))
        self.send_response(found.status)
        for name, value in found.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(found.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    do_HEAD = do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Log nothing: the demo's own output reports the requests' results."""


class AcmeServer:
    """HTTPS server of an authority for ACME clients, on a free port of 127.0.0.1. ``method``: how names are
    proven.
    """

    def __init__(self, authority: CertificateAuthority, method: AcmeChallengeCheck) -> None:
        self._server = _Server(("127.0.0.1", 0), _RequestHandler)
        self._server.socket = authority.server_context("127.0.0.1").wrap_socket(
            # The handshake is made by the thread of the connection.
            self._server.socket,
            server_side=True,
            do_handshake_on_connect=False,
        )
        self._root = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._server.protocol = AcmeProtocol(self._root, method=method, sign=authority.sign)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="acme-server", daemon=True
        )

    @property
    def directory_url(self) -> str:
        """URL of the ACME directory."""
        return f"{self._root}/directory"

    def start(self) -> None:
        """Begin to answer, in threads."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving; blocks until the server's thread has ended."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def http_challenge_method(addresses: Mapping[str, str], *, port: int = HTTP_PORT) -> AcmeChallengeCheck:
    """Return the method http-01, which connects to ``port`` of the addresses by name; other names cannot be
    proven.
    """

    def fetch(name: str, path: str) -> str:
        if name not in addresses:
            raise OSError("the name has no address")
        connection = http.client.HTTPConnection(addresses[name], port, timeout=FETCH_SECONDS)
        try:
            connection.request("GET", path, headers={"Host": name})
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"HTTP status {answer.status}")
            return answer.read(ANSWER_BYTES_MAX).decode("latin-1")
        except http.client.HTTPException as error:
            raise OSError(f"no HTTP answer ({type(error).__name__})") from error
        finally:
            connection.close()

    return http_01_challenge(fetch)


def dns_challenge_method(name_server: str) -> AcmeChallengeCheck:
    """Return the method dns-01. ``name_server``: ``address:port`` of the server that knows all names."""
    host, _, port = name_server.rpartition(":")

    def texts(name: str) -> list[str]:
        try:
            answer = dns.query.udp(dns.message.make_query(name, "TXT"), host, port=int(port), timeout=FETCH_SECONDS)
        except dns.exception.DNSException as error:
            raise OSError(f"no DNS answer ({type(error).__name__})") from error
        return [
            b"".join(rdata.strings).decode("latin-1")
            for rrset in answer.answer
            if rrset.rdtype == dns.rdatatype.TXT
            for rdata in rrset
        ]

    return dns_01_challenge(texts)
