"""One partition with a real HAProxy: by which means, how surely, and without losing a request."""

import asyncio
import contextlib
import os
import signal

import pytest

from evenkeel.core.kit.errors import StaleOwner
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, InvalidChange
from evenkeel.haproxyd.haproxy.binary import find_binary
from evenkeel.haproxyd.haproxy.runtime.drift import parse_list
from tests.devices.services import session_of
from tests.haproxyd.world import VIP_PORT, Traffic, config_path, errors, free_vip, get, load_balancer, server, world
from tests.services.haproxy import configured_binary
from tests.waiting import eventually

BAD_LINE = ("timeout clint 1s",)


async def seen_states(supervisor) -> dict[str, tuple[int, int]]:
    """Weight and forced administrative state of each server, as HAProxy has them."""
    rows = [line.split() for line in (await supervisor.cli.command("show servers state")).splitlines()]
    return {row[3]: (int(row[7]), int(row[6]) & 9) for row in rows if len(row) > 18 and row[0].isdigit()}


async def test_every_kind_of_change_under_traffic_loses_nothing():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        assert (await site.put("p", load_balancer("lb", vip, a))).how == "reload"
        async with Traffic(vip) as traffic:
            steps = [
                (load_balancer("lb", vip, server(a, weight=5)), "runtime"),
                (load_balancer("lb", vip, server(a, weight=5), b), "runtime"),
                (load_balancer("lb", vip, server(a, admin_up=False), b), "runtime"),
                (load_balancer("lb", vip, a, b), "runtime"),
                (load_balancer("lb", vip, b), "runtime"),
                (load_balancer("lb", vip, b, lines=("timeout client 9s",)), "reload"),
                (load_balancer("lb", vip, a, b, lines=("timeout client 9s",)), "runtime"),
                (load_balancer("lb", vip, a, b, lines=("timeout client 9s",), maxconn=500), "runtime"),
                (load_balancer("lb", vip, a, b, lines=("timeout client 9s",), maxconn=400), "runtime"),
            ]
            for wanted, how in steps:
                receipt = await site.patch("p", wanted)
                assert (receipt.how, errors(receipt)) == (how, {})
                assert (await site.patch("p", wanted)).how == "nothing"
                await traffic.more(100)
            # settled: the put is the action of which this is the outcome
            assert (await site.put("p", steps[-1][0])).how == "nothing"
        assert traffic.failures == []
        assert set(traffic.answers) == {"a", "b"}


async def test_the_guard_refuses_whoever_is_older_and_outlives_the_daemon():
    async with world() as site:
        assert (await site.take_over("p", 5)).epoch == 5
        with pytest.raises(StaleOwner):
            await site.take_over("p", 4)
        await site.restart()
        with pytest.raises(StaleOwner) as refusal:
            await site.put("p", epoch=4)
        assert refusal.value.seen_epoch == 5
        await site.put("p", epoch=9)
        assert site.partitions.get("p").epoch == 9


async def test_change_that_waits_while_the_guard_moves_is_refused():
    async with world() as site:
        a = await site.member("a")
        waiting = [
            asyncio.create_task(site.patch("p", load_balancer(name, free_vip(), a))) for name in ("one", "two", "three")
        ]
        await eventually(lambda: "p" in site.partitions.names())
        await site.take_over("p", 2)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        held = site.partitions.get("p").held
        for name, result in zip(("one", "two", "three"), results, strict=True):
            assert (name in held) == isinstance(result, wire.Receipt)


async def test_changes_that_arrive_during_a_reload_share_the_next():
    async with world() as site:
        a = await site.member("a")
        vips = [free_vip() for _ in range(12)]
        await site.put("p", load_balancer("first", free_vip(), a))
        before = (await site.partitions.get("p")._runner.process.cli.processes()).reloads
        await asyncio.gather(*(site.patch("p", load_balancer(f"lb{n}", vip, a)) for n, vip in enumerate(vips)))
        after = (await site.partitions.get("p")._runner.process.cli.processes()).reloads
        assert after - before <= 3
        assert [await get(vip) for vip in vips] == ["a"] * 12


