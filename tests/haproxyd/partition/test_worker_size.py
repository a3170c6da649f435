"""Workers are as large as their listeners, and grow before their connections are used up."""

import socket

from tests.haproxyd.world import World, free_vip, get, load_balancer, world
from tests.waiting import eventually


def maxconn(site: World) -> int:
    """Connections that the worker accepts."""
    with socket.socket(socket.AF_UNIX) as cli:
        cli.connect(str(site.partitions.get("p")._runner._layout.worker_socket))
        cli.sendall(b"show info\n")
        answer = b"".join(iter(lambda: cli.recv(65536), b"")).decode()
    return int(dict(line.split(": ", 1) for line in answer.splitlines() if ": " in line)["Maxconn"])


async def test_a_worker_has_room_for_its_listeners_limits_and_grows_for_a_higher_one():
    async with world() as site:
        member, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, member, maxconn=150))
        assert 150 <= maxconn(site) < 1000
        lowered = await site.patch("p", load_balancer("lb", vip, member, maxconn=100, revision=2))
        assert lowered.how == "runtime"
        raised = await site.patch("p", load_balancer("lb", vip, member, maxconn=5000, revision=3))
        assert raised.how == "reload"
        assert 5000 <= maxconn(site) < 7000


async def test_a_worker_of_unlimited_listeners_grows_when_half_is_used_and_is_kept_by_the_next_daemon():
    async with world() as site:
        member, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, member))
        assert 2000 <= maxconn(site) < 3000
        supervisor = site.partitions.get("p")
        first = supervisor.worker_pid
        supervisor.note_connection_count(1000)
        await eventually(lambda: supervisor.settled is not None and maxconn(site) >= 8000)
        grown = supervisor.worker_pid
        assert grown != first
        await site.restart()
        receipt = await site.put("p", load_balancer("lb", vip, member))
        assert (receipt.how, site.partitions.get("p").worker_pid) == ("nothing", grown)
        assert await get(vip) == "a"
        changed = await site.put("p", load_balancer("lb", vip, member, lines=("timeout client 7s",), revision=2))
        assert changed.how == "reload"
        assert maxconn(site) >= 8000
