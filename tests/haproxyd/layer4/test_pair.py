"""A pair of hosts with a daemon each: the VIP moves by VRRP, and conntrackd keeps connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.active_flows import count_flows
from evenkeel.haproxyd.layer4.elements import VirtualService
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.host import HostDaemon
from tests.haproxyd.layer4.lab import CLIENTS, PORT, VIP, Client, in_namespace, ip
from tests.haproxyd.layer4.pair import PairLab, missing
from tests.haproxyd.layer4.test_connections import Answering, connected, plain
from tests.waiting import eventually

PARTITION = "dev_p1"


@pytest.fixture
async def pair(possible: None) -> AsyncIterator[PairLab]:
    if absent := missing("keepalived"):
        pytest.skip(f"not installed: {absent}")
    made = PairLab()
    try:
        made.start()
        yield made
    finally:
        await made.close()


@contextlib.asynccontextmanager
async def daemons(pair: PairLab, folder: Path, one: wire.LoadBalancerConfig, **options: object) -> AsyncIterator[None]:
    """A daemon on each host, with the load balancer."""
    async with contextlib.AsyncExitStack() as stack:
        for host in pair.hosts:
            pair.host = host
            (folder / host).mkdir()
            daemon = HostDaemon(folder / host, pair, **options)
            stack.callback(daemon.clean_up)
            await daemon.start()
            async with daemon.client() as agent:
                receipt = await agent.patch(PARTITION, wire.PartitionChange(epoch=1, load_balancers=(one,)))
                assert receipt
        yield


async def test_hashed_clients_keep_their_members_when_the_host_with_the_vip_is_lost(
    pair: PairLab, tmp_path: Path
) -> None:
    sources = [f"10.90.0.{number}" for number in range(30, 42)]
    for source in sources:
        ip("-n", pair.client, "address", "add", f"{source}/24", "dev", "eth0")
    members = [await pair.member(number) for number in (1, 2, 3)]
    async with daemons(pair, tmp_path, balancer(*members, choice="source")), pair.keepalived(tmp_path):
        before = [await pair.ask(source=source) for source in sources]
        assert set(before) == {"m1", "m2", "m3"}
        pair.lose(pair.hosts[0])
        await eventually(lambda: _is_answered(pair))
        assert [await pair.ask(source=source) for source in sources] == before  # settled: by hash


async def _is_answered(pair: PairLab) -> bool:
    client = pair.open_client()
    return await client.ask(1.0) != "silence"


@pytest.mark.parametrize("sharing", ["conntrackd", "hashes"])
async def test_connections_outlive_the_host_with_the_vip_with_direct_return(
    pair: PairLab, tmp_path: Path, sharing: str
) -> None:
    if sharing == "conntrackd" and (absent := missing("conntrackd")):
        pytest.skip(f"not installed: {absent}")
    members = [Answering(pair, number) for number in (1, 2)]
    servers = [await each.start() for each in members]
    # without states, the other host deals a connection anew: by its hash to the same member, which knows its client
    choice = "weight" if sharing == "conntrackd" else "source_port"
    async with (
        pair.conntrackd(tmp_path) if sharing == "conntrackd" else contextlib.nullcontext(),
        # members answer to the clients, by the gateway that moves with the VIP
        daemons(pair, tmp_path, plain(*servers, choice=choice), kernel_direct_return=True),
        pair.keepalived(tmp_path),
    ):
        connections = [await connected(pair) for _ in range(CLIENTS)]
        before = [await each.ask() for each in connections]
        assert set(before) == {"m1", "m2"}
        pair.lose(pair.hosts[0])
        await eventually(lambda: pair.has_vip(pair.hosts[1]))
        assert [await each.ask() for each in connections] == before  # settled: TCP repeats what is lost
        for each in (*connections, *members):
            each.close()


async def test_datagrams_flows_outlive_the_host_with_the_vip_with_shared_states_and_direct_return(
    pair: PairLab, tmp_path: Path
) -> None:
    if absent := missing("conntrackd"):
        pytest.skip(f"not installed: {absent}")
    members = [await pair.member(number) for number in (1, 2)]
    clients = [pair.open_client() for _ in range(CLIENTS)]
    async with (
        pair.conntrackd(tmp_path),
        daemons(pair, tmp_path, balancer(*members), kernel_direct_return=True),
        pair.keepalived(tmp_path),
    ):
        before = [await client.ask() for client in clients]
        assert set(before) == {"m1", "m2"}
        # nobody repeats a datagram, so the states have to be there
        await eventually(lambda: in_namespace(pair.hosts[1], known_flows) == len(clients))
        pair.lose(pair.hosts[0])
        await eventually(lambda: pair.has_vip(pair.hosts[1]))
        assert [await first_answer(each) for each in clients] == before  # settled: an answer was waited for


def known_flows() -> int:
    """Number of the VIP's flows in the connection table of this namespace."""
    service = VirtualService(protocol="udp", address=VIP, port=PORT)
    with NetfilterSocket() as netfilter:
        return count_flows(netfilter, [service]).get(service, 0)


async def first_answer(client: Client) -> str:
    """The answer to the first datagram that gets one."""
    async with asyncio.timeout(20):
        while (found := await client.ask(0.2)) == "silence":
            pass
    return found