async def test_a_load_balancer_that_haproxy_refuses_costs_only_itself():
    async with world() as site:
        a = await site.member("a")
        good, other, bad = free_vip(), free_vip(), free_vip()
        await site.put("p", load_balancer("good", good, a), load_balancer("bad", bad, a))
        async with Traffic(good) as traffic:
            receipt = await site.put(
                "p",
                load_balancer("good", good, a, revision=2, lines=("timeout client 8s",)),
                load_balancer("other", other, a),
                load_balancer("bad", bad, a, revision=2, lines=BAD_LINE),
            )
            await traffic.more(100)
        assert errors(receipt).keys() == {"bad"}
        assert "got 'clint'" in errors(receipt)["bad"] and "/" not in errors(receipt)["bad"]
        assert traffic.failures == []
        assert [await get(vip) for vip in (good, other, bad)] == ["a", "a", "a"]
        held = site.partitions.get("p").held
        assert {name: one.revision for name, one in held.items()} == {"good": 2, "other": 1, "bad": 1}


async def test_verification_queries_the_master_only_after_another_program_reloaded_haproxy(monkeypatch):
    async with world() as site:
        a, vip = await site.member("a"), free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        process = site.partitions.get("p")._runner.process
        listed = process.cli.processes
        queries = []

        async def counted():
            queries.append(process.master_pid)
            return await listed()

        monkeypatch.setattr(process.cli, "processes", counted)
        assert (await site.put("p", load_balancer("lb", vip, a), epoch=2)).how == "nothing"
        assert queries == []
        changed = load_balancer("lb", vip, a, revision=2, lines=("timeout client 7s",))
        assert (await site.put("p", changed, epoch=2)).how == "reload"
        queries.clear()
        assert (await site.put("p", changed, epoch=3)).how == "nothing"
        assert queries == []
        reloads = (await listed()).reloads
        os.kill(process.master_pid, signal.SIGUSR2)

        async def reloaded() -> bool:
            with contextlib.suppress(HaproxyDown):
                seen = await listed()
                return seen.reloads > reloads and seen.worker_pid is not None
            return False

        await eventually(reloaded)
        receipt = await site.put("p", changed, epoch=4)
        assert receipt.how == "reload"  # settled: the receipt of a change sent after the wait
        assert queries != []  # settled: counted until that receipt


async def test_a_refused_change_leaves_the_last_good_file():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        supervisor = site.partitions.get("p")
        text = config_path(supervisor).read_text()
        for _ in range(3):
            assert errors(await site.patch("p", load_balancer("lb", vip, a, lines=BAD_LINE)))
        assert config_path(supervisor).read_text() == text
        reloads = (await supervisor._runner.process.cli.processes()).reloads
        asked_always = (await find_binary(configured_binary())).refused_reload_interrupts
        assert reloads == (0 if asked_always else 1), "after one refusal, HAProxy is asked before it is reloaded"


async def test_a_complete_change_undoes_what_was_done_by_hand():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        allowed = wire.File(name="lb.acl", kind="acl", content="127.0.0.0/8\n")
        names = wire.File(name="lb.map", kind="map", content="/a b\n")
        rules = (
            "tcp-request connection reject unless { src -f lb.acl }",
            "http-request deny if { path,map(lb.map) c }",
        )
        wanted = load_balancer("lb", free_vip(), a, b, lines=rules, files=(allowed, names), maxconn=100)
        await site.put("p", wanted)
        supervisor = site.partitions.get("p")
        good = config_path(supervisor).read_text()
        spoiling = (
            "set server lb_b/a weight 9",
            "set server lb_b/b state maint",
            "add server lb_b/stranger 127.0.0.1:1",
            "enable server lb_b/stranger",
            "add acl lb.acl 10.0.0.0/8",
            "add map lb.map /x c",
            "set map lb.map /a c",
            "set maxconn frontend lb_f 3",
            "disable frontend lb_f",
        )
        for command in spoiling:
            await supervisor.cli.command(command)
        config_path(supervisor).write_text("# by hand\n")
        assert (await site.put("p", wanted)).how == "runtime"
        assert await seen_states(supervisor) == {"a": (1, 0), "b": (1, 0)}
        assert config_path(supervisor).read_text() == good
        assert "10.0.0.0/8" not in await supervisor.cli.command("show acl lb.acl")
        assert parse_list(await supervisor.cli.command("show map lb.map")) == ("/a b",)
        row = next(
            line
            for line in (await supervisor.cli.command("show stat -1 1 -1")).splitlines()
            if line.startswith("lb_f,")
        )
        assert row.split(",")[6] == "100" and "OPEN" in row
        assert (await site.put("p", wanted)).how == "nothing"


