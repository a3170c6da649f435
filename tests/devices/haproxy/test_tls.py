"""TLS through real HAProxys: what every device does, and what is HAProxy's own."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.devices.device import Observation, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from tests.certificates import authority, by_sha256, certificate, referring, revocations
from tests.devices.haproxy.rig import PARTITION, HaproxyRig
from tests.devices.proxy_protocol import IS_TLS, SHOWED_CERTIFICATE, SIGNATURE, Tls, read_header
from tests.devices.services import batch, listener, member, monitor, policy, pool, rule, service
from tests.devices.tls_behaviour import (
    CLEAR_PORT,
    CLIENT,
    MEMBER,
    NAMED,
    OLDER,
    PORT,
    RENEWED,
    UNKNOWN_MEMBER,
    Clients,
    Member,
    TlsBehaviour,
    pool_of,
    problems,
    running,
    tls_listener,
    tls_pool_of,
    values,
    verified,
)
from tests.key_managers.authority import INTERMEDIATE, ROOT, Issued, ec_key
from tests.listening import StreamServer
from tests.waiting import eventually


class HaproxySite:
    """One HAProxy, as clients and an agent see it."""

    def __init__(self, rig: HaproxyRig) -> None:
        self._rig = rig
        self._owner = rig.owner()

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        return await self._owner.apply(batch(service, certificates=contents))

    async def observe(self) -> Observation:
        found: Observation = await self._owner.observe()
        return found

    def place(self, port: int) -> tuple[str, int]:
        return self._rig.box.moved("10.1.0.2", port)

    async def worker(self) -> int | None:
        """Its process: another one after a reload."""
        return (await self._rig.box.running.partitions.get(PARTITION).cli.processes()).worker_pid

    async def serve(self, revision: int = 1, **changes: Any) -> None:
        """A listener with everything that references may name."""
        await self.take(referring(service(revision=revision, **changes), NAMED))

    async def take(self, definition: ServiceDefinition, named: Mapping[str, CertificateContent] = NAMED) -> None:
        outcome = await self.apply(definition, by_sha256(named))
        assert problems(outcome) == [] and outcome.lacking == ()


class TestHaproxyTls(TlsBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> Any:
        return HaproxySite(rig)


@pytest.fixture
def site(rig: HaproxyRig) -> HaproxySite:
    return HaproxySite(rig)


@pytest.fixture
def clients(site: HaproxySite, tmp_path: Path) -> Clients:
    return Clients(site, tmp_path)


@pytest.fixture
async def plain(clients: Clients) -> AsyncIterator[Member]:
    async with running(clients.member("plain")) as made:
        yield made


async def test_members_over_tls_come_and_go_without_a_reload(site: HaproxySite, clients: Clients) -> None:
    settings = {
        "ca_tls_container_ref": "root",
        "crl_container_ref": "revoked",
        "tls_container_ref": "balancer",
    }
    async with (
        running(clients.member("one", MEMBER, asks=ROOT)) as one,
        running(clients.member("two", MEMBER, asks=ROOT)) as two,
    ):
        listeners = (tls_listener(),)
        await site.serve(listeners=listeners, pools=(tls_pool_of(one, **settings),))
        worker = await site.worker()
        await site.serve(2, listeners=listeners, pools=(tls_pool_of(one, two, **settings),))
        assert {(await clients.ask()).body for _ in range(6)} == {"one", "two"}
        assert two.shown[-1] == "balancer" and two.asked_for[-1] == "www.example.org"
        await site.serve(3, listeners=listeners, pools=(tls_pool_of(one, **settings),))
        assert {(await clients.ask()).body for _ in range(6)} == {"one"}
        assert await site.worker() == worker


async def test_a_certificate_is_renewed_without_a_reload(site: HaproxySite, clients: Clients, plain: Member) -> None:
    wanted = {"listeners": (tls_listener(sni_container_refs=("shop",)),), "pools": (pool_of(plain),)}
    await site.serve(**wanted)
    worker = await site.worker()
    named = NAMED | {"www": certificate(RENEWED)}
    await site.take(referring(service(revision=2, **wanted), named), named)
    assert ((await clients.ask()).shown, await site.worker()) == ("renewed", worker)


async def test_the_key_of_a_removed_listener_leaves_the_worker_without_a_reload(
    rig: HaproxyRig, site: HaproxySite, clients: Clients, plain: Member
) -> None:
    clear, pools = listener(2, protocol_port=CLEAR_PORT, default_pool_id="pool-1"), (pool_of(plain),)
    await site.serve(listeners=(tls_listener(sni_container_refs=("shop",)), clear), pools=pools)
    worker, cli = await site.worker(), rig.box.running.partitions.get(PARTITION).cli
    held = (await cli.command("show ssl cert")).split()
    keys = [word for word in held if word.startswith("listener-1.certificate.")]
    reader, writer = await asyncio.open_connection(*site.place(PORT), ssl=clients.context())
    await site.serve(2, listeners=(clear,), pools=pools)
    assert len(keys) == 2
    for key in keys:
        assert "removed.evenkeel.invalid" in await cli.command(f"show ssl cert {key}")
    assert (await clients.ask()).status == 0 and await site.worker() == worker
    writer.write(b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n")
    assert (await reader.readuntil(b"\r\n")).split()[1] == b"200"
    writer.close()


async def test_old_versions_are_spoken_if_they_are_wanted(site: HaproxySite, clients: Clients, plain: Member) -> None:
    wanted = tls_listener(tls_versions=("TLSv1", "TLSv1.1"), tls_ciphers=f"{OLDER}:ECDHE-ECDSA-AES128-SHA")
    await site.serve(listeners=(wanted,), pools=(pool_of(plain),))
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        tls = clients.context(minimum_version=version, maximum_version=version)
        assert (await clients.ask(tls=tls)).status == 200
    assert (await clients.ask(tls=clients.context(minimum_version=ssl.TLSVersion.TLSv1_2))).status == 0


async def test_an_intermediate_authority_may_have_a_list_of_its_own(
    site: HaproxySite, clients: Clients, plain: Member
) -> None:
    good, bad = Issued("good", INTERMEDIATE, ec_key()), Issued("bad", INTERMEDIATE, ec_key())
    named = NAMED | {"root": authority(INTERMEDIATE, ROOT), "revoked": revocations(INTERMEDIATE, bad)}
    is_bad = rule(type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0", invert=True)
    wanted = tls_listener(**verified(), insert_headers={"X-SSL-Client-Verify": "true"}, l7policies=(policy(1, is_bad),))
    await site.take(referring(service(listeners=(wanted,), pools=(pool_of(plain),)), named), named)
    shown = {"good": good, "revoked": bad, "without a list": CLIENT, "absent": None}
    served = {what: (await clients.ask(tls=clients.context(one))).status for what, one in shown.items()}
    assert served == {"good": 200, "revoked": 0, "without a list": 0, "absent": 0}
    assert values(plain.last, "X-SSL-Client-Verify") == ["0"]


async def test_a_name_in_a_certificate_is_no_header_of_its_own(
    site: HaproxySite, clients: Clients, plain: Member
) -> None:
    headers = {"X-SSL-Client-DN": "true", "X-SSL-Client-CN": "true"}
    wanted = tls_listener(**verified(client_crl_container_ref=None), insert_headers=headers)
    await site.serve(listeners=(wanted,), pools=(pool_of(plain),))
    hostile = Issued("a\r\nX-Admin: yes\r\n\r\nGET /b", ROOT, ec_key())
    assert (await clients.ask(tls=clients.context(hostile))).status == 200
    assert values(plain.last, "X-Admin") == [] and len(plain.heard) == 1
    assert values(plain.last, "X-SSL-Client-CN") == ["aX-Admin: yesGET /b"]


async def test_a_device_of_a_pair_that_lacks_a_content_gets_it(pair: HaproxyRig, tmp_path: Path) -> None:
    owner, (first, second) = pair.owner(), pair.boxes
    plain = Member("plain")
    async with running(plain):
        wanted = service(listeners=(tls_listener(**verified()),), pools=(pool_of(plain),))
        definition = referring(wanted, NAMED)
        await second.stop()
        contents = by_sha256(NAMED)
        outcome = await owner.apply(batch(definition, certificates=contents, complete=True))
        assert problems(outcome) == [] and outcome.lagging == (second.host,)
        await second.start()

        outcome = await owner.apply(batch(definition, complete=True))
        needed = {NAMED[name].sha256 for name in ("www", "root", "revoked")}
        assert set(outcome.lacking) == needed and len(problems(outcome)) == 1
        outcome = await owner.apply(batch(definition, certificates={one: contents[one] for one in needed}))
        assert problems(outcome) == [] and outcome.lacking == () and outcome.lagging == ()
        outcome = await owner.apply(batch(definition, complete=True))
        assert (problems(outcome), outcome.writes) == ([], 0)
        for box in (first, second):
            clients = Clients(_Place(box.moved("10.1.0.2", PORT)), tmp_path)  # type: ignore[arg-type]
            assert (await clients.ask(tls=clients.context(CLIENT))).shown == "www"


class _Place:
    def __init__(self, place: tuple[str, int]) -> None:
        self._place = place

    def place(self, port: int) -> tuple[str, int]:
        assert port == PORT
        return self._place


async def test_a_check_without_a_name_asks_members_for_none_and_requires_none(
    site: HaproxySite, clients: Clients
) -> None:
    check = monitor(type="HTTPS", http_version=1.1, delay=1, timeout=10, max_retries=1, max_retries_down=1)
    settings = {"ca_tls_container_ref": "root", "monitor": check}
    async with (
        running(clients.member("one", MEMBER)) as one,
        running(clients.member("added", MEMBER)) as added,
    ):
        listeners = (tls_listener(),)
        await site.serve(listeners=listeners, pools=(tls_pool_of(one, **settings),))
        await _until_online(site, "member-1-1")
        worker = await site.worker()
        await site.serve(2, listeners=listeners, pools=(tls_pool_of(one, added, **settings),))
        await eventually(lambda: min(len(one.asked_for), len(added.asked_for)) > 1)  # each had a first result
        # settled: no other worker may ever come, nor another name be asked for
        await _until_online(site, "member-1-1", "member-1-2")
        assert await site.worker() == worker
        assert {*one.asked_for, *added.asked_for} == {""}


async def test_member_added_at_runtime_is_checked_over_tls_as_others_are(site: HaproxySite, clients: Clients) -> None:
    check = monitor(type="TCP", delay=1, timeout=10, max_retries=1, max_retries_down=1)
    settings = {"ca_tls_container_ref": "root", "monitor": check}
    async with (
        running(clients.member("one", MEMBER)) as one,
        running(clients.member("impostor", UNKNOWN_MEMBER)) as impostor,
    ):
        listeners = (tls_listener(),)
        await site.serve(listeners=listeners, pools=(tls_pool_of(one, **settings),))
        await _until_online(site, "member-1-1")
        worker = await site.worker()
        await site.serve(2, listeners=listeners, pools=(tls_pool_of(one, impostor, **settings),))
        assert await site.worker() == worker  # added at runtime
        await _until(site, "ERROR", "member-1-2")


async def test_checks_of_a_member_added_at_runtime_send_the_proxy_header(site: HaproxySite) -> None:
    begun: list[set[bytes]] = [set(), set()]

    def serve(place: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                begun[place].add(await reader.readexactly(len(SIGNATURE)))
            writer.close()

        return answer

    checked = monitor(type="HTTP", delay=1, timeout=10, max_retries=1, max_retries_down=1)
    async with contextlib.AsyncExitStack() as stack:
        members = []
        for place in range(2):
            server = await stack.enter_async_context(await StreamServer.start(serve(place)))
            members.append(member(place=place + 1, address="127.0.0.1", protocol_port=server.port))
            wanted = pool(protocol="PROXYV2", members=tuple(members), monitor=checked)
            await site.serve(place + 1, listeners=(tls_listener(),), pools=(wanted,))
        await eventually(lambda: all(begun))
        assert begun == [{SIGNATURE}, {SIGNATURE}]


async def test_members_are_informed_about_the_clients_tls_by_the_proxy_protocol(
    site: HaproxySite, clients: Clients
) -> None:
    told, checks = [], []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            header = await read_header(reader)
            (checks if header.local else told).append(header.tls)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    async with await StreamServer.start(serve) as server:
        checked = monitor(type="HTTP", delay=1, timeout=10, max_retries=1, max_retries_down=1)
        at = member(place=1, address="127.0.0.1", protocol_port=server.port)
        wanted = verified(client_authentication="OPTIONAL")
        listeners = (tls_listener(**wanted), listener(2, protocol_port=CLEAR_PORT, default_pool_id="pool-1"))
        pools = (pool(protocol="PROXYV2", members=(at,), monitor=checked),)
        await site.serve(listeners=listeners, pools=pools)
        for shows in (CLIENT, None):
            tls = clients.context(shows, maximum_version=ssl.TLSVersion.TLSv1_2)
            assert (await clients.ask(tls=tls)).status == 200
        assert (await clients.ask(port=CLEAR_PORT)).status == 200
        assert told[0] == Tls(IS_TLS | SHOWED_CERTIFICATE | told[0].flags, 0, "TLSv1.2", "client")
        assert (told[1].flags, told[1].version, told[1].common_name) == (IS_TLS, "TLSv1.2", "")
        assert told[2].flags & IS_TLS == 0
        await eventually(lambda: checks)
        await _until_online(site, "member-1-1")


async def _until_online(site: HaproxySite, *members: str) -> None:
    await _until(site, "ONLINE", *members)


async def _until(site: HaproxySite, status: str, *members: str) -> None:
    async def told() -> bool:
        found = {one.id: one.status.value for one in (await site.observe()).statuses}
        return {found.get(name) for name in members} == {status}

    await eventually(told)
