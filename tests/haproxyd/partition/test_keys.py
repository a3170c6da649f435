"""Private keys of a partition: in memory, in files of the daemon's alone, and sent again when they are lost."""

import asyncio
import shutil
from pathlib import Path

import msgspec

from tests import canary
from tests.haproxyd.tlsworld import TlsClient, certificate, file, shown, tls, unsent
from tests.haproxyd.world import World, errors, files_of, free_vip, get, load_balancer, world
from tests.waiting import eventually


def key_files(site: World, name: str = "p") -> list[Path]:
    return [path for path in files_of(site.partitions.get(name)).keys_dir.rglob("*") if path.is_file()]


async def settled(site: World, name: str = "p") -> None:
    await eventually(lambda: site.partitions.get(name)._task.done())  # what follows the answer is written


async def test_a_key_is_in_files_of_the_daemons_alone_and_nowhere_else():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        one, bad = file("c.pem", certificate("a.test")), file("bad.pem", certificate("b.test")[:-200])
        await site.put("p", tls("lb", vip, a, one))
        receipt = await site.patch("p", tls("bad", free_vip(), a, bad))  # asks haproxy -c, on a copy
        await settled(site)  # settled: the receipts came before
        assert await shown(vip) == ("a.test", 1)
        assert "bad.pem" in errors(receipt)["bad"] and not canary.is_in(errors(receipt)["bad"].encode())
        holding = [path for path in site.directory.rglob("*") if path.is_file() and canary.is_in(path.read_bytes())]
        assert {path.parent.name for path in holding} == {"held", "files"} and set(holding) <= set(key_files(site))
        assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}
        assert not (files_of(site.partitions.get("p")).keys_dir / "check").exists()
        supervisor = site.partitions.get("p")
        told = [site.partitions.show("p"), receipt, supervisor.digests]
        assert not canary.is_in(b"".join(map(msgspec.json.encode, told)))


async def test_a_daemon_that_begins_again_finds_them():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one))
        pid = site.partitions.get("p").master_pid
        await site.restart()
        assert site.partitions.get("p").held["lb"].files[0] == one
        receipt = await site.put("p", tls("lb", vip, a, unsent(one)))
        assert (receipt.how, errors(receipt), site.partitions.get("p").master_pid) == ("nothing", {}, pid)


async def test_after_the_host_began_again_others_run_and_the_key_is_requested():
    async with world() as site:
        a = await site.member("a")
        vip, plain = free_vip(), free_vip()
        one = file("c.pem", certificate("a.test"))
        other = load_balancer("other", plain, a)
        await site.put("p", tls("lb", vip, a, one), other)
        await site.partitions.stop_all()
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir.parent)
        shutil.rmtree(site.settings.run_dir)
        await site.restart()
        supervisor = site.partitions.get("p")
        assert (await get(plain), await shown(vip), supervisor.held.keys()) == ("a", None, {"lb", "other"})
        assert supervisor.problem.startswith("load balancer lb is left out: its certificates were lost")
        receipt = await site.put("p", tls("lb", vip, a, unsent(one)), other)
        assert errors(receipt).keys() == {"lb"} and receipt.outcomes[0].lacking == (one.sha256,)
        assert "left out" in supervisor.problem and await get(plain) == "a"
        assert errors(await site.patch("p", tls("lb", vip, a, one))) == {}
        assert (await shown(vip), supervisor.problem) == (("a.test", 1), "")
        assert (await site.put("p", tls("lb", vip, a, unsent(one)), other)).how == "nothing"


async def test_a_haproxy_that_has_what_the_daemon_lost_goes_on_until_it_is_sent():
    async with world(owner_wait_seconds=3600) as site:
        a, b = await site.member("a"), await site.member("b")
        vip, plain = free_vip(), free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one), load_balancer("other", plain, a))
        await settled(site)
        await site.partitions.close()
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir.parent)
        await site.restart()
        receipt = await site.put("p", tls("lb", vip, a, unsent(one)), load_balancer("other", plain, a))
        assert errors(receipt).keys() == {"lb"} and receipt.outcomes[0].lacking == (one.sha256,)
        receipt = await site.patch("p", load_balancer("other", plain, b, revision=2))
        assert errors(receipt)["other"].startswith("left as it is until certificates that were lost are sent")
        assert (await shown(vip), await get(plain)) == (("a.test", 1), "a")
        async with TlsClient(vip) as kept:
            assert errors(await site.patch("p", tls("lb", vip, a, one))) == {}
            assert errors(await site.patch("p", load_balancer("other", plain, b, revision=2))) == {}
            assert await kept.get() == "a"
        assert (await shown(vip), await get(plain), site.partitions.get("p").problem) == (("a.test", 1), "b", "")


