"""A certificate by ACME, from its request to clients: a real ACME server, controllers, an agent and HAProxy."""

import asyncio
import base64
import os
import random
import sqlite3
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography import x509

from evenkeel.cli.client import API_PATH, ApiRefused
from evenkeel.core.resources.http_challenges import HttpChallenge
from evenkeel.demo.addresses import VipAddress, choose_vip_address, is_free
from evenkeel.demo.cluster import Cluster, agent_name, controller_name
from evenkeel.demo.device_kinds.leftovers import haproxy_pids
from tests.acceptance.handshakes import Handshakes
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, Tenant, session, settled
from tests.acceptance.websites import create
from tests.key_managers.vault.world import WRITING, Vault
from tests.services import acme2certifier, openbao
from tests.services.acme2certifier import Acme2Certifier
from tests.services.installation import NotInstallable
from tests.services.openbao import OpenBao
from tests.services.zone_server import ZoneServer, write_key
from tests.waiting import eventually

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

NAME = "www.example.org"
PROJECT = "acme-project"
ZONE = "example.org"
ZONE_PROJECT = "zone-project"
RECORD = f"_acme-challenge.{ZONE}"
CERTIFICATE = f"{API_PATH}/certificates/{PROJECT}/www"
REFERENCE = f"directory://{PROJECT}/www"
HANDSHAKES, MORE_HANDSHAKES = 2_000, 10_000
BY_NAMES = f"acme://{NAME}"


@pytest.fixture
def place() -> VipAddress:
    """A VIP whose port 80 can be bound, as the authority connects to no other."""
    found = choose_vip_address(random.Random())
    if not is_free(found.address, 80) or not is_free(_name_server_of(found), 53):
        pytest.skip("ports 53 and 80 of loopback addresses cannot be bound")
    return found


def _name_server_of(place: VipAddress) -> str:
    return f"{place.address.rpartition('.')[0]}.53"


@pytest.fixture
async def names(place: VipAddress) -> AsyncIterator[ZoneServer]:
    """The name server of the authority, of controllers and of the zone, whose names belong to another project."""
    address = _name_server_of(place)
    records = {NAME: (place.address,), f"ns.{ZONE}": (address,)}
    async with ZoneServer(ZONE, records, host=address, port=53) as server:
        server.records[ZONE, "NS"] = {f"ns.{ZONE}."}
        yield server


@pytest.fixture
async def authority(place: VipAddress, names: ZoneServer) -> AsyncIterator[Acme2Certifier]:
    try:
        venv = await asyncio.to_thread(acme2certifier.installed)
    except NotInstallable as error:
        pytest.skip(str(error))
    server = Acme2Certifier(venv, _name_server_of(place))
    await asyncio.to_thread(server.start)
    yield server
    await asyncio.to_thread(server.close)


def _in_directory(folder: Path) -> dict[str, dict[str, Any]]:
    key_file = folder / "certificates.key"
    key_file.touch(0o600)
    key_file.write_bytes(base64.b64encode(os.urandom(32)))
    directory = folder / "certificates"
    return {"certificates": {"key_manager": "directory", "directory": directory, "directory_key_file": key_file}}


@pytest.fixture
def in_vault() -> Iterator[dict[str, dict[str, Any]]]:
    """Options of controllers that store certificates in an OpenBao."""
    try:
        server = OpenBao(openbao.program())
    except NotInstallable as error:
        pytest.skip(str(error))
    server.start()
    vault = Vault(server)
    vault.root.sys.create_or_update_policy("evenkeel", WRITING)
    yield {"certificates": {"key_manager": "vault"}, "vault": {**vault.options(), "writable": "true"}}
    server.close()


@pytest.fixture
async def cluster(
    tmp_path: Path, authority: Acme2Certifier, names: ZoneServer, request: pytest.FixtureRequest
) -> AsyncIterator[Cluster]:
    """HAProxy, or devices of the type that the test names; certificates are in a directory, or in Vault if it says
    that.
    """
    kind = getattr(request, "param", "haproxy")
    options: dict[str, dict[str, Any]] = {
        **(request.getfixturevalue("in_vault") if kind == "vault" else _in_directory(tmp_path)),
        "acme": {
            "directory_url": authority.directory_url,
            "contact": "operators@example.org",
            "ssl_ca_crt_file": authority.ca_file,
            "name_servers": names.address,
            "step_timeout": 5,
        },
        "dns:zone": {
            "zone": ZONE,
            "projects": ZONE_PROJECT,
            "server": names.address,
            "tsig_key_file": write_key(tmp_path),
        },
    }
    made = Cluster(
        tmp_path, environment="acme", device="haproxy" if kind == "vault" else kind, controller_options=options
    )
    try:
        await made.start_devices()
        await made.start_controller(1)
        await asyncio.gather(made.start_agent("host-1"), made.start_backend(1))
        yield made
    finally:
        await asyncio.to_thread(made.close)


