"""What goes wrong in one partition stays there."""

import contextlib
import os
import signal
import socket

import pytest

from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.partition.restarts import RestartBackoff
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.world import VIP_PORT, Traffic, errors, files_of, free_vip, get, load_balancer, world
from tests.waiting import eventually


@contextlib.contextmanager
def taken(address: str):
    """Another process (this one) listens there."""
    with contextlib.closing(socket.create_server((address, VIP_PORT))):
        yield


async def test_an_unbindable_address_disturbs_nobody_not_even_in_its_partition():
    async with world() as site:
        a = await site.member("a")
        mine, neighbour, bad = free_vip(), free_vip(), free_vip()
        await site.put("one", load_balancer("lb1", mine, a))
        await site.put("two", load_balancer("lb2", neighbour, a))
        with taken(bad):
            async with Traffic(mine) as inside, Traffic(neighbour) as outside:
                receipt = await site.patch("one", load_balancer("bad", bad, a))
                await inside.more(50)
        assert "another process uses it" in errors(receipt)["bad"]
        assert (inside.failures, outside.failures) == ([], [])
        assert errors(await site.patch("one", load_balancer("bad", bad, a))) == {}
        assert await get(bad) == "a"


async def test_two_partitions_cannot_have_the_same_address():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        await site.put("one", load_balancer("first", vip, a))
        receipt = await site.put("two", load_balancer("second", vip, b))
        assert errors(receipt)["second"] == (
            f"address {vip} port {VIP_PORT} is used by load balancer first in partition one"
        )
        assert {await get(vip) for _ in range(5)} == {"a"}
        await site.put("one")
        assert errors(await site.put("two", load_balancer("second", vip, b))) == {}
        assert await get(vip) == "b"


async def test_an_address_moves_between_load_balancers_in_one_change():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        one, two = free_vip(), free_vip()
        await site.put("p", load_balancer("x", one, a), load_balancer("y", two, b))
        receipt = await site.put("p", load_balancer("x", two, a), load_balancer("y", one, b))
        assert errors(receipt) == {}
        assert (await get(one), await get(two)) == ("b", "a")


async def test_one_that_is_refused_keeps_its_address_from_the_one_that_wanted_it():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        one, two = free_vip(), free_vip()
        await site.put("p", load_balancer("x", one, a))
        receipt = await site.put(
            "p", load_balancer("x", two, a, lines=("timeout clint 1s",)), load_balancer("y", one, b)
        )
        assert errors(receipt).keys() == {"x", "y"}
        assert {await get(one) for _ in range(5)} == {"a"}


async def test_a_haproxy_that_is_killed_comes_back_and_its_neighbour_notices_nothing():
    async with world() as site:
        a = await site.member("a")
        mine, neighbour = free_vip(), free_vip()
        await site.put("one", load_balancer("lb1", mine, a))
        await site.put("two", load_balancer("lb2", neighbour, a))
        async with Traffic(neighbour) as outside:
            os.kill(site.partitions.get("one").worker_pid, signal.SIGKILL)
            await eventually(lambda: len(site.news) == 2)
            assert await get(mine) == "a"  # settled: it is told to be up when it listens
            await outside.more(50)
        assert outside.failures == []
        assert [(news.partition, news.up) for news in site.news] == [("one", False), ("one", True)]
        assert site.partitions.get("one").problem == ""


async def test_a_crash_loop_is_reported_and_slows_down():
    async with world(restart_min_seconds=0.01, restart_max_seconds=3600, steady_after_seconds=3600) as site:
        a = await site.member("a")
        mine, neighbour = free_vip(), free_vip()
        await site.put("one", load_balancer("lb1", mine, a))
        await site.put("two", load_balancer("lb2", neighbour, a))
        supervisor = site.partitions.get("one")
        async with Traffic(neighbour) as outside:
            for death in range(1, 4):
                pid = await eventually(lambda: supervisor.worker_pid)
                os.kill(pid, signal.SIGKILL)
                await eventually(lambda: supervisor._availability.restarts._failures >= death)  # noqa: B023
        assert outside.failures == []
        assert supervisor._availability.restarts.pause_seconds >= 0.04


def test_pauses_double_up_to_the_longest_and_begin_again_after_steady_service(tmp_path):
    now = [0.0]
    settings = DaemonSettings(name="x", state_dir=tmp_path, run_dir=tmp_path, restart_max_seconds=1.0)
    restarts = RestartBackoff(settings, lambda: now[0])
    pauses = []
    for _ in range(5):
        restarts.record_serving()
        pauses.append(restarts.record_exit())
    assert pauses == [0.2, 0.4, 0.8, 1.0, 1.0]
    restarts.record_serving()
    now[0] += settings.steady_after_seconds
    assert restarts.record_exit() == 0.2


async def test_a_broken_local_file_is_left_out_and_said():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        supervisor = site.partitions.get("p")
        files_of(supervisor).local.write_text("nonsense\n")
        receipt = await site.put("p", load_balancer("lb", vip, a))
        assert errors(receipt) == {}
        assert supervisor.problem.startswith("local.cfg is left out: ")
        assert await get(vip) == "a"
        other = free_vip()
        files_of(supervisor).local.write_text(
            f"frontend mine\n bind {other}:{VIP_PORT}\n"
            " http-request return status 200 content-type text/plain string mine\n"
        )
        await site.put("p", load_balancer("lb", vip, a))
        assert supervisor.problem == ""
        assert (await get(vip), await get(other)) == ("a", "mine")
        assert "mine" in files_of(supervisor).local.read_text()


async def test_a_partition_whose_guard_cannot_be_read_stops_nobody():
    async with world() as site:
        a = await site.member("a")
        mine, neighbour = free_vip(), free_vip()
        await site.put("one", load_balancer("lb1", mine, a))
        await site.put("two", load_balancer("lb2", neighbour, a))
        broken = site.partitions.get("one")
        guard = files_of(broken).directory / "guard.json"
        good = guard.read_bytes()
        guard.write_text("{")
        await site.restart()
        assert site.partitions.show("one").problem == "guard.json of partition one cannot be read: DecodeError"
        assert (await get(mine), await get(neighbour)) == ("a", "a")
        with pytest.raises(PartitionFailed, match="cannot be read"):
            await site.put("one", load_balancer("lb1", mine, a))
        guard.write_bytes(good)
        await site.put("one", load_balancer("lb1", mine, a))
        assert site.partitions.show("one").problem == ""


async def test_addresses_of_an_unreadable_partition_are_not_given_away():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("one", load_balancer("lb1", vip, a))
        held = files_of(site.partitions.get("one")).directory / "held.log"
        good = held.read_bytes()
        held.write_text("{\n")
        await site.restart()
        receipt = await site.put("two", load_balancer("lb2", vip, a))
        assert errors(receipt)["lb2"].endswith("is used by load balancer (unknown) in partition one")
        held.write_bytes(good)
        await site.put("one", load_balancer("lb1", vip, a))