async def test_load_balancer_whose_keys_were_lost_is_left_out_until_they_are_sent():
    async with world(owner_wait_seconds=0.2) as site:
        a = await site.member("a")
        vip, plain = free_vip(), free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one), load_balancer("other", plain, a))
        await settled(site)
        await site.partitions.close()
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir.parent)
        await site.restart()

        async def without_certificates() -> bool:
            problem = site.partitions.get("p").problem
            return "its certificates were lost" in problem and (await shown(vip), await get(plain)) == (None, "a")

        await eventually(without_certificates)


async def test_a_host_that_began_again_with_nothing_else_waits_for_the_key():
    async with world(restart_max_seconds=0.2) as site:
        a = await site.member("a")
        vip = free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one))
        await site.partitions.stop_all()
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir.parent)
        await site.restart()
        supervisor = site.partitions.get("p")
        assert not supervisor.is_running and "its certificates were lost" in supervisor.problem
        assert errors(await site.put("p", tls("lb", vip, a, one))) == {}
        assert (await shown(vip), supervisor.problem) == (("a.test", 1), "")


async def test_a_content_that_is_not_what_was_kept_is_requested():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one))
        await settled(site)
        await site.partitions.close()
        (held,) = (path for path in key_files(site) if path.parent.name == "held")
        held.write_text(held.read_text()[:-100])
        await site.restart()
        receipt = await site.put("p", tls("lb", vip, a, unsent(one)))
        assert receipt.outcomes[0].lacking == (one.sha256,)
        assert await shown(vip) == ("a.test", 1)
        assert errors(await site.put("p", tls("lb", vip, a, one))) == {}
        assert (await shown(vip), site.partitions.get("p").problem) == (("a.test", 1), "")


async def test_keys_that_are_taken_away_under_the_daemon_are_put_back():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        one = file("c.pem", certificate("a.test"))
        await site.put("p", tls("lb", vip, a, one))
        await settled(site)
        before = len(key_files(site))
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir.parent)
        await site.partitions.restore_missing_files()
        await settled(site)
        assert len(key_files(site)) == before  # settled: files are removed before the task ends
        await site.restart()
        assert site.partitions.get("p").held["lb"].files[0] == one
        shutil.rmtree(files_of(site.partitions.get("p")).keys_dir)
        receipt = await site.patch("p", tls("lb", vip, a, unsent(one), revision=2, lines=("timeout client 9s",)))
        assert (receipt.how, errors(receipt), await shown(vip)) == ("reload", {}, ("a.test", 1))


async def test_only_unreferenced_keys_are_removed():
    async with world() as site:
        a = await site.member("a")
        vips = free_vip(), free_vip()
        one, two = file("one.pem", certificate("a.test")), file("two.pem", certificate("b.test"))
        await site.put("p", tls("lb1", vips[0], a, one), tls("lb2", vips[1], a, two))
        await site.patch("p", removed=("lb1",))
        await settled(site)
        # settled: files are removed before the task ends
        assert {path.read_text() for path in key_files(site)} == {two.content, "two.pem\n"}
        await site.put("p")
        await eventually(lambda: not site.partitions.get("p").is_running)
        await settled(site)
        await eventually(lambda: not key_files(site))


async def test_a_change_that_was_half_made_when_the_daemon_died_loses_no_key():
    async with world() as site:
        a = await site.member("a")
        vip = free_vip()
        old, new = (file("c.pem", certificate("a.test", serial=number)) for number in (1, 2))
        await site.put("p", tls("lb", vip, a, old))
        reached = asyncio.Event()

        async def stop_there(by_id: object) -> None:
            reached.set()
            await asyncio.Event().wait()

        site.partitions.get("p")._applier.held.replace = stop_there
        change = asyncio.create_task(site.patch("p", tls("lb", vip, a, new, revision=2)))
        await reached.wait()
        change.cancel()
        assert await shown(vip) == ("a.test", 2)
        await site.restart()
        assert site.partitions.get("p").held["lb"].files[0] == old
        receipt = await site.put("p", tls("lb", vip, a, unsent(old)))
        assert (errors(receipt), await shown(vip)) == ({}, ("a.test", 1))
