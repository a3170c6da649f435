"""SCTP by raw packets: associations through the kernel's table, and checks by INIT. No kernel here needs SCTP."""

import asyncio
import contextlib
import functools
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.health import sctp_probe
from evenkeel.haproxyd.health.sctp_probe import (
    ABORT,
    INIT,
    INIT_ACK,
    SCTP_PROTOCOL_NUMBER,
    SctpProbe,
    build_packet,
    crc32c,
    parse_answer,
)
from evenkeel.haproxyd.layer4.forwarding import SCTP_SYSCTL, forwarding_problem
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.host import running
from tests.haproxyd.layer4.lab import MEMBER_PORT, PORT, VIP, Lab, in_namespace, ip
from tests.haproxyd.layer4.test_kernel import Host
from tests.waiting import eventually

COOKIE_ECHO, COOKIE_ACK = 10, 11
IP_HEADER_BYTES = 20
LIMIT_SECONDS = 60.0


def raw(namespace: str, address: str = "") -> socket.socket:
    """A raw socket for SCTP in the namespace, which sees what is sent to the address."""

    def opened() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_RAW, SCTP_PROTOCOL_NUMBER)
        made.setblocking(False)
        if address:
            made.bind((address, 0))
        return made

    return in_namespace(namespace, opened)


class SctpMember:
    """Accepts associations; its number is its tag. ``refuses``: answers with ABORT."""

    def __init__(self, lab: Lab, number: int) -> None:
        self.number = number
        self.address = f"10.91.0.{100 + number}"
        self.refuses = self.is_silent = False
        self.aborted = asyncio.Event()
        ip("-n", lab.servers, "address", "add", f"{self.address}/24", "dev", "eth0")
        self._socket = raw(lab.servers, self.address)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    @property
    def server(self) -> wire.BackendServer:
        return wire.BackendServer(name=f"m{self.number}", address=self.address, port=MEMBER_PORT)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def _read(self) -> None:
        data, (sender, *_) = self._socket.recvfrom(2048)
        source, port, tag, _ = struct.unpack_from("!HHII", data, IP_HEADER_BYTES)
        kind, value = data[IP_HEADER_BYTES + 12], data[IP_HEADER_BYTES + 16 :]
        if port != MEMBER_PORT or self.is_silent:
            return
        if kind == ABORT and tag == self.number:
            self.aborted.set()
        answer = functools.partial(self._send, sender, MEMBER_PORT, source)
        if kind == INIT and self.refuses:
            answer(int.from_bytes(value[:4], "big"), ABORT)
        elif kind == INIT:
            peer_tag = int.from_bytes(value[:4], "big")
            cookie = struct.pack("!HH4s", 7, 8, struct.pack("!I", peer_tag))
            answer(peer_tag, INIT_ACK, struct.pack("!IIHHI", self.number, 65_536, 1, 1, 1) + cookie)
        elif kind == COOKIE_ECHO and tag == self.number:
            answer(int.from_bytes(value[:4], "big"), COOKIE_ACK)

    def _send(self, address: str, *parts: object) -> None:
        self._socket.sendto(build_packet(*parts), (address, 0))  # type: ignore[arg-type]


async def associate(lab: Lab, port: int = PORT, source: int = 40_000, *, within_seconds: float = LIMIT_SECONDS) -> int:
    """Number of the member with which an association with the VIP is made; -1: none is."""
    loop = asyncio.get_running_loop()
    with contextlib.closing(raw(lab.client, "10.90.0.2")) as client:
        tag = 0x1000 + source

        async def answer(kind: int) -> bytes:
            while True:
                data = await loop.sock_recv(client, 2048)
                to_port, found = data[IP_HEADER_BYTES + 2 : IP_HEADER_BYTES + 4], data[IP_HEADER_BYTES + 12]
                if (int.from_bytes(to_port, "big"), found) == (source, kind):
                    return data[IP_HEADER_BYTES + 16 :]

        try:
            async with asyncio.timeout(within_seconds):
                client.sendto(sctp_probe.build_init_packet(source, port, tag), (VIP, 0))
                member = int.from_bytes((await answer(INIT_ACK))[:4], "big")
                client.sendto(build_packet(source, port, member, COOKIE_ECHO, struct.pack("!I", tag)), (VIP, 0))
                await answer(COOKIE_ACK)
        except TimeoutError:
            return -1
        return member


@pytest.fixture
async def members(lab: Lab) -> AsyncIterator[list[SctpMember]]:
    made = [SctpMember(lab, number) for number in (1, 2)]
    yield made
    for member in made:
        member.close()


