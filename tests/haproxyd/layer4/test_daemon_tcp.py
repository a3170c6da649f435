"""TCP through the kernel with a daemon and its HAProxy: checks, and connections while processes are killed."""

from msgspec.structs import replace

from evenkeel.haproxyd import wire
from tests.haproxyd.layer4.host import HostClient, running
from tests.haproxyd.layer4.lab import CLIENTS, PORT, VIP, Lab
from tests.haproxyd.layer4.test_connections import Answering, Connection, answer, connected, plain
from tests.waiting import eventually

PARTITION = "dev_p1"
CHECK = ("check", "inter", "200ms", "fall", "1", "rise", "1")


async def test_connections_outlive_daemon_and_haproxy_and_end_with_their_member(lab: Lab) -> None:
    members = [Answering(lab, number) for number in (1, 2)]
    servers = [replace(await each.start(), arguments=CHECK) for each in members]
    async with running(lab) as daemon:
        async with daemon.client() as agent:
            await agent.patch(PARTITION, wire.PartitionChange(epoch=1, load_balancers=(plain(*servers),)))
            await agent_refuses_the_port_twice(agent)
        connections = [await connected(lab) for _ in range(CLIENTS)]
        before = [await each.ask() for each in connections]
        assert set(before) == {"m1", "m2"}
        daemon.kill()
        assert [await each.ask() for each in connections] == before
        await daemon.start()
        assert [await each.ask() for each in connections] == before
        async with daemon.client() as agent:
            seen = await agent.listener(PARTITION, "lb1_f")
            assert (seen.listening, seen.total_connections) == (True, CLIENTS)
            members[1].refuse()
            await eventually(lambda: _is_down(agent))
        ended = [each for each, name in zip(connections, before, strict=True) if name == "m2"]
        await eventually(lambda: _are_reset(ended))
        others = [each for each in connections if each not in ended]
        assert {await each.ask() for each in others} == {"m1"}  # settled: flows end after the rules have changed
        assert {await answer(lab) for _ in range(8)} == {"m1"}  # settled: the same
    for each in (*connections, *members):
        each.close()


async def _is_down(agent: HostClient) -> bool:
    return not (await agent.server(PARTITION, "m2")).up


async def _are_reset(connections: list[Connection]) -> bool:
    return {await each.ask() for each in connections} == {"reset"}


async def agent_refuses_the_port_twice(agent: HostClient) -> None:
    """A TCP listener of HAProxy and one of the kernel cannot have one address and port."""
    frontend = wire.Frontend(name="f2", binds=(wire.Bind(address=VIP, port=PORT),), lines=("mode tcp",))
    other = wire.LoadBalancerConfig(id="lb2", revision=1, frontends=(frontend,))
    receipt = await agent.sent(PARTITION, wire.PartitionChange(epoch=1, load_balancers=(other,)))
    assert "port 5353 is used by load balancer lb1" in receipt.outcomes[0].error
