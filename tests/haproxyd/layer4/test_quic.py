"""QUIC behind UDP listeners: handshakes and streams of aioquic's clients and servers."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from evenkeel.haproxyd.api.tls import CertificateFiles, make_certificates
from tests.haproxyd.layer4.configs import balancer, server
from tests.haproxyd.layer4.lab import PORT, VIP, Lab, Member, in_namespace
from tests.haproxyd.layer4.test_kernel import Host

PROTOCOL = "echo"
CONNECTIONS = 8
QUIC_PORT = 4433


def datagrams(address: str, port: int = 0) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setblocking(False)
    opened.bind((address, port))
    return opened


class QuicMember:
    """A server that answers the request on each stream with its name."""

    def __init__(self, member: Member, files: CertificateFiles) -> None:
        self.member = member
        self._configuration = QuicConfiguration(is_client=False, alpn_protocols=[PROTOCOL])
        self._configuration.load_cert_chain(files.certificate, files.key)
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> None:
        one = self.member
        opened = in_namespace(one.namespace, lambda: datagrams(one.address, QUIC_PORT))
        made, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: QuicServer(configuration=self._configuration, stream_handler=self._answer), sock=opened
        )
        self._transport = made

    def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def answer() -> None:
            await reader.read()
            writer.write(self.member.name.encode())
            writer.write_eof()

        self._answering = asyncio.create_task(answer())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class QuicClient:
    """A connection to the VIP."""

    def __init__(self, protocol: Any, transport: asyncio.DatagramTransport) -> None:
        self._protocol, self._transport = protocol, transport

    async def ask(self) -> str:
        """The name of the member, on a stream of its own."""
        async with asyncio.timeout(20):
            reader, writer = await self._protocol.create_stream()
            writer.write(b"question")
            writer.write_eof()
            return str((await reader.read()).decode())

    async def close(self) -> None:
        self._protocol.close()
        await self._protocol.wait_closed()
        self._transport.close()


async def connected(lab: Lab, files: CertificateFiles) -> QuicClient:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=[PROTOCOL], server_name="localhost")
    configuration.load_verify_locations(str(files.authority))
    opened = in_namespace(lab.client, lambda: datagrams("0.0.0.0"))
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=configuration)), sock=opened
    )
    protocol.connect((VIP, PORT))
    async with asyncio.timeout(20):
        await protocol.wait_connected()
    return QuicClient(protocol, transport)


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return make_certificates(tmp_path / "tls", ["localhost"])


@pytest.fixture
async def members(lab: Lab, files: CertificateFiles) -> AsyncIterator[list[QuicMember]]:
    made = [QuicMember(await lab.member(number), files) for number in (1, 2)]
    for each in made:
        await each.start()
    yield made
    for each in made:
        each.close()


async def test_quic_connections_stay_with_their_member_while_members_come_and_go(
    lab: Lab, files: CertificateFiles, members: list[QuicMember]
) -> None:
    host = Host(lab)
    servers = [server(each.member, port=QUIC_PORT) for each in members]
    host.serve(balancer(servers[0]))
    clients = [await connected(lab, files) for _ in range(CONNECTIONS // 2)]
    assert {await each.ask() for each in clients} == {"m1"}
    host.serve(balancer(*servers))
    clients += [await connected(lab, files) for _ in range(CONNECTIONS)]
    before = [await each.ask() for each in clients]
    assert before[: CONNECTIONS // 2] == ["m1"] * (CONNECTIONS // 2)
    assert set(before) == {"m1", "m2"}
    host.serve(balancer(servers[0], server(members[1].member, port=QUIC_PORT, weight=0)))
    assert [await each.ask() for each in clients] == before
    for each in clients:
        await each.close()
    host.table.close()
