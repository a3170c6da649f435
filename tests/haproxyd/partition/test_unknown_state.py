"""An address that cannot be bound, while it is not known what HAProxy runs: only its load balancer is refused, and
everything that works goes on."""

import asyncio
import shutil

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import PartitionFailed
from tests.haproxyd.partition.test_isolation import taken
from tests.haproxyd.world import Traffic, World, errors, free_vip, get, load_balancer, world
from tests.waiting import eventually


async def killed_during_a_runtime_change(site: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon ends after it has begun a runtime change, and another one starts."""
    supervisor = site.partitions.get("p")
    await eventually(lambda: supervisor._task.done())
    sent = asyncio.Event()

    async def send(command: object) -> bool:
        sent.set()
        await asyncio.Event().wait()
        return False

    monkeypatch.setattr(supervisor._runner._commands, "send", send)
    one = next(iter(supervisor.held.values()))
    down = msgspec.structs.replace(one.backends[0].servers[0], weight=7)
    pool = msgspec.structs.replace(one.backends[0], servers=(down, *one.backends[0].servers[1:]))
    change = asyncio.create_task(site.patch("p", msgspec.structs.replace(one, backends=(pool,), revision=9)))
    await sent.wait()
    await site.restart()
    change.cancel()
    assert not site.partitions.get("p")._runner._state.known


async def state_directory_lost(site: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state directory is removed while no daemon runs."""
    await eventually(lambda: site.partitions.get("p")._task.done())
    await site.partitions.close()
    shutil.rmtree(site.settings.state_dir)
    await site.restart()


UNKNOWN = pytest.mark.parametrize("become_unknown", [killed_during_a_runtime_change, state_directory_lost])


@UNKNOWN
@pytest.mark.parametrize("complete", [True, False])
async def test_an_unbindable_address_costs_only_its_load_balancer_while_it_is_unknown_what_runs(
    become_unknown, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vips = {name: free_vip() for name in ("x", "y")}
        good = [load_balancer("x", vips["x"], a), load_balancer("y", vips["y"], b)]
        await site.put("p", *good)
        bad = free_vip()
        with taken(bad):
            async with Traffic(vips["x"]) as first, Traffic(vips["y"]) as second:
                await become_unknown(site, monkeypatch)
                wanted = [*good, load_balancer("bad", bad, a)]
                receipt = await (site.put if complete else site.patch)("p", *wanted)
                await first.more(20)
                await second.more(20)
        assert errors(receipt).keys() == {"bad"}
        assert "another process uses it" in errors(receipt)["bad"]
        assert (first.failures, second.failures) == ([], [])
        assert errors(await site.put("p", *wanted)) == {}
        assert await get(bad) == "a"


@UNKNOWN
async def test_a_new_listener_that_cannot_be_bound_leaves_those_that_work_while_it_is_unknown_what_runs(
    become_unknown, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as site:
        a = await site.member("a")
        vip, bad, other = free_vip(), free_vip(), free_vip()
        one = load_balancer("x", vip, a)
        await site.put("p", one, load_balancer("y", other, a))
        more = wire.Frontend(name="x_g", binds=(wire.Bind(address=bad, port=8080),), lines=("default_backend x_b",))
        with taken(bad):
            async with Traffic(vip) as traffic:
                await become_unknown(site, monkeypatch)
                wanted = msgspec.structs.replace(one, revision=5, frontends=(*one.frontends, more))
                receipt = await site.put("p", wanted, load_balancer("y", other, a))
                await traffic.more(20)
                await site.patch("p", load_balancer("y", other, a, revision=2, lines=("timeout client 9s",)))
                await traffic.more(20)
        assert errors(receipt).keys() == {"x"}
        assert traffic.failures == []
        assert errors(await site.patch("p", wanted)) == {}
        assert [await get(vip), await get(bad)] == ["a", "a"]


@UNKNOWN
async def test_a_refused_line_leaves_its_load_balancers_held_configuration_while_it_is_unknown_what_runs(
    become_unknown, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as site:
        a = await site.member("a")
        vip, other = free_vip(), free_vip()
        good = load_balancer("y", other, a)
        await site.put("p", load_balancer("x", vip, a), good)
        async with Traffic(vip) as x, Traffic(other) as y:
            await become_unknown(site, monkeypatch)
            receipt = await site.put("p", load_balancer("x", vip, a, revision=5, lines=("timeout client x",)), good)
            await y.more(20)
        assert errors(receipt).keys() == {"x"}
        assert y.failures == []
        if become_unknown is killed_during_a_runtime_change:  # else nothing is left that could be kept
            assert x.failures == []


async def test_nothing_is_taken_off_if_it_cannot_be_found_where_an_unknown_haproxy_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world() as site:
        vip = free_vip()
        one = load_balancer("x", vip, await site.member("a"))
        await site.put("p", one)
        await state_directory_lost(site, monkeypatch)
        await site.take_over("p", 1)
        layout = site.partitions.get("p")._runner._layout
        hidden = layout.worker_socket.with_suffix(".hidden")
        layout.worker_socket.rename(hidden)
        with pytest.raises(PartitionFailed, match="where it listens"):
            await site.put("p", one)
        assert await get(vip) == "a"
        hidden.rename(layout.worker_socket)
        assert errors(await site.put("p", one)) == {}
        assert await get(vip) == "a"