@pytest.fixture
def host(lab: Lab) -> Host:
    return Host(lab)


def sctp(*members: SctpMember, **changes: object) -> wire.LoadBalancerConfig:
    return balancer(
        *(member.server for member in members),
        protocol="sctp",
        listener={"protocol": "sctp"},
        **changes,  # type: ignore[arg-type]
    )


async def test_associations_are_made_with_all_members_and_only_with_those_that_stay(
    lab: Lab, host: Host, members: list[SctpMember]
) -> None:
    host.serve(sctp(*members), balancer(name="udp"))
    assert {await associate(lab, source=port) for port in range(40_000, 40_020)} == {1, 2}
    host.serve(sctp(members[0]), balancer(name="udp"))
    assert {await associate(lab, source=port) for port in range(40_000, 40_010)} == {1}
    counted = host.counters()
    assert counted["in-p/lb1_f"].packets >= 60
    assert counted["new-p/lb1_f"].packets >= 20


async def test_a_client_that_is_bound_stays_with_its_member(lab: Lab, host: Host, members: list[SctpMember]) -> None:
    host.serve(sctp(*members, sticky_seconds=60))
    assert len({await associate(lab, source=port) for port in range(40_000, 40_010)}) == 1


async def test_a_probe_sees_who_accepts_associations(lab: Lab, members: list[SctpMember]) -> None:
    probe, port = SctpProbe(), MEMBER_PORT

    async def ask(address: str) -> bool:
        def asked() -> bool:
            return asyncio.run(probe(address, port, 1))

        return await asyncio.to_thread(in_namespace, lab.host, asked)

    assert await ask(members[0].address)
    await asyncio.wait_for(members[0].aborted.wait(), LIMIT_SECONDS)
    members[0].refuses = members[1].is_silent = True
    assert not await ask(members[0].address)
    assert not await ask(members[1].address)


def test_the_checksum_is_that_of_rfc_3720() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA


@pytest.mark.parametrize("data", [b"", bytes(8), bytes(40), build_packet(5000, 50_001, 7, INIT_ACK, bytes(16))])
def test_other_packets_are_no_answer(data: bytes) -> None:
    assert parse_answer(data, 50_000, 5000, 7, has_ip_header=False) == (0, 0)


def test_an_answer_is_read_with_and_without_ip_header() -> None:
    answer = build_packet(5000, 50_000, 7, INIT_ACK, struct.pack("!I", 9) + bytes(12))
    assert parse_answer(answer, 50_000, 5000, 7, has_ip_header=False) == (INIT_ACK, 9)
    assert parse_answer(b"\x46" + bytes(23) + answer, 50_000, 5000, 7, has_ip_header=True) == (INIT_ACK, 9)
    assert parse_answer(build_packet(5000, 50_000, 7, ABORT), 50_000, 5000, 7, has_ip_header=False) == (ABORT, 0)


def test_a_kernel_that_does_not_track_sctp_is_named(tmp_path: object) -> None:
    path = tmp_path / SCTP_SYSCTL  # type: ignore[operator]
    assert "does not track SCTP" in forwarding_problem((), {"sctp"}, proc=tmp_path)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True)
    path.write_text("1")
    assert forwarding_problem((), {"sctp", "udp"}, proc=tmp_path) == ""  # type: ignore[arg-type]


async def test_a_silent_member_leaves_by_a_daemons_checks(lab: Lab, members: list[SctpMember]) -> None:
    ping = wire.Ping(delay=1, timeout=1, rise=1, fall=1, protocol="sctp")
    async with running(lab) as daemon, daemon.client() as agent:
        await agent.patch("dev_p1", wire.PartitionChange(epoch=1, load_balancers=(sctp(*members, ping=ping),)))

        async def is_up(name: str, up: bool) -> bool:
            status = await agent.server("dev_p1", name)
            return status.checked and status.up == up

        for name in ("m1", "m2"):
            await eventually(functools.partial(is_up, name, up=True))
        members[1].is_silent = True
        await eventually(functools.partial(is_up, "m2", up=False))
        ports = iter(range(40_000, 60_000))

        async def all_go_to_the_first() -> bool:
            return {await associate(lab, source=next(ports), within_seconds=3.0) for _ in range(10)} == {1}

        await eventually(all_go_to_the_first)

        async def are_counted() -> bool:
            seen = await agent.listener("dev_p1", "lb1_f")
            return seen.listening and seen.total_connections >= 10

        await eventually(are_counted)
