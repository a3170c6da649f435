"""Expiry of server certificates: of a file that one of our servers uses, or of another server, by a handshake.

The handshake verifies nothing: it only reads the certificate that is shown, even an expired one. Nothing is sent over
the connection.
"""

import asyncio
import contextlib
import ssl
from pathlib import Path

from cryptography import x509

HANDSHAKE_SECONDS = 5.0
POSTGRESQL_TLS = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
"""PostgreSQL's SSLRequest, which a server with TLS answers with ``S``."""


def file_certificate_expiry(path: str | Path) -> float | None:
    """Return the expiry of the first certificate of a PEM file, in seconds since the epoch; None if the file
    cannot be read or begins with no certificate.
    """
    try:
        return x509.load_pem_x509_certificate(Path(path).read_bytes()).not_valid_after_utc.timestamp()
    except (OSError, ValueError):
        return None


async def server_certificate_expiry(host: str, port: int, *, request: bytes = b"") -> float | None:
    """Return the expiry of the certificate that a server shows, in seconds since the epoch; None if it shows
    none or does not answer within :data:`HANDSHAKE_SECONDS`. ``request``: bytes that ask for TLS in the
    server's own protocol, such as PostgreSQL's, answered with ``S``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # the expiry is wanted of certificates that have expired or that this host does not trust, too
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            der = await _read_server_certificate(context, host, port, request)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return None
    try:
        return x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp() if der else None
    except ValueError:
        return None


async def _read_server_certificate(context: ssl.SSLContext, host: str, port: int, request: bytes) -> bytes | None:
    tls = None if request else context
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname=host if tls else None)
    try:
        if request:
            writer.write(request)
            if await reader.readexactly(1) != b"S":
                return None
            await writer.start_tls(context, server_hostname=host)
        shown: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return shown
    finally:
        writer.close()
        # The peer may reset the connection, because nothing was sent on it; the certificate has been read by then.
        with contextlib.suppress(OSError):
            await writer.wait_closed()
