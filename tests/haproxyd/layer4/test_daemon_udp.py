"""A daemon, its HAProxy and the kernel together: health, statuses, totals, restarts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from evenkeel.haproxyd import wire
from tests.haproxyd.layer4.configs import balancer
from tests.haproxyd.layer4.host import HostClient, HostDaemon, running
from tests.haproxyd.layer4.lab import CLIENTS, PORT, VIP, Client, Lab, Member, Stream, in_namespace
from tests.haproxyd.layer4.libnftables import Libnftables
from tests.waiting import eventually

PARTITION = "dev_p1"
PROBE = wire.Ping(delay=1, timeout=1, rise=1, fall=1, protocol="udp")


@pytest.fixture
async def daemon(lab: Lab) -> AsyncIterator[HostDaemon]:
    async with running(lab) as made:
        yield made


@pytest.fixture
async def agent(daemon: HostDaemon) -> AsyncIterator[HostClient]:
    async with daemon.client() as made:
        yield made


@pytest.fixture
async def members(lab: Lab) -> list[Member]:
    return [await lab.member(number) for number in (1, 2)]


def holding(*balancers: wire.LoadBalancerConfig, removed: tuple[str, ...] = ()) -> wire.PartitionChange:
    return wire.PartitionChange(epoch=1, load_balancers=balancers, removed=removed)


async def test_a_dead_member_leaves_and_comes_back(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    await agent.patch(PARTITION, holding(balancer(*members, ping=PROBE)))
    assert {await lab.ask() for _ in range(30)} == {"m1", "m2"}
    await eventually(lambda: _checked(agent))
    bound = lab.open_client()
    name = await bound.ask()
    dead = next(member for member in members if member.name == name)
    dead.stop()

    async def is_down() -> bool:
        status = await agent.server(PARTITION, dead.name)
        return status.checked and not status.up

    await eventually(is_down)
    other = next(member for member in members if member is not dead)
    # its flows move with it
    await eventually(lambda: _answers(bound.ask, other.name))
    assert {await lab.ask() for _ in range(20)} == {other.name}  # settled: flows go after the rules
    await dead.start()
    await eventually(lambda: _answers(lab.ask, dead.name))


async def test_a_dead_member_leaves_while_clients_use_up_the_errors_that_its_host_sends(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    patient = msgspec.structs.replace(PROBE, fall=2)  # which no chance finds among clients' errors
    await agent.patch(PARTITION, holding(balancer(*members, ping=patient)))
    await eventually(lambda: _checked(agent))
    clients = [lab.open_client() for _ in range(CLIENTS)]
    assert {await client.ask() for client in clients} == {"m1", "m2"}
    async with asyncio.TaskGroup() as group:
        hurrying = [group.create_task(_hurry(client)) for client in clients]
        members[0].stop()
        await eventually(lambda: _is_up(agent, "m1", up=False))
        for task in hurrying:
            task.cancel()
    for client in clients:
        await eventually(lambda client=client: _answers(client.ask, "m2"))


async def _hurry(client: Client) -> None:
    while True:
        await client.ask(0.02)


async def _is_up(agent: HostClient, name: str, *, up: bool) -> bool:
    status = await agent.server(PARTITION, name)
    return status.checked and status.up == up


async def _answers(ask: Callable[[], Awaitable[str]], name: str) -> bool:
    return await ask() == name


async def _checked(agent: HostClient) -> bool:
    seen = await agent.observe(PARTITION)
    return all(server.checked for backend in seen.backends for server in backend.servers)


async def test_traffic_goes_on_while_the_daemon_is_killed_and_restarted(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    await agent.patch(PARTITION, holding(balancer(*members, sticky_seconds=60)))
    async with Stream(lab).flowing() as stream:
        await stream.more(200)
        daemon.kill()
        await stream.more(200)
        await daemon.start()
        await stream.more(200)
    assert stream.answers.keys() <= {"m1", "m2"}
    async with daemon.client() as again:
        seen = await again.listener(PARTITION, "lb1_f")
        assert (seen.listening, seen.total_connections, seen.active_connections) == (True, 8, 8)
        assert seen.bytes_in >= stream.answers.total() * len(b"question")
        # the table was adopted, not made anew: bound clients and their flows are as before
        receipt = await again.sent(PARTITION, holding(balancer(*members, sticky_seconds=60)))
        assert receipt.how == "nothing"


async def test_a_flushed_ruleset_is_restored(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    await agent.patch(PARTITION, holding(balancer(*members)))
    assert await lab.ask() in ("m1", "m2")
    before = await agent.listener(PARTITION, "lb1_f")

    def flush() -> None:
        Libnftables().run("flush ruleset")

    in_namespace(lab.host, flush)

    async def serves() -> bool:
        # until the ruleset is there again, datagrams get lost
        return await lab.ask(limit_seconds=1.0) in ("m1", "m2")

    await eventually(serves)
    after = await agent.listener(PARTITION, "lb1_f")
    assert (after.bytes_in, after.total_connections) >= (before.bytes_in, before.total_connections)


async def test_udp_and_tcp_listeners_share_a_vip_and_a_port(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    udp = balancer(*members)
    tcp = wire.LoadBalancerConfig(
        id="lb2",
        revision=1,
        frontends=(wire.Frontend(name="tcp_f", binds=(wire.Bind(address=VIP, port=PORT),), lines=("mode tcp",)),),
    )
    await agent.patch(PARTITION, holding(udp, tcp))
    assert await lab.ask() in ("m1", "m2")
    twice = wire.PartitionChange(epoch=1, load_balancers=(balancer(*members, name="lb3"),))
    receipt = await agent.sent(PARTITION, twice)
    assert "port 5353 of UDP is used by load balancer lb1" in receipt.outcomes[0].error


async def test_a_removed_load_balancer_refuses(
    lab: Lab, daemon: HostDaemon, agent: HostClient, members: list[Member]
) -> None:
    await agent.patch(PARTITION, holding(balancer(*members)))
    client = lab.open_client()
    assert await client.ask() in ("m1", "m2")
    await agent.patch(PARTITION, holding(removed=("lb1",)))
    # the VIP is the host's own address here, which has no such service
    assert await client.ask() == "refused"
    seen = await agent.observe(PARTITION)
    assert seen.frontends == ()