async def test_an_operators_reload_of_another_file_is_undone():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        supervisor = site.partitions.get("p")
        before = supervisor.worker_pid
        config_path(supervisor).write_text(
            config_path(supervisor).read_text().replace("default_backend", "# default_backend")
        )
        os.kill(supervisor.master_pid, signal.SIGUSR2)
        await eventually(lambda: worker_is_not(supervisor, before))

        async def empty() -> bool:
            """The old worker may take connections until it has read that it is to go."""
            return await get(vip) == "503"

        await eventually(empty)
        # settled: the put is the action of which this is the outcome
        assert (await site.put("p", load_balancer("lb", vip, a))).how == "reload"
        assert await get(vip) == "a"


async def worker_is_not(supervisor, pid: int) -> bool:
    try:
        return f"Pid: {pid}\n" not in await supervisor.cli.command("show info")
    except HaproxyDown:
        return False


async def test_a_put_removes_what_it_does_not_name():
    async with world() as site:
        a = await site.member("a")
        one, two = free_vip(), free_vip()
        await site.put("p", load_balancer("one", one, a), load_balancer("two", two, a))
        await site.put("p", load_balancer("two", two, a))
        assert (await get(one), await get(two)) == ("refused", "a")
        await site.patch("p", removed=("two",))
        assert await get(two) == "refused"
        await eventually(lambda: not site.partitions.get("p").is_running)
        # settled: the answer to the removal came before
        assert site.partitions.show("p") == wire.PartitionConfig(name="p", epoch=1, session_id=session_of(1))


async def test_a_runtime_maintenance_does_not_outlive_the_wish_through_a_reload():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a, b))
        await site.patch("p", load_balancer("lb", vip, server(a, admin_up=False), b))
        await site.patch("p", load_balancer("lb", vip, a, server(b, weight=3), lines=("timeout client 7s",)))
        assert await seen_states(site.partitions.get("p")) == {"a": (1, 0), "b": (3, 0)}


async def test_runtime_settings_survive_a_reload():
    async with world() as site:
        a, b = await site.member("a"), await site.member("b")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        wanted = load_balancer("lb", vip, server(a, admin_up=False), server(b, weight=7))
        assert (await site.patch("p", wanted)).how == "runtime"
        more = load_balancer("more", free_vip(), server(a, name="other"))
        assert (await site.patch("p", more)).how == "reload"
        assert await seen_states(site.partitions.get("p")) == {"a": (1, 1), "b": (7, 0), "other": (1, 0)}
        assert {await get(vip) for _ in range(6)} == {"b"}


async def test_a_first_connection_limit_is_set_at_runtime_and_is_no_manual_change():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        assert (await site.patch("p", load_balancer("lb", vip, a, maxconn=1))).how == "runtime"
        receipt = await site.put("p", load_balancer("lb", vip, a, maxconn=1))
        assert (receipt.how, receipt.repaired) == ("nothing", {})
        reader, writer = await asyncio.open_connection(vip, 8080)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        waiting = asyncio.create_task(get(vip))
        supervisor = site.partitions.get("p")

        async def is_full() -> bool:
            return "lb_f,FRONTEND,,,1,1,1," in await supervisor.cli.command("show stat lb_f 1 -1")

        await eventually(is_full)
        assert not waiting.done()  # settled: it may not end before the test lets it
        writer.transport.abort()
        assert await waiting == "a"


async def test_allowed_addresses_change_at_runtime():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()

        def wanted(content):
            file = wire.File(name="lb.acl", kind="acl", content=content)
            rule = ("tcp-request connection reject unless { src -f lb.acl }",)
            return load_balancer("lb", vip, a, lines=rule, files=(file,))

        await site.put("p", wanted("10.0.0.0/8\n"))
        assert await get(vip) == "refused"
        assert (await site.patch("p", wanted("127.0.0.0/8\n"))).how == "runtime"
        assert await get(vip) == "a"


