"""UDP checks of servers on this host."""

import asyncio
import socket

import pytest

from evenkeel.haproxyd.health.udp_probe import UdpProbe


@pytest.fixture
def server() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    return made


async def test_silence_is_up_and_a_closed_port_is_down(server: socket.socket) -> None:
    probe = UdpProbe(interval_seconds=0)
    port = server.getsockname()[1]
    assert await probe("127.0.0.1", port, 0.2)
    assert server.recv(10) == b""
    server.close()
    assert not await probe("127.0.0.1", port, 30)


async def test_one_address_is_asked_once_in_an_interval(server: socket.socket) -> None:
    probe = UdpProbe(interval_seconds=1000)
    server.close()
    assert not await probe("127.0.0.1", 1, 30)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await probe("127.0.0.1", 2, 30)
    assert not await probe("127.0.0.2", 1, 30)
