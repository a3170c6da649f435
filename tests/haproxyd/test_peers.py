"""Where other hosts' HAProxys reach a partition's: a port of its own, and never a reason not to serve."""

import asyncio
import contextlib
import os
import signal
import socket
import time

import msgspec

from evenkeel.haproxyd.peerports import PeerPorts
from evenkeel.haproxyd.settings import DaemonSettings
from evenkeel.haproxyd.storage import PartitionStorage
from tests.haproxyd.world import errors, free_vip, get, load_balancer, world
from tests.waiting import eventually

HERE = free_vip()
"""Of this test process alone: at one address all would look for their ports in the same range at once."""


async def test_partitions_that_begin_at_once_get_ports_of_their_own(monkeypatch):
    written = PartitionStorage.write_guard

    def slowly(storage, guard):
        time.sleep(0.1)
        written(storage, guard)

    monkeypatch.setattr(PartitionStorage, "write_guard", slowly)
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        names = [f"p{n}" for n in range(4)]
        receipts = await asyncio.gather(*(site.put(name, load_balancer(name, free_vip(), a)) for name in names))
        assert [errors(receipt) for receipt in receipts] == [{}] * 4
        assert len({receipt.peer.port for receipt in receipts}) == 4


async def test_partitions_that_have_the_same_port_on_disk_are_told_apart():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        for name in ("one", "two"):
            await site.put(name, load_balancer(name, free_vip(), a))
        one, two = (site.partitions.get(name) for name in ("one", "two"))
        await site.partitions.stop_all()
        (two.directory / "guard.json").write_bytes((one.directory / "guard.json").read_bytes())
        await site.restart()
        ports = {site.partitions.get(name).peer.port for name in ("one", "two")}
        assert len(ports) == 2 and one.peer.port in ports
        assert all(site.partitions.get(name).runs for name in ("one", "two"))


async def test_a_peer_port_that_another_process_has_costs_the_peers_only():
    async with world(peers_address=HERE, restart_max_seconds=0.2) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("p", load_balancer("lb", vip, a))).peer.port
        await site.partitions.stop_all()
        with contextlib.closing(socket.create_server((HERE, port))):
            await site.restart()
            assert await get(vip) == "a"
            problem = site.partitions.get("p").problem
            assert (
                problem
                == f"peers are left out: address {HERE} port {port} cannot be listened on: another process uses it"
            )
            assert errors(await site.put("p", load_balancer("lb", vip, a, revision=2))) == {}
        await eventually(lambda: not site.partitions.get("p").problem)
        assert f"{HERE}:{port}" in site.partitions.get("p").config_path.read_text()


async def test_peers_may_be_introduced_to_partitions_that_serve_already():
    async with world() as site:
        a = await site.member("a")
        wanted = {name: load_balancer(name, free_vip(), a) for name in ("one", "two")}
        for name, one in wanted.items():
            assert (await site.put(name, one)).peer is None
        site.settings = msgspec.structs.replace(site.settings, peers_address=HERE)
        await site.restart()
        receipts = [await site.put(name, one) for name, one in wanted.items()]
        assert len({receipt.peer.port for receipt in receipts}) == 2


async def test_an_empty_partition_gives_its_port_back():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("one", load_balancer("lb", vip, a))).peer.port
        await site.put("one")
        await eventually(lambda: site.partitions.get("one").peer is None)
        assert (await site.put("two", load_balancer("lb", vip, a))).peer.port == port


async def test_a_haproxy_that_is_killed_has_its_port_again():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("p", load_balancer("lb", vip, a))).peer.port
        keeper = site.partitions.get("p")
        os.kill(keeper.worker_pid, signal.SIGKILL)
        await eventually(lambda: len(site.news) == 2)
        assert (await site.put("p", load_balancer("lb", vip, a))).peer.port == port
        assert keeper.problem == ""


def test_a_port_has_one_partition(tmp_path):
    settings = DaemonSettings(name="x", state_dir=tmp_path, run_dir=tmp_path, peers_address=HERE)
    ports = PeerPorts(settings)
    first = ports.give("a")
    assert ports.keep("a", first) == ports.give("a") == first
    assert ports.keep("b", first) == 0
    ports.release("b", first)
    assert ports.give("b") not in (0, first)
    ports.release("a", first)
    assert ports.keep("b", first) == first
