"""End dates of the certificates that a controller serves, and of the servers that it uses, as configured."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from oslo_config import cfg
from yarl import URL

from evenkeel.bus.amqp.nodes import parse_nodes
from evenkeel.bus.factory import AMQP
from evenkeel.core.tls.own_certificates import EXPIRY_CHECK_SECONDS, OwnCertificate
from evenkeel.serving.certificate_ends import POSTGRESQL_TLS, file_certificate_expiry, server_certificate_expiry
from evenkeel.store.engine.database import host_and_port_of_url

CERTIFICATE_FILE_SECTIONS = ("api", "metrics")
"""Sections with the option ``ssl_cert_file``."""
SERVER_NAME_BY_URL_OPTION = {
    ("keystone_authtoken", "auth_url"): "Keystone",
    ("keystone_authtoken", "www_authenticate_uri"): "Keystone",
    ("neutron", "auth_url"): "Keystone",
    ("neutron", "endpoint_override"): "Neutron",
    ("barbican", "auth_url"): "Keystone",
    ("barbican", "endpoint_override"): "Barbican",
    ("vault", "vault_url"): "Vault",
}
"""Name of the server by section and option that contains its URL."""


class TlsServer(NamedTuple):
    """A server that may show a certificate. ``request``: bytes that ask for TLS in the server's own protocol;
    empty: TLS begins at once.
    """

    name: str
    host: str
    port: int
    request: bytes = b""


class CertificateExpiryReader:
    """Reads the end dates of the certificates in use. Unreadable files, and servers that are unreachable or
    show no certificate, are left out.

    ``host``: name of this controller's host, for the certificates' names; ``now_seconds``: monotonic clock.
    """

    def __init__(self, conf: cfg.ConfigOpts, host: str, now_seconds: Callable[[], float] = time.monotonic) -> None:
        named = f"controller {host}, {{}}.ssl_cert_file"
        self._files = [(named.format(section), conf[section].ssl_cert_file) for section in CERTIFICATE_FILE_SECTIONS]
        self._peers = tuple(tls_servers(conf))
        self._now_seconds = now_seconds
        self._of_peers: tuple[OwnCertificate, ...] = ()
        self._due_at = float("-inf")

    async def __call__(self) -> Sequence[OwnCertificate]:
        """Return the certificates with their end dates: files are read at each call, and servers connected to
        every :data:`EXPIRY_CHECK_SECONDS` only, because each connection appears in their logs.
        """
        now = self._now_seconds()
        if now >= self._due_at:
            # Set before the connections are made, so that servers that fail are not tried more often.
            self._due_at = now + EXPIRY_CHECK_SECONDS
            looks = (server_certificate_expiry(peer.host, peer.port, request=peer.request) for peer in self._peers)
            self._of_peers = _certificates_with_known_expiry(
                zip((peer.name for peer in self._peers), await asyncio.gather(*looks), strict=True)
            )
        return (
            *_certificates_with_known_expiry(
                (name, file_certificate_expiry(path)) for name, path in self._files if path
            ),
            *self._of_peers,
        )


def _certificates_with_known_expiry(expiry_by_name: Iterable[tuple[str, float | None]]) -> tuple[OwnCertificate, ...]:
    return tuple(OwnCertificate(name=name, ends_at=end) for name, end in expiry_by_name if end is not None)


def tls_servers(conf: cfg.ConfigOpts) -> Iterator[TlsServer]:
    """Yield each server that the options name by a URL with TLS, and the database if it is a PostgreSQL on
    another host.
    """
    if conf.transport_url.startswith(AMQP):
        for node in parse_nodes(conf.transport_url):
            if node.tls:
                yield TlsServer(f"message broker {node}", node.host, node.port)
    if (server := host_and_port_of_url(conf.database.connection)) is not None:
        yield TlsServer(f"database {server[0]}:{server[1]}", *server, POSTGRESQL_TLS)
    urls = {}
    for (section, option), name in SERVER_NAME_BY_URL_OPTION.items():
        url = URL(str(_option_value(conf, section, option) or ""))
        if url.scheme == "https" and url.host and url.port:
            # By host and port: several options may name the same server, whose certificate is then listed once.
            urls[url.host, url.port] = name
    for (host, port), name in urls.items():
        yield TlsServer(f"{name} {host}:{port}", host, port)


def _option_value(conf: cfg.ConfigOpts, section: str, option: str) -> object:
    """Return the value of the option; None if its section does not exist or has no such option."""
    try:
        return conf[section][option]
    except (cfg.NoSuchGroupError, cfg.NoSuchOptError):
        return None
