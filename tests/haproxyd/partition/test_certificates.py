"""Certificates of a running HAProxy: renewed, added and removed without a reload; repaired when changed by hand."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import find_binary
from tests.haproxyd.partition.test_restart import changer_killed_after
from tests.haproxyd.tlsworld import (
    TlsClient,
    anything,
    certificate,
    file,
    revocation_list,
    rsa_key,
    shown,
    tls,
    unsent,
    without_key,
)
from tests.haproxyd.world import VIP_PORT, World, errors, free_vip, load_balancer, world
from tests.services.haproxy import configured_binary


@pytest.fixture
async def site() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def renewed(one: wire.File, content: str) -> wire.File:
    return file(one.name, content, kind=one.kind)


async def changed(site: World, *load_balancers: wire.LoadBalancerConfig) -> wire.ApplyMethod:
    receipt = await site.patch("p", *load_balancers)
    assert errors(receipt) == {}
    return receipt.how


async def test_a_renewal_keeps_connections_and_shows_the_old_or_the_new_certificate(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    one, other = file("c.pem", certificate("a.test")), file("o.pem", certificate("b.test"))
    await site.put("p", tls("lb", vip, a, one, other))
    worker = site.partitions.get("p").worker_pid
    seen: set[tuple[str, int] | None] = set()
    ending = False

    async def look() -> None:
        while not ending:
            seen.add(await shown(vip, "a.test"))

    lookers = [asyncio.create_task(look()) for _ in range(2)]
    async with TlsClient(vip, "a.test") as kept:
        for serial in range(2, 12):
            now = renewed(one, certificate("a.test", serial=serial))
            assert await changed(site, tls("lb", vip, a, now, unsent(other), revision=serial)) == "runtime"
            assert await shown(vip, "a.test") == await shown(vip) == ("a.test", serial)
            assert await kept.get() == "a"
        ending = True
        await asyncio.gather(*lookers)
        assert kept.shown == ("a.test", 1)
    assert seen <= {("a.test", serial) for serial in range(1, 12)}
    assert (await shown(vip, "b.test"), site.partitions.get("p").worker_pid) == (("b.test", 1), worker)
    assert (await site.put("p", tls("lb", vip, a, unsent(now), unsent(other), revision=12))).how == "nothing"


@pytest.mark.timeout(300)
async def test_kill_9_in_the_middle_of_renewals_shows_the_old_or_the_new_certificate(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    files = [file("c.pem", certificate("a.test", serial=serial)) for serial in range(1, 5)]
    other = file("o.pem", certificate("b.test"))
    await site.put("p", tls("lb", vip, a, files[0]))
    await site.partitions.close()
    wishes = [tls("lb", vip, a, one, *([other] if number % 2 else [])) for number, one in enumerate(files)]
    seen: set[tuple[str, int] | None] = set()
    ending = False

    async def look() -> None:
        while not ending:
            seen.add(await shown(vip, "a.test"))

    looker = asyncio.create_task(look())
    for changes in (1, 2, 3, 5):
        await changer_killed_after(changes, site, wishes)
    await site.restart()
    (held,) = site.partitions.get("p").held.values()
    assert errors(await site.put("p", held)) == {}
    ending = True
    await looker
    assert seen <= {("a.test", serial) for serial in range(1, 5)}
    serial = next(serial for serial, one in enumerate(files, 1) if one == held.files[0])
    assert await shown(vip) == ("a.test", serial)


async def test_certificates_come_and_go_without_a_reload(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    first, *others = (file(f"{name}.pem", certificate(f"{name}.test")) for name in "abcd")
    await site.put("p", tls("lb", vip, a, first))
    worker = site.partitions.get("p").worker_pid
    await changed(site, tls("lb", vip, a, first, others[0]))
    wishes = [others[:2], others, [others[0], others[2]], [], others[1:]]
    async with TlsClient(vip) as kept:
        for wanted in wishes:
            assert await changed(site, tls("lb", vip, a, unsent(first), *wanted)) == "runtime"
            names = {"b.test", "c.test", "d.test"}
            there = {f"{one.name[0]}.test" for one in wanted}
            assert {await shown(vip, name) for name in there} == {(name, 1) for name in there}
            assert {await shown(vip, name) for name in names - there} <= {("a.test", 1)}
            assert await kept.get() == "a"
    assert site.partitions.get("p").worker_pid == worker
    assert (await site.put("p", tls("lb", vip, a, *map(unsent, (first, *others[1:]))))).how == "nothing"
    await site.restart()
    assert (await site.put("p", tls("lb", vip, a, *map(unsent, (first, *others[1:]))))).how == "nothing"


@pytest.mark.parametrize("order", ["bac", "acb", "abc"])
async def test_certificate_that_a_reload_would_order_otherwise_needs_a_reload(site: World, order: str) -> None:
    a = await site.member("a")
    vip = free_vip()
    files = {name: file(f"{name}.pem", certificate(f"{name}.test")) for name in "abc"}
    before = order.replace("b" if order == "acb" else "a", "", 1) if order != "acb" else "ab"
    await site.put("p", tls("lb", vip, a, *(files[name] for name in before)))
    assert await changed(site, tls("lb", vip, a, *(files[name] for name in order))) == "reload"
    assert await shown(vip) == (f"{order[0]}.test", 1)


async def test_of_two_with_the_same_name_the_first_is_shown_also_when_it_was_renewed(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    default = file("d.pem", certificate("d.test"))
    one, two = file("one.pem", certificate("one.test", "x.test")), file("two.pem", certificate("two.test", "x.test"))
    await site.put("p", tls("lb", vip, a, default, one, two))
    assert await shown(vip, "x.test") == ("one.test", 1)
    one = renewed(one, certificate("one.test", "x.test", serial=2))
    assert await changed(site, tls("lb", vip, a, default, one, unsent(two))) == "reload"
    assert await shown(vip, "x.test") == ("one.test", 2)
    two = renewed(two, certificate("two.test", "x.test", serial=2))
    assert await changed(site, tls("lb", vip, a, unsent(default), unsent(one), two)) == "runtime"
    assert await shown(vip, "x.test") == ("one.test", 2)


async def test_a_certificate_that_does_not_fit_one_command_is_renewed_by_a_reload(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    one = file("c.pem", certificate("a.test"))
    await site.put("p", tls("lb", vip, a, one))
    chain = "".join(without_key(certificate(f"ca{number}.test", ca=True)) for number in range(30))
    large = renewed(one, certificate("a.test", serial=2) + chain)
    assert len(large.content) > 15_000
    assert await changed(site, tls("lb", vip, a, large)) == "reload"
    assert await shown(vip) == ("a.test", 2)


async def test_clients_are_shown_the_certificate_of_the_kind_that_they_take(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    other = file("o.pem", certificate("other.test"))
    ecdsa, by_rsa = file("e.pem", certificate("a.test")), file("r.pem", certificate("a.test", serial=7, key=rsa_key()))
    await site.put("p", tls("lb", vip, a, other, ecdsa))
    assert await changed(site, tls("lb", vip, a, other, ecdsa, by_rsa)) == "runtime"

    async def by(ciphers: str) -> tuple[str, int] | None:
        context = anything()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(ciphers)
        return await shown(vip, "a.test", context=context)

    for _ in range(2):  # the second time as a reload has it
        assert await by("ECDHE-ECDSA-AES128-GCM-SHA256") == ("a.test", 1)
        assert await by("ECDHE-RSA-AES128-GCM-SHA256") == ("a.test", 7)
        assert await changed(site, tls("lb", vip, a, other, ecdsa, by_rsa, lines=("timeout client 9s",))) != "runtime"


def as_client(folder: Path, pem: str) -> ssl.SSLContext:
    context = anything()
    path = folder / "client.pem"
    path.write_text(pem)
    context.load_cert_chain(path)
    path.unlink()
    return context


async def how_authorities_change() -> wire.ApplyMethod:
    return "runtime" if (await find_binary(configured_binary())).supports_ca_at_runtime else "reload"


async def test_authorities_and_revocation_lists_of_clients_change_and_connections_stay(
    site: World, tmp_path: Path
) -> None:
    a = await site.member("a")
    vip = free_vip()
    one, mine, foreign = certificate("a.test"), certificate("ca.test", ca=True), certificate("other.test", ca=True)
    key = file("c.pem", one)

    def wanted(authority: str, revoked: str) -> wire.LoadBalancerConfig:
        files = file("ca.pem", without_key(authority), kind="ca"), file("crl.pem", revoked, kind="crl")
        arguments = ("verify", "required", "ca-file", "ca.pem", "crl-file", "crl.pem")
        return tls("lb", vip, a, key, others=files, arguments=arguments)

    how = await how_authorities_change()
    nobody = revocation_list(mine)
    await site.put("p", wanted(mine, nobody))
    # not the authority's own certificate: OpenSSL 3.6 looks for no trusted certificate in a list
    client = as_client(tmp_path, certificate("client.test", serial=5, issuer=mine))
    assert (await shown(vip), await shown(vip, context=client)) == (None, ("a.test", 1))
    async with TlsClient(vip, context=client) as kept:
        assert await kept.get() == "a"
        assert await changed(site, wanted(mine, revocation_list(mine, 5, number=2))) == how
        assert await shown(vip, context=client) is None
        assert await changed(site, wanted(mine, nobody)) == how
        assert await shown(vip, context=client) == ("a.test", 1)
        last = wanted(foreign, revocation_list(foreign))
        assert await changed(site, last) == how
        assert await shown(vip, context=client) is None
        assert await kept.get() == "a"
    assert (await site.put("p", last)).how == "nothing"


async def test_policies_about_clients_certificates_change_without_a_reload_and_match_as_after_one(
    site: World, tmp_path: Path
) -> None:
    a = await site.member("a")
    vip = free_vip()
    key, authority = file("c.pem", certificate("a.test")), certificate("ca.test", ca=True)
    trusted = file("ca.pem", without_key(authority), kind="ca")
    plain = tls("lb", vip, a, key, others=[trusted], arguments=("verify", "optional", "ca-file", "ca.pem"))
    (listening,) = plain.frontends

    def refused_where(rule: str, seconds: int) -> wire.LoadBalancerConfig:
        policy = f"acl l7.1.1 {rule}", "http-request deny deny_status 403 if l7.1.1"
        lines = f"timeout client {seconds}s", *policy, *listening.lines
        return msgspec.structs.replace(plain, frontends=(msgspec.structs.replace(listening, lines=lines),))

    async def refused() -> tuple[bool, bool]:
        """Whether a client with a certificate is refused, and one without."""
        answers = []
        for context in (as_client(tmp_path, certificate("client.test", issuer=authority)), anything()):
            async with TlsClient(vip, context=context) as client:
                answers.append(await client.get())
        return answers[0] != "a", answers[1] != "a"

    await site.put("p", refused_where("path -m beg -- /nowhere", 1))
    assert await refused() == (False, False)
    for seconds, (rule, expected) in enumerate(
        (
            ("ssl_c_used -m int -- 1", (True, False)),
            ("ssl_c_err -m int -- 0", (True, True)),
            ("ssl_c_err -m int -- 10", (False, False)),
            ("'ssl_c_s_dn(CN)' -m str -- client.test", (True, False)),
            ("'ssl_c_s_dn(CN)' -m str -- client", (False, False)),
            ("'ssl_c_s_dn(CN)' -m beg -- client.", (True, False)),
            ("'ssl_c_s_dn(CN)' -m sub -- t.t", (True, False)),
            ("'ssl_c_s_dn(CN)' -m end -- .test", (True, False)),
            ("'ssl_c_s_dn(OU)' -m end -- t", (False, False)),
        ),
        start=1,
    ):
        assert await changed(site, refused_where(rule, seconds)) == "runtime"
        assert (rule, await refused()) == (rule, expected)
        assert await changed(site, refused_where(rule, seconds + 1)) == "reload"
        assert (rule, await refused()) == (rule, expected)


async def test_client_certificate_and_ca_for_members_are_renewed(site: World) -> None:
    a = await site.member("a")
    inner, outer = free_vip(), free_vip()
    old, new = (certificate("in.test", serial=number, ca=True) for number in (1, 2))
    theirs = file("in-ca.pem", without_key(old), kind="ca")
    arguments = ("verify", "required", "ca-file", "in-ca.pem")

    def behind(pem: str) -> wire.LoadBalancerConfig:
        return tls("in", inner, a, file("in.pem", pem), others=[theirs], arguments=arguments)

    def before(client: str, authority: str) -> wire.LoadBalancerConfig:
        files = file("client.pem", client), file("ca.pem", without_key(authority), kind="ca")
        words = ("ssl", "verify", "required", "ca-file", "ca.pem", "crt", "client.pem")
        target = wire.BackendServer(name="in", address=inner, port=VIP_PORT, arguments=words)
        return load_balancer("out", outer, target, files=files, backend_lines=("http-reuse never",))

    async def through() -> str:
        """Status of an answer; ``refused`` if the two HAProxys do not accept each other. Some versions count that as a
        connection that failed, others as one without an answer."""
        reader, writer = await asyncio.open_connection(outer, VIP_PORT)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = (await reader.read()).decode()
        writer.close()
        status = answer.split()[1]
        return "refused" if status in ("502", "503") else status

    unknown = certificate("unknown.test", ca=True)
    await site.put("p", behind(old), before(old, old))
    assert await through() == "200"
    for out, status in ((before(unknown, old), "refused"), (before(old, old), "200")):
        assert (await changed(site, out), await through()) == ("runtime", status)
    how = await how_authorities_change()
    assert (await changed(site, before(old, unknown)), await through()) == (how, "refused")
    assert await changed(site, before(old, new), behind(new)) == how
    assert await through() == "200"


async def test_a_certificate_that_somebody_changed_in_the_process_is_put_right(site: World) -> None:
    a = await site.member("a")
    vip = free_vip()
    one = file("c.pem", certificate("a.test"))
    authority = file("ca.pem", without_key(certificate("ca.test", ca=True)), kind="ca")
    wanted = tls("lb", vip, a, one, others=[authority], arguments=("verify", "optional", "ca-file", "ca.pem"))
    await site.put("p", wanted)
    by_hand = certificate("a.test", serial=66)
    cli = site.partitions.get("p").cli

    async def put_right() -> tuple[wire.ApplyMethod, tuple[str, ...]]:
        receipt = await site.put("p", wanted)
        assert (await site.put("p", wanted)).how == "nothing"
        return receipt.how, receipt.repaired["lb"]

    await cli.command("set ssl cert c.pem", by_hand)
    await cli.command("commit ssl cert c.pem")
    assert await shown(vip) == ("a.test", 66)
    assert await put_right() == ("runtime", ("certificate c.pem was changed; repaired",))
    assert await shown(vip) == ("a.test", 1)
    await cli.command("add ssl crt-list lb.list", "c.pem x.test\n")
    assert await put_right() == ("reload", ("list lb.list was changed; repaired",))
    await cli.command("set ssl ca-file ca.pem", without_key(by_hand))
    await cli.command("commit ssl ca-file ca.pem")
    assert await put_right() == ("reload", ("authority ca.pem was changed; repaired",))


async def test_a_renewal_that_haproxy_refuses_costs_its_load_balancer_only(site: World) -> None:
    a = await site.member("a")
    vips = free_vip(), free_vip()
    one, two = file("c.pem", certificate("a.test")), file("d.pem", certificate("d.test"))
    await site.put("p", tls("lb1", vips[0], a, one), tls("lb2", vips[1], a, two))
    another_key = (
        without_key(certificate("a.test", serial=2))
        + certificate("x.test", key=rsa_key()).partition("-----END CERTIFICATE-----\n")[2]
    )
    receipt = await site.patch(
        "p",
        tls("lb1", vips[0], a, renewed(one, another_key)),
        tls("lb2", vips[1], a, renewed(two, certificate("d.test", serial=2))),
    )
    assert errors(receipt).keys() == {"lb1"} and "c.pem" in errors(receipt)["lb1"]
    assert (await shown(vips[0]), await shown(vips[1])) == (("a.test", 1), ("d.test", 2))
    assert site.partitions.get("p").held["lb1"].files[0] == one
