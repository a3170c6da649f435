"""What the demo's authority issues is taken by clients that trust it, and by nobody else."""

import asyncio
import ssl
from pathlib import Path

import pytest

from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.traffic import TlsClient, TrafficConnection, TrafficGenerator
from tests.listening import StreamServer
from tests.waiting import eventually

NAME = "www.example.org"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One web server."""
    while await reader.readline():
        while (await reader.readline()).strip():
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    writer.close()


async def test_traffic_over_tls_counts_the_certificates_that_it_is_shown(tmp_path: Path) -> None:
    authority, stranger = CertificateAuthority(), CertificateAuthority()
    issued = authority.issue(NAME)
    file = tmp_path / "server.pem"
    file.write_text(issued.certificate + issued.private_key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    async with await StreamServer.start(answer, ssl=context) as server:
        port = server.port
        tls = TlsClient(authority.client_context(), NAME)
        traffic = TrafficGenerator("127.0.0.1", port, clients=2, pause_seconds=0.001, tls=tls)
        traffic.start()
        await eventually(lambda: traffic.counts.certificates[issued.sha256] > 2 and traffic.counts.answers["ok"] > 5)
        counts = await traffic.stop()
        assert (counts.failed, set(counts.certificates)) == (0, {issued.sha256})
        for other in (TlsClient(stranger.client_context(), NAME), TlsClient(authority.client_context(), "other.org")):
            with pytest.raises(ssl.SSLCertVerificationError):
                await TrafficConnection.open("127.0.0.1", port, other)
