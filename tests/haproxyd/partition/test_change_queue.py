"""What happens around a change that is being applied: takeovers, deaths, places that change hands, long requests."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.change_log import ChangeLog
from evenkeel.haproxyd.errors import InvalidChange
from evenkeel.haproxyd.partition.change_queue import PartitionBusy
from tests.haproxyd.world import errors, free_vip, get, load_balancer, server, world
from tests.waiting import eventually

BAD_LINE = ("timeout clint 1s",)


@contextlib.contextmanager
def held_up(monkeypatch, name: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """One of the ledger's functions waits: set once it was reached, and what to set to let it go on."""
    reached, go_on = threading.Event(), threading.Event()
    real = getattr(ChangeLog, name)

    def waits(*arguments):
        reached.set()
        assert go_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(ChangeLog, name, waits)
    try:
        yield reached, go_on
    finally:
        go_on.set()
        monkeypatch.setattr(ChangeLog, name, real)


async def test_a_takeover_is_answered_only_after_the_older_owners_change_has_landed(monkeypatch):
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        with held_up(monkeypatch, "append") as (reached, go_on):
            change = asyncio.create_task(site.patch("p", load_balancer("lb", vip, a, revision=2)))
            await eventually(reached.is_set)
            takeover = asyncio.create_task(site.take_over("p", 5))
            await eventually(lambda: site.partitions.get("p").epoch == 5)
            await asyncio.to_thread(site.partitions.get("p").trim_log)  # something else has had its turn
            assert not takeover.done()
            go_on.set()
            assert (await takeover).epoch == 5
        assert site.partitions.get("p").held["lb"].revision == 2
        await change


async def test_a_takeover_does_not_wait_for_ever(monkeypatch):
    async with world(guard_timeout_seconds=0.1) as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        with held_up(monkeypatch, "append") as (reached, go_on):
            change = asyncio.create_task(site.patch("p", load_balancer("lb", vip, a, revision=2)))
            await eventually(reached.is_set)
            for _ in range(2):
                with pytest.raises(PartitionBusy, match="an older owner is still under way"):
                    await site.take_over("p", 5)
            go_on.set()
            await change
        assert (await site.take_over("p", 5)).epoch == 5


async def test_a_haproxy_that_dies_while_a_change_is_written_is_started_again(monkeypatch):
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        supervisor = site.partitions.get("p")
        with held_up(monkeypatch, "append") as (reached, go_on):
            change = asyncio.create_task(site.patch("p", load_balancer("lb", vip, server(a, weight=7), revision=2)))
            await eventually(reached.is_set)
            os.kill(supervisor.master_pid, signal.SIGKILL)
            await eventually(lambda: not supervisor.is_running)
            await eventually(lambda: supervisor._timer is None)
            go_on.set()
            assert errors(await change) == {}
            assert supervisor.problem
        await eventually(lambda: not supervisor.problem)
        assert await get(vip) == "a"  # settled: its problem ends when it listens


async def test_a_place_is_free_when_the_answer_reports_it(monkeypatch):
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("one", load_balancer("lb", vip, a), load_balancer("other", free_vip(), a))
        with held_up(monkeypatch, "compact"):
            await site.patch("one", removed=("lb",))
            assert site.partitions._host.binds.reserve("two", load_balancer("lb", vip, a)) == ""


async def test_a_first_change_of_which_nothing_can_be_taken_is_answered():
    async with world() as site:
        a = await site.member("a")
        receipt = await site.put("p", load_balancer("lb", free_vip(), a, lines=BAD_LINE))
        assert "got 'clint'" in errors(receipt)["lb"]
        assert receipt.how == "nothing"
        assert not site.partitions.get("p").is_running


async def test_empty_partitions_are_not_counted():
    async with world(partitions_max=1) as site:
        a = await site.member("a")
        first, second = load_balancer("lb1", free_vip(), a), load_balancer("lb2", free_vip(), a)
        await site.put("one", first)
        with pytest.raises(InvalidChange, match="there are 1 already"):
            await site.put("two", second)
        await site.put("one", epoch=7)
        await eventually(lambda: not site.partitions.get("one").is_running)
        await site.put("two", second)
        with pytest.raises(InvalidChange, match="there are 1 already"):
            await site.put("one", first, epoch=8)
        assert site.partitions.show("one").epoch == 8


async def test_a_certificate_without_content_stays_as_it_is_held():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()

        def wanted(content: str, revision: int, name: str = "lb") -> wire.LoadBalancerConfig:
            file = wire.File(name=f"{name}.pem", kind="certificate", content=content)
            return load_balancer(name, vip, a, revision=revision, files=(file,))

        await site.put("p", wanted("SECRET", 1))
        shown = site.partitions.show("p").load_balancers
        assert shown == (wanted("", 1),)
        assert (await site.put("p", *shown)).how == "nothing"
        await site.patch("p", wanted("", 2))
        assert site.partitions.get("p").held["lb"] == wanted("SECRET", 2)
        problem = errors(await site.patch("p", wanted("", 1, name="new")))["new"]
        assert problem.startswith("file new.pem: content is empty, and no certificate is held under that name")


async def test_a_content_that_is_named_and_not_held_costs_its_load_balancer_alone_and_is_requested():
    async with world() as site:
        a = await site.member("a")
        vip, other = free_vip(), free_vip()

        def wanted(content: str, sha256: str, revision: int, kind: str = "certificate") -> wire.LoadBalancerConfig:
            file = wire.File(name="c.pem", kind=kind, content=content, sha256=sha256)
            return load_balancer("lb", vip, a, revision=revision, files=(file,))

        receipt = await site.put("p", wanted("", "one", 1), load_balancer("other", other, a))
        assert receipt.outcomes[0].lacking == ("one",) and receipt.outcomes[1].error == ""
        assert errors(receipt)["lb"].startswith("file c.pem: content is empty, and none is held of that sha256")
        assert (await get(other), site.partitions.get("p").held.keys()) == ("a", {"other"})
        assert errors(await site.patch("p", wanted("SECRET", "one", 1))) == {}
        receipt = await site.patch("p", wanted("", "one", 2))
        assert (errors(receipt), receipt.outcomes[0].lacking) == ({}, ())
        assert site.partitions.get("p").held["lb"] == wanted("SECRET", "one", 2)
        assert (await site.patch("p", wanted("", "two", 3))).outcomes[0].lacking == ("two",)
        assert site.partitions.get("p").held["lb"] == wanted("SECRET", "one", 2)
        sent = [site.patch("p", one) for one in (wanted("", "two", 3), wanted("NEW", "two", 3))]
        first, second = await asyncio.gather(*sent)
        assert errors(second) == {}
        assert errors(first) == {} or first.outcomes[0].lacking == ("two",)
        bad = errors(await site.patch("p", wanted("X", "no/path", 4)))["lb"]
        assert bad.startswith("file c.pem: sha256 is 'no/path'; allowed: ")


async def test_another_address_to_ping_is_carried_out_without_haproxy():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        assert (await site.patch("p", load_balancer("lb", vip, server(a, ping_address="127.0.0.9")))).how == "runtime"
