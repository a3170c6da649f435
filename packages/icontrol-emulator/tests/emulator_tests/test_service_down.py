"""Connections of a member that goes down (`serviceDownAction`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulator_tests.client import Backend, Client, exchange
from emulator_tests.datagram_site import Asker, Echo
from emulator_tests.datagram_site import site as datagram_site
from emulator_tests.virtual_site import VIP, Start, site
from icontrol_emulator import Emulator

Down = Callable[[str], None]


@pytest.fixture
def down(emulator: Emulator) -> Down:
    """Lets the server that said its name go down; two servers listen at 127.0.0.1 and 127.0.0.2."""

    def mark(member: str) -> None:
        emulator.set_member_state("bigip-1", "/P/p", member, "down")

    return mark


async def connected(
    device: Client, backend: Start, action: str, profiles: list[str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Backend, Backend]:
    """A connection, the server that has it, and the other one."""
    servers = {"a": await backend("a"), "b": await backend("b", "127.0.0.2")}
    port = await site(device, list(servers.values()), profiles)
    await device.patch("ltm/pool/~P~p", {"serviceDownAction": action})
    reader, writer = await asyncio.open_connection(VIP, port)
    used = servers.pop((await exchange(reader, writer))[1])
    return reader, writer, used, next(iter(servers.values()))


def path(server: Backend) -> str:
    return f"/P/{server.host}:{server.port}"


@pytest.mark.parametrize("profiles", [["tcp"], ["http"]])
async def test_connections_stay_by_default(device: Client, backend: Start, down: Down, profiles: list[str]) -> None:
    reader, writer, used, _ = await connected(device, backend, "none", profiles)
    down(path(used))
    assert (await exchange(reader, writer))[1] == used.name
    writer.close()


@pytest.mark.parametrize("profiles", [["tcp"], ["http"]])
async def test_reset(device: Client, backend: Start, down: Down, profiles: list[str]) -> None:
    reader, writer, used, _ = await connected(device, backend, "reset", profiles)
    down(path(used))
    with pytest.raises(ConnectionError):
        assert await reader.read() == b"reset, not closed"
    writer.close()


async def test_drop_says_nothing_until_the_client_sends(device: Client, backend: Start, down: Down) -> None:
    reader, writer, used, _ = await connected(device, backend, "drop", ["tcp"])
    down(path(used))
    waiting = asyncio.create_task(reader.read())
    done, _ = await asyncio.wait([waiting], timeout=0.2)
    assert not done
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionError):
        assert await waiting == b"reset, not closed"
    writer.close()


@pytest.mark.parametrize("profiles", [["tcp"], ["http"]])
async def test_reselect(device: Client, backend: Start, down: Down, profiles: list[str]) -> None:
    reader, writer, used, other = await connected(device, backend, "reselect", profiles)
    down(path(used))
    assert (await exchange(reader, writer))[1] == other.name
    writer.close()


async def test_members_taken_out_by_users_keep_their_connections(device: Client, backend: Start) -> None:
    reader, writer, used, _ = await connected(device, backend, "reset", ["tcp"])
    off = {"state": "user-down", "session": "user-disabled"}
    await device.patch(f"ltm/pool/~P~p/members/~P~{used.host}:{used.port}", off)
    assert (await exchange(reader, writer))[1] == used.name
    writer.close()


async def test_flows_of_datagrams_move(
    device: Client, echo: Callable[[str], Awaitable[Echo]], asker: Callable[..., Asker], down: Down
) -> None:
    servers = {"a": await echo("a"), "b": await echo("b")}
    port = await datagram_site(device, list(servers.values()))
    await device.patch("ltm/pool/~P~p", {"serviceDownAction": "reselect"})
    client = asker(port)
    used = (await client.ask())[0]
    down(f"/P/127.0.0.1:{servers.pop(used).port}")
    assert (await client.ask())[0] in servers
