"""Until when certificates are valid that files hold and servers show."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from evenkeel.serving import certificate_ends
from evenkeel.serving.certificate_ends import POSTGRESQL_TLS, file_certificate_expiry, server_certificate_expiry
from tests.listening import StreamServer

ENDS = datetime.datetime(2026, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)
"""Past: what has expired is read, too."""


def leaf() -> trustme.LeafCert:
    since = ENDS - datetime.timedelta(days=30)
    return trustme.CA().issue_cert("127.0.0.1", not_before=since, not_after=ENDS)


@asynccontextmanager
async def serving(*, request: bytes = b"", agrees: bytes = b"S", tls: bool = True) -> AsyncIterator[int]:
    """A server with the certificate. ``request``: it begins with TLS only after that."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf().configure_cert(context)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request:
            assert await reader.readexactly(len(request)) == request
            writer.write(agrees)
            if agrees == b"S":
                await writer.start_tls(context)
        await reader.read()
        writer.close()

    at_once = context if tls and not request else None
    async with await StreamServer.start(serve, ssl=at_once) as server:
        yield server.port


async def test_certificate_of_a_server_is_read_though_it_has_expired_and_nobody_trusts_it() -> None:
    async with serving() as port:
        assert await server_certificate_expiry("127.0.0.1", port) == ENDS.timestamp()


async def test_certificate_of_postgresql_is_read_after_its_own_request_for_tls() -> None:
    async with serving(request=POSTGRESQL_TLS) as port:
        assert await server_certificate_expiry("127.0.0.1", port, request=POSTGRESQL_TLS) == ENDS.timestamp()
    async with serving(request=POSTGRESQL_TLS, agrees=b"N") as port:
        assert await server_certificate_expiry("127.0.0.1", port, request=POSTGRESQL_TLS) is None


async def test_server_that_is_away_or_speaks_no_tls_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate_ends, "HANDSHAKE_SECONDS", 0.2)
    async with serving(tls=False) as port:
        assert await server_certificate_expiry("127.0.0.1", port) is None
    assert await server_certificate_expiry("127.0.0.1", port) is None


def test_end_of_a_file_is_that_of_its_first_certificate(tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in leaf().cert_chain_pems) + trustme.CA().cert_pem.bytes())
    assert file_certificate_expiry(chain) == ENDS.timestamp()
    assert file_certificate_expiry(tmp_path / "none") is None
    chain.write_text("nothing")
    assert file_certificate_expiry(chain) is None