async def request_certificate(cluster: Cluster, project: str = PROJECT, names: Sequence[str] = (NAME,)) -> None:
    body = {"name": "www", "project_id": project, "names": [*names], "self_signed_until_issued": True}
    await asyncio.to_thread(cluster.client().post, f"{API_PATH}/certificates", {"certificate": body})


async def website(
    cluster: Cluster, place: VipAddress, tenant: Tenant, *, secure: bool = True, reference: str = REFERENCE
) -> None:
    """A load balancer that redirects HTTP to HTTPS; if ``secure``, with a listener that has the reference."""
    body = {"subnet": {"name": "vips", "cidr": place.cidr}}
    subnet = (await asyncio.to_thread(cluster.client().post, f"{API_PATH}/subnets", body))["subnet"]
    redirect = {
        "action": "REDIRECT_PREFIX",
        "redirect_prefix": f"https://{NAME}",
        "rules": [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/"}],
    }
    pool = {
        "name": "web",
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": [{"address": "127.0.0.1", "protocol_port": cluster.backend_ports[0]}],
    }
    https = {
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": place.https_port,
        "default_tls_container_ref": reference,
        "default_pool": pool,
    }
    plain = {"protocol": "HTTP", "protocol_port": 80, "default_pool": {**pool, "name": "p"}, "l7policies": [redirect]}
    fields = {
        "vip_subnet_id": subnet["id"],
        "vip_address": place.address,
        "listeners": [https, plain] if secure else [plain],
    }
    await create(tenant, fields)
    await settled(tenant)


async def shown(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = (await cluster.get_json(CERTIFICATE.removeprefix(API_PATH)))["certificate"]
    return found


async def is_in_state(cluster: Cluster, state: str) -> bool:
    """Whether a controller that answers shows the certificate in that state."""
    return bool((await shown(cluster))["state"] == state)


async def is_verified(place: VipAddress, context: ssl.SSLContext) -> bool:
    """Whether a strict client, who trusts the authority alone, gets an answer."""
    try:
        reader, writer = await asyncio.open_connection(
            place.address, place.https_port, ssl=context, server_hostname=NAME
        )
    except ssl.SSLCertVerificationError:
        return False
    writer.write(b"GET / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("cluster", "key_manager"),
    [("haproxy", "directory"), ("bigip", "directory"), ("vault", "vault")],
    indirect=["cluster"],
)
async def test_a_requested_certificate_is_served_to_strict_clients(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier, key_manager: str
) -> None:
    await request_certificate(cluster)
    async with session() as http:
        reference = f"{key_manager}://{PROJECT}/www"
        await website(cluster, place, Tenant(http, cluster.controllers, PROJECT), reference=reference)
    context = authority.client_context()
    await eventually(lambda: is_verified(place, context), within_seconds=LIMIT_SECONDS, every_seconds=0.2)
    found = await shown(cluster)
    assert (found["state"], found["problem"], found["dns_names"]) == ("issued", None, [NAME])
    # another tenant, who asks for the same name
    await request_certificate(cluster, "stranger")

    async def orders_once_it_waits() -> list[str]:
        problem = (await cluster.get_json("/certificates/stranger/www"))["certificate"]["problem"]
        waits = f"{NAME} has the address {place.address}, which is no VIP" in str(problem)
        return authority.orders() if waits else []

    assert await eventually(orders_once_it_waits, within_seconds=LIMIT_SECONDS, every_seconds=0.1) == ["valid"]


@pytest.mark.parametrize("reference", [BY_NAMES, f"{BY_NAMES}?self_signed"])
async def test_a_listener_that_names_its_certificate_by_dns_names_gets_it(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier, reference: str
) -> None:
    async with session() as http:
        await website(cluster, place, Tenant(http, cluster.controllers, PROJECT), reference=reference)
    context = authority.client_context()
    await eventually(lambda: is_verified(place, context), within_seconds=LIMIT_SECONDS, every_seconds=0.2)
    (found,) = (await cluster.get_json(f"/certificates?project_id={PROJECT}"))["certificates"]
    assert (found["state"], found["names"], authority.orders()) == ("issued", [NAME], ["valid"])


async def test_a_changed_listener_serves_its_former_certificate_until_the_requested_one_is_issued(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier
) -> None:
    async with session() as http:
        tenant = Tenant(http, cluster.controllers, PROJECT)
        # names of nobody: this one is never issued
        await website(cluster, place, tenant, reference="acme://former.example.net?self_signed")
        await asyncio.to_thread(authority.kill)
        listeners = (await tenant.surely("GET", f"{LBAAS}/listeners?protocol=TERMINATED_HTTPS"))["listeners"]
        path = f"{LBAAS}/listeners/{listeners[0]['id']}"

        async def listener_once_applied() -> tuple[str, str] | None:
            """Provisioning and operating status, once devices have applied all that can be."""
            root = (await tenant.surely("GET", f"{LBAAS}/loadbalancers/{tenant.load_balancer_id}"))["loadbalancer"]
            row = (await tenant.surely("GET", path))["listener"]
            applied = root["provisioning_status"] == "ACTIVE"
            return (row["provisioning_status"], row["operating_status"]) if applied else None

        await tenant.surely("PUT", path, {"listener": {"default_tls_container_ref": BY_NAMES}})
        for change in ({}, {"name": "changed while it waits"}):
            await tenant.surely("PUT", path, {"listener": change})
            assert await eventually(listener_once_applied) == ("PENDING_UPDATE", "ONLINE")
            # settled: devices have applied the change
            assert await served_names(place) == ["former.example.net"]
        await asyncio.to_thread(authority.start)
        context = authority.client_context()
        await eventually(lambda: is_verified(place, context), within_seconds=LIMIT_SECONDS, every_seconds=0.2)
        await settled(tenant)
    assert authority.orders() == ["valid"]


async def served_names(place: VipAddress) -> list[str]:
    """Names in the certificate that a client gets who trusts everybody."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(place.address, place.https_port, ssl=context, server_hostname=NAME)
    certificate = x509.load_der_x509_certificate(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
    writer.close()
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


async def test_an_order_whose_controller_is_killed_is_finished_by_another_one(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier
) -> None:
    async with session() as http:
        await website(cluster, place, Tenant(http, cluster.controllers, PROJECT), secure=False)
    # Without its agent the load balancer does not get the challenge, so that the order stays open.
    cluster.kill(agent_name("host-1"))
    await request_certificate(cluster)
    await eventually(lambda: is_in_state(cluster, "ordering"), within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    cluster.kill(controller_name(1))
    await cluster.start_controller(2)
    await cluster.start_again(agent_name("host-1"))

    async def orders_once_issued() -> list[str]:
        return authority.orders() if await is_in_state(cluster, "issued") else []

    assert await eventually(orders_once_issued, within_seconds=LIMIT_SECONDS, every_seconds=0.1) == ["valid"]


def make_due(cluster: Cluster) -> None:
    """Let the renewal of all requested certificates be due, also where the authority suggests a later time."""
    with sqlite3.connect(cluster.directory / "evenkeel.db", timeout=60) as database:
        database.execute("UPDATE acme_certificate SET next_attempt_at = ?, renew_at = 1", (time.time() - 1.0,))


async def test_no_handshake_fails_while_the_certificate_is_renewed(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier
) -> None:
    await renew_under_handshakes(cluster, place, authority, HANDSHAKES)


async def test_more_handshakes_all_succeed_while_the_certificate_is_renewed(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier
) -> None:
    await renew_under_handshakes(cluster, place, authority, MORE_HANDSHAKES)


async def renew_under_handshakes(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier, handshakes: int
) -> None:
    """Assert that none of at least so many fails; a quarter of them comes before the renewal begins."""
    await request_certificate(cluster)
    async with session() as http:
        await website(cluster, place, Tenant(http, cluster.controllers, PROJECT))
    context = authority.client_context()
    await eventually(lambda: is_verified(place, context), within_seconds=LIMIT_SECONDS, every_seconds=0.2)
    before = set(haproxy_pids(str(cluster.directory)))
    with Handshakes(place.address, place.https_port, NAME, context) as clients:
        await eventually(lambda: clients.shown.total() >= handshakes // 4, within_seconds=LIMIT_SECONDS)
        await asyncio.to_thread(make_due, cluster)

        def failures_once_done() -> tuple[list[str], int] | None:
            done = len(clients.shown) > 1 and clients.shown.total() >= handshakes
            return (clients.failures, len(clients.shown)) if done else None

        assert await eventually(failures_once_done, within_seconds=LIMIT_SECONDS) == ([], 2)
    assert challenges_left(cluster) == 0
    # a reload would have started a worker; an old one may end meanwhile
    assert before >= set(haproxy_pids(str(cluster.directory))) != set()


async def answer_of(place: VipAddress, path: str) -> bytes:
    """Response to a request on port 80."""
    reader, writer = await asyncio.open_connection(place.address, 80)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


def challenges_left(cluster: Cluster) -> int:
    """Challenges in the database that load balancers are to answer."""
    with sqlite3.connect(cluster.directory / "evenkeel.db", timeout=60) as database:
        texts = [text for (text,) in database.execute("SELECT challenges FROM load_balancer")]
    return sum(each.open for text in texts for each in msgspec.json.decode(text, type=list[HttpChallenge]))


async def test_controller_agent_daemon_and_authority_killed_in_turn_leave_one_order_and_nothing_pending(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier
) -> None:
    async with session() as http:
        await website(cluster, place, Tenant(http, cluster.controllers, PROJECT), secure=False)
    # Without its agent the load balancer does not get the challenge, so that the order stays open.
    cluster.kill(agent_name("host-1"))
    await request_certificate(cluster)
    await eventually(lambda: is_in_state(cluster, "ordering"), within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    cluster.kill(controller_name(1))
    await asyncio.to_thread(authority.kill)
    cluster.kill("devices")
    await cluster.start_controller(2)

    async def waits_for_the_authority() -> bool:
        return "cannot be reached" in str((await shown(cluster))["problem"])

    await eventually(waits_for_the_authority, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    await asyncio.to_thread(authority.start)
    await cluster.start_devices()
    await cluster.start_again(agent_name("host-1"))

    async def left_once_issued() -> tuple[list[str], str | None, int] | None:
        if not await is_in_state(cluster, "issued"):
            return None
        return authority.orders(), (await shown(cluster))["problem"], await asyncio.to_thread(challenges_left, cluster)

    left = await eventually(left_once_issued, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    assert left == (["valid"], None, 0)

    async def answers_as_before() -> bool:
        return (await answer_of(place, "/.well-known/acme-challenge/x")).startswith(b"HTTP/1.1 302 ")

    await eventually(answers_as_before, within_seconds=LIMIT_SECONDS, every_seconds=0.1)


async def test_a_wildcard_is_proven_in_the_zone_of_its_project_also_if_the_controller_is_killed(
    cluster: Cluster, place: VipAddress, authority: Acme2Certifier, names: ZoneServer
) -> None:
    with pytest.raises(ApiRefused, match=r"\*\.example\.org"):
        await request_certificate(cluster, PROJECT, (f"*.{ZONE}",))
    # The record is set, and the zone's server does not answer with it yet.
    names.hides = True
    await request_certificate(cluster, ZONE_PROJECT, (f"*.{ZONE}", ZONE))
    path = f"/certificates/{ZONE_PROJECT}/www"

    async def records_once_they_are_waited_for() -> int:
        problem = (await cluster.get_json(path))["certificate"]["problem"]
        return len(names.texts(RECORD)) if f"does not have the record {RECORD} yet" in str(problem) else 0

    assert await eventually(records_once_they_are_waited_for, within_seconds=LIMIT_SECONDS, every_seconds=0.1) == 2
    cluster.kill(controller_name(1))
    names.hides = False
    await cluster.start_controller(2)
    async with session() as http:
        reference = f"directory://{ZONE_PROJECT}/www"
        await website(cluster, place, Tenant(http, cluster.controllers, ZONE_PROJECT), reference=reference)
    context = authority.client_context()
    await eventually(lambda: is_verified(place, context), within_seconds=LIMIT_SECONDS, every_seconds=0.2)

    async def left_once_issued() -> tuple[list[str], list[str], set[str]] | None:
        found = (await cluster.get_json(path))["certificate"]
        if found["state"] != "issued":
            return None
        return sorted(found["dns_names"]), authority.orders(), names.texts(RECORD)

    left = await eventually(left_once_issued, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    assert left == ([f"*.{ZONE}", ZONE], ["valid"], set())
