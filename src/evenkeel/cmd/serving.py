"""The HTTP server: uvicorn, with TLS if asked for, which tells the API who is at the other end of the connection."""

import asyncio
import contextlib
import ssl
from collections.abc import Coroutine, Iterator
from typing import Any

import uvicorn
import uvloop
from oslo_config import cfg
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenkeel.api.identity.caller import PEER, Peer

KEEP_ALIVE_SECONDS = 75
"""An idle connection is kept for so long: longer than gateways and clients keep theirs, which would else send on one
that is just being closed."""


def run_serving(main: Coroutine[Any, Any, None]) -> None:
    """Run a process that serves many small requests: as ``asyncio.run``, on the quicker loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


class PeerProtocol(HttpToolsProtocol):
    """Leaves the peer in each request's state: the scope's ``client`` is what proxies' headers say it is."""

    _peer = Peer()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See who it is."""
        super().connection_made(transport)
        self._peer = peer_of(transport)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.scope["state"][PEER] = self._peer


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """The other end of a connection. ``peercert`` is empty unless the certificate was verified."""
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    return Peer(
        host=str(address[0]) if isinstance(address, tuple) and address else "",
        certificate_names=tuple(names_of(certificate)) if certificate else None,
    )


def names_of(certificate: dict[str, Any]) -> Iterator[str]:
    """The host names in a certificate; its common name only if there are none, as RFC 6125 has it."""
    found = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    if not found:
        found = [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
    yield from found


class Server(uvicorn.Server):
    """uvicorn without its own signal handling: the process decides when to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def server_of(app: Any, conf: cfg.ConfigOpts) -> Server:
    """The server that ``[api]`` describes."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        lifespan="off",
        http=PeerProtocol,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        **_tls(conf),
    )
    return Server(config)


def check_tls(conf: cfg.ConfigOpts) -> None:
    """Raises :class:`ValueError` for certificates that cannot be used."""
    options = _tls(conf)
    if not options:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options["ssl_certfile"], options["ssl_keyfile"])
        if authorities := options.get("ssl_ca_certs"):
            context.load_verify_locations(authorities)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(f"api.ssl_cert_file, ssl_key_file, ssl_client_ca_file: {error}") from error


def _tls(conf: cfg.ConfigOpts) -> dict[str, Any]:
    """uvicorn's options."""
    certificate, key, authorities = conf.api.ssl_cert_file, conf.api.ssl_key_file, conf.api.ssl_client_ca_file
    if not certificate:
        if key or authorities:
            raise ValueError("api.ssl_cert_file: it is needed with ssl_key_file and ssl_client_ca_file")
        return {}
    options: dict[str, Any] = {"ssl_certfile": certificate, "ssl_keyfile": key}
    if authorities:
        options |= {"ssl_ca_certs": authorities, "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return options