async def test_private_keys_are_not_shown():
    async with world() as site:
        a = await site.member("a")
        secret = wire.File(name="c.pem", kind="certificate", content="SECRET")
        await site.put("p", load_balancer("lb", free_vip(), a, files=(secret,)))
        assert "SECRET" not in repr(site.partitions.show("p"))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (load_balancer("lb", "127.1.1.1", port=0), "port is 0; 1 to 65535"),
        (load_balancer("lb", "localhost"), "address is 'localhost'; an IPv4 or IPv6 address"),
        (load_balancer("lb", "127.1.1.1", lines=("bind :80",)), "a line begins with 'bind'"),
        (load_balancer("lb", "127.1.1.1", lines=("mode http\nbind :80",)), "control character"),
        (load_balancer("lb", "127.1.1.1", lines=("acl " + "x" * 4000,)), "4004 characters; at most 4000"),
        (load_balancer("lb", "127.1.1.1", maxconn=0), "maxconn is 0"),
        (load_balancer("l b", "127.1.1.1"), "frontend name is 'l b_f'"),
    ],
)
async def test_forbidden_configuration_is_refused_by_name(wanted, words):
    async with world() as site:
        wanted = wire.LoadBalancerConfig(id="lb", revision=1, frontends=wanted.frontends, backends=wanted.backends)
        assert words in errors(await site.put("p", wanted))["lb"]
        assert not site.partitions.get("p").held


@pytest.mark.parametrize(
    ("change", "complete", "words"),
    [
        (wire.PartitionChange(epoch=-1, session_id="s"), False, "epoch is -1"),
        (wire.PartitionChange(epoch=1, session_id="s", removed=("a",)), True, "removed: only PATCH"),
        (wire.PartitionChange(epoch=1, session_id="s", removed=("a", "a")), False, "named 2 times"),
        (wire.PartitionChange(epoch=1, session_id="s", removed=("../a",)), False, "load balancer id is '../a'"),
        (
            wire.PartitionChange(epoch=1, session_id="s", removed=tuple(map(str, range(201)))),
            False,
            "201 given; at most 200",
        ),
        (
            wire.PartitionChange(epoch=1, session_id="s", peers=(wire.HaproxyPeer(name="x", address="y", port=1),)),
            False,
            "address is 'y'",
        ),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused_whole(change, complete, words):
    async with world() as site:
        with pytest.raises(InvalidChange, match=words):
            await site.partitions.change("p", change, complete=complete)
        assert site.partitions.names() == ()


async def test_names_of_partitions_cannot_leave_their_folder():
    async with world() as site:
        with pytest.raises(InvalidChange, match="partition name"):
            await site.take_over("../p", 1)


async def test_only_the_current_worker_speaks_for_a_partition():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        await site.put("p", load_balancer("lb", vip, a))
        supervisor = site.partitions.get("p")
        before = supervisor.worker_pid
        assert site.partitions.is_worker("p", before)
        _, unfinished = await asyncio.open_connection(vip, VIP_PORT)
        unfinished.write(b"GET / HTTP/1.1\r\n")  # keeps the old worker
        await unfinished.drain()
        assert (await site.put("p", load_balancer("lb", vip, a, lines=("timeout client 9s",)))).how == "reload"
        assert before in (await supervisor.cli.processes()).workers_leaving
        assert site.partitions.is_worker("p", supervisor.worker_pid)
        for stranger in (before, supervisor.master_pid, os.getpid(), 0):
            assert not site.partitions.is_worker("p", stranger)
        assert not site.partitions.is_worker("q", supervisor.worker_pid)
        await site.restart()
        assert not site.partitions.is_worker("p", before)
        assert site.partitions.is_worker("p", site.partitions.get("p").worker_pid)
        unfinished.close()


async def test_a_new_owner_learns_that_a_partition_is_empty():
    async with world() as site:
        assert (await site.take_over("p", 1)).empty
        await site.put("p", load_balancer("lb", free_vip(), await site.member("a")))
        assert not (await site.take_over("p", 2)).empty
