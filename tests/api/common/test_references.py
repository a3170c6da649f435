"""References to a key manager are read when they are new, in the name of the load balancer's project, and only then."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.api.app import create_app
from evenkeel.api.common.references import (
    NEW_REFERENCES_MAX,
    READ_SECONDS,
    READS_AT_ONCE,
    ReferenceReader,
    ReferencingObjectChange,
)
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import open_key_manager
from evenkeel.core.devices.capabilities import ALL_CAPABILITIES, Capabilities
from evenkeel.core.kit.errors import CertificateExpired, CertificateNotYetValid, Invalid, KeyManagerUnavailable
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.resources.model import Listener
from evenkeel.core.tls.certificates import CertificateBundle, CertificateKind, NewCertificate, Secret
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.key_managers.parsing import certificate_bundle
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER
from tests.key_managers.barbican.server import served

PROJECT = ProjectId("p1")
OTHER = ProjectId("p2")
CERTIFICATE, AUTHORITY, LIST = CertificateKind
WWW, SECOND, CA, CRL, STRANGE, FOREIGN = (
    f"directory://{project}/{name}"
    for project, name in (("p1", "www"), ("p1", "two"), ("p1", "ca"), ("p1", "crl"), ("p1", "strange"), ("p2", "www"))
)
WHOLE = LEAF.pem + INTERMEDIATE.pem + LEAF.key_pem()
KEPT = {
    WWW: (CERTIFICATE, WHOLE),
    SECOND: (CERTIFICATE, STRANGER.pem + STRANGER.key_pem()),
    CA: (AUTHORITY, ROOT.pem),
    CRL: (LIST, ROOT.signed_list(1)),
    STRANGE: (LIST, STRANGER.signed_list(1)),
    FOREIGN: (CERTIFICATE, WHOLE),
}


class CountingKeyManager(DirectoryKeyManager):
    """Notes what is read, and is out of reach if told so."""

    reads: list[tuple[str, str]]
    down = False

    async def _read_reference(self, reference: str, project_id: str, kind: CertificateKind) -> Any:
        self.reads.append((reference, project_id))
        if self.down:
            raise KeyManagerUnavailable("the vault is closed")
        return await super()._read_reference(reference, project_id, kind)


@pytest.fixture
async def keys(tmp_path: Path) -> CountingKeyManager:
    manager = CountingKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))
    manager.reads = []
    for reference, (kind, content) in KEPT.items():
        project_id, name = reference.removeprefix("directory://").split("/")
        new = NewCertificate(project_id=ProjectId(project_id), name=name, kind=kind, content=Secret(content))
        await manager.add(new, replace=False)
    return manager


def client_of(store: SqlStore, sink: Sink, key_manager: KeyManager | None, table: Capabilities) -> Client:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        capabilities={"noop": table},
        key_manager=key_manager,
    )
    return Client.of(app)


@pytest.fixture(params=[Capabilities(), ALL_CAPABILITIES], ids=["carrying", "noop"])
async def api(
    store: SqlStore, sink: Sink, keys: CountingKeyManager, request: pytest.FixtureRequest
) -> AsyncIterator[Client]:
    """With a key manager every device type takes what can be read, and nothing else."""
    async with client_of(store, sink, keys, request.param) as client:
        yield client


@pytest.fixture
async def root(api: Client) -> str:
    return str((await api.load_balancer(project_id=PROJECT))["id"])


def https(load_balancer_id: str, **attributes: Any) -> dict[str, Any]:
    body = {"loadbalancer_id": load_balancer_id, "protocol": "TERMINATED_HTTPS", "protocol_port": 443}
    return {"listener": body | attributes}


def pool(load_balancer_id: str, **attributes: Any) -> dict[str, Any]:
    body = {"loadbalancer_id": load_balancer_id, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True}
    return {"pool": body | attributes}


async def used(store: SqlStore, owner_id: str) -> set[str]:
    certificate, use = schema.certificate, schema.certificate_use
    joined = certificate.join(use, use.c.certificate_id == certificate.c.id)
    statement = select(certificate.c.reference).select_from(joined).where(use.c.owner_id == owner_id)
    return set(await store.database.read(lambda connection: list(connection.scalars(statement))))


async def test_new_references_are_read_once_in_the_name_of_the_project(
    api: Client, root: str, keys: CountingKeyManager, store: SqlStore
) -> None:
    clients = {"client_ca_tls_container_ref": CA, "client_crl_container_ref": CRL, "client_authentication": "OPTIONAL"}
    both = {"default_tls_container_ref": WWW, "sni_container_refs": [SECOND, WWW]}
    made = (await api.post("/listeners", https(root, **both, **clients)))["listener"]
    assert await used(store, made["id"]) == {WWW, SECOND, CA, CRL}
    assert {project for _, project in keys.reads} == {PROJECT}
    assert [reference for reference, _ in keys.reads].count(WWW) == 1

    keys.reads.clear()
    changes: dict[str, Any]
    for changes in (
        {"name": "other"},
        {"hsts_max_age": 5},
        {"default_tls_container_ref": SECOND, "sni_container_refs": [WWW]},
        {"client_crl_container_ref": None},
    ):
        await api.put(f"/listeners/{made['id']}", {"listener": changes})
    assert keys.reads == []
    assert await used(store, made["id"]) == {WWW, SECOND, CA}
    await api.put(f"/listeners/{made['id']}", {"listener": {"client_crl_container_ref": CRL}})
    assert {reference for reference, _ in keys.reads} == {CRL, CA}


async def test_pools_of_every_way_to_make_them(
    api: Client, root: str, keys: CountingKeyManager, store: SqlStore
) -> None:
    tls = {"tls_container_ref": WWW, "ca_tls_container_ref": CA, "crl_container_ref": CRL}
    made = (await api.post("/pools", pool(root, **tls)))["pool"]
    assert await used(store, made["id"]) == {WWW, CA, CRL}
    await api.put(f"/pools/{made['id']}", {"pool": {"tls_container_ref": SECOND}})
    assert await used(store, made["id"]) == {SECOND, CA, CRL}

    nested = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True, "tls_container_ref": SECOND}
    body = https(root, default_tls_container_ref=WWW, default_pool=nested)
    listener = (await api.post("/listeners", body))["listener"]
    assert await used(store, listener["default_pool_id"]) == {SECOND}
    policy = {"listener_id": listener["id"], "action": "REDIRECT_TO_POOL", "redirect_pool": nested}
    answer = await api.post("/l7policies", {"l7policy": policy})
    assert await used(store, answer["l7policy"]["redirect_pool_id"]) == {SECOND}


async def test_a_whole_load_balancer(api: Client, store: SqlStore) -> None:
    listeners = [
        {"protocol": "TERMINATED_HTTPS", "protocol_port": port, "default_tls_container_ref": WWW} for port in (1, 2)
    ]
    pools = [
        {
            "name": "p",
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "tls_enabled": True,
            "ca_tls_container_ref": CA,
        }
    ]
    body = bodies.load_balancer(project_id=PROJECT, listeners=listeners, pools=pools)
    made = (await api.post("/loadbalancers", body))["loadbalancer"]
    assert [await used(store, each["id"]) for each in made["listeners"]] == [{WWW}, {WWW}]
    assert await used(store, made["pools"][0]["id"]) == {CA}
    listeners[1]["default_tls_container_ref"] = "directory://p1/none"
    refused = await api.post("/loadbalancers", bodies.load_balancer(project_id=PROJECT, listeners=listeners), 400)
    assert refused["faultstring"] == (
        "Could not retrieve certificate: ['directory://p1/none'] (default_tls_container_ref)"
    )


NOT_FOUND = "Could not retrieve certificate: ['{}'] ({})"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"default_tls_container_ref": "directory://p1/none"}, None),
        ({"default_tls_container_ref": FOREIGN}, None),
        ({"default_tls_container_ref": "elsewhere"}, None),
        ({"default_tls_container_ref": CA}, None),
        ({"default_tls_container_ref": WWW, "sni_container_refs": [SECOND, CRL]}, None),
        ({"default_tls_container_ref": WWW, "client_ca_tls_container_ref": WWW}, None),
        ({"default_tls_container_ref": WWW, "client_ca_tls_container_ref": CRL}, None),
        (
            {
                "default_tls_container_ref": WWW,
                "client_ca_tls_container_ref": CA,
                "client_crl_container_ref": STRANGE,
            },
            f"Validation failure: client_crl_container_ref: {STRANGE}: The CRL specified is not valid for client "
            "certificate authority reference supplied.",
        ),
    ],
)
async def test_unusable_reference_is_refused_naming_field_and_reference(
    api: Client, root: str, sink: Sink, store: SqlStore, attributes: dict[str, Any], text: str | None
) -> None:
    """Another project's is refused exactly as one that is not there."""
    told = len(sink.changes)
    refused = await api.post("/listeners", https(root, **attributes), 400)
    field, value = list(attributes.items())[-1]
    reference = value if isinstance(value, str) else value[-1]
    assert refused["faultstring"] == (text or NOT_FOUND.format(reference, field))
    made = (await api.post("/listeners", https(root, default_tls_container_ref=WWW)))["listener"]
    assert (await api.put(f"/listeners/{made['id']}", {"listener": attributes}, 400)) == refused
    assert (await api.get(f"/listeners/{made['id']}"))["listener"]["default_tls_container_ref"] == WWW
    assert await used(store, made["id"]) == {WWW} and len(sink.changes) == told + 1


async def test_a_key_manager_that_is_down_keeps_new_references_out_and_nothing_else(
    api: Client, root: str, keys: CountingKeyManager
) -> None:
    made = (await api.post("/listeners", https(root, default_tls_container_ref=WWW)))["listener"]
    keys.down = True
    refused = await api.post("/listeners", https(root, default_tls_container_ref=SECOND, protocol_port=444), 503)
    assert f"default_tls_container_ref {SECOND}: the vault is closed" in refused["faultstring"]
    body = pool(root, ca_tls_container_ref=CA)
    assert f"ca_tls_container_ref {CA}" in (await api.post("/pools", body, 503))["faultstring"]
    sni = {"listener": {"sni_container_refs": [SECOND]}}
    assert f"sni_container_refs {SECOND}" in (await api.put(f"/listeners/{made['id']}", sni, 503))["faultstring"]
    for changes in ({"hsts_max_age": 5}, {"tls_versions": ["TLSv1.3"]}, {"sni_container_refs": [WWW]}):
        await api.put(f"/listeners/{made['id']}", {"listener": changes})


async def test_lbaas_v2_listeners(api: Client, root: str, keys: CountingKeyManager, store: SqlStore) -> None:
    neutron = "/neutron/v2.0/lbaas/listeners"
    body = https(root, default_tls_container_ref=WWW, sni_container_refs=[SECOND])
    made = (await api.post(neutron, body))["listener"]
    assert await used(store, made["id"]) == {WWW, SECOND}
    body = https(root, default_tls_container_ref=FOREIGN, protocol_port=444)
    refused = (await api.post(neutron, body, 404))["NeutronError"]
    assert refused["message"] == NOT_FOUND.format(FOREIGN, "default_tls_container_ref")
    assert refused["type"] == "TLSContainerNotFound"
    keys.down = True
    body = https(root, default_tls_container_ref=SECOND, protocol_port=444)
    assert SECOND in (await api.post(neutron, body, 503))["NeutronError"]["message"]


async def test_without_a_key_manager_devices_that_carry_traffic_take_no_reference(store: SqlStore, sink: Sink) -> None:
    async with client_of(store, sink, None, Capabilities()) as api:
        root = (await api.load_balancer(project_id=PROJECT))["id"]
        refused = await api.post("/listeners", https(root, default_tls_container_ref=WWW), 400)
        assert refused["faultstring"] == (
            f"Validation failure: default_tls_container_ref: {WWW}: No certificates can be used: there is no key "
            "manager to read them from."
        )
        assert (
            "ca_tls_container_ref"
            in (await api.post("/pools", pool(root, ca_tls_container_ref=CA), 400))["faultstring"]
        )
        await api.post("/pools", pool(root))


async def test_without_a_key_manager_a_device_that_carries_none_takes_them_unread(store: SqlStore, sink: Sink) -> None:
    async with client_of(store, sink, None, ALL_CAPABILITIES) as api:
        root = (await api.load_balancer(project_id=PROJECT))["id"]
        made = (await api.post("/listeners", https(root, default_tls_container_ref="anything")))["listener"]
        assert await used(store, made["id"]) == set()


BARBICAN = """
[certificates]
key_manager = barbican
[barbican]
auth_type = v3password
auth_url = {url}/v3
username = evenkeel
password = secret
user_domain_id = default
"""


async def test_references_to_barbican(store: SqlStore, sink: Sink, tmp_path: Path) -> None:
    """Its 403 for another project's, and the 404 for what there is not, are one answer."""
    with served() as barbican:
        file = tmp_path / "evenkeel.ini"
        file.write_text(BARBICAN.format(url=barbican.url))
        opened = open_key_manager(
            load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
        )
        mine, foreign = (barbican.secret(project, LEAF.pkcs12(INTERMEDIATE)) for project in (PROJECT, OTHER))
        missing = f"{barbican.url}/v1/secrets/{uuid.uuid4()}"
        async with client_of(store, sink, opened.key_manager, Capabilities()) as api:
            root = (await api.load_balancer(project_id=PROJECT))["id"]
            made = (await api.post("/listeners", https(root, default_tls_container_ref=mine)))["listener"]
            assert await used(store, made["id"]) == {mine}
            for reference in (foreign, missing):
                refused = await api.post("/pools", pool(root, tls_container_ref=reference), 400)
                assert refused["faultstring"] == NOT_FOUND.format(reference, "tls_container_ref")
            barbican.status = 500
            refused = await api.post("/pools", pool(root, tls_container_ref=mine), 503)
            assert f"tls_container_ref {mine}: Barbican" in refused["faultstring"]
        opened.close()


# -- the reader by itself


def listener_with(*references: str) -> ReferencingObjectChange:
    row = Listener(
        id="l",
        load_balancer_id=LoadBalancerId("lb"),
        project_id=PROJECT,
        protocol="TERMINATED_HTTPS",
        protocol_port=443,
        sni_container_refs=references,
    )
    return ReferencingObjectChange(row)


@pytest.mark.parametrize(
    ("year", "kind"), [(2025, CertificateNotYetValid), (2036, CertificateExpired), (2040, CertificateExpired)]
)
async def test_expired_or_future_certificate_is_refused(
    keys: CountingKeyManager, year: int, kind: type[CertificateExpired | CertificateNotYetValid]
) -> None:
    reader = ReferenceReader(keys, now=lambda: datetime(year, 2, 1, tzinfo=UTC))
    with pytest.raises(
        kind, match=f"sni_container_refs: {WWW}: The (certificate|content) .* It (was|is) valid (until|from) 20"
    ):
        await reader.read_and_check([listener_with(WWW)], PROJECT, ALL_CAPABILITIES)
    # what was there before is not looked at
    kept = listener_with(WWW)
    renamed = ReferencingObjectChange(replace(kept.after, name="other"), before=kept.after)
    assert await reader.read_and_check([renamed], PROJECT, ALL_CAPABILITIES) == ()


async def test_one_request_brings_only_so_many(keys: CountingKeyManager) -> None:
    many = [f"directory://p1/{number}" for number in range(NEW_REFERENCES_MAX + 1)]
    users = [listener_with(*many[:200]), listener_with(*many[200:])]
    with pytest.raises(Invalid, match=r"251 certificate references are new. Allowed in one request: 250"):
        await ReferenceReader(keys).read_and_check(users, PROJECT, ALL_CAPABILITIES)
    assert keys.reads == []


class SlowKeyManager(CountingKeyManager):
    """Notes how many are read at once, until it is let go on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, Encryption([bytes(32)]))
        self.reads: list[tuple[str, str]] = []
        self.under_way = self.most = 0
        self.full_at = READS_AT_ONCE
        self.go_on, self.full = asyncio.Event(), asyncio.Event()

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        self.reads.append((reference, project_id))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.under_way == self.full_at:
            self.full.set()
        await self.go_on.wait()
        self.under_way -= 1
        return await super().certificate(WWW if reference != "bad" else reference, project_id)


async def test_several_are_read_at_once_and_none_after_a_failure(keys: CountingKeyManager, tmp_path: Path) -> None:
    slow = SlowKeyManager(tmp_path / "certificates")
    names = [f"ref-{number}" for number in range(20)]
    reading = asyncio.create_task(
        ReferenceReader(slow).read_and_check([listener_with(*names)], PROJECT, ALL_CAPABILITIES)
    )
    await slow.full.wait()
    slow.go_on.set()
    assert [each.reference for each in await reading] == names
    assert slow.most == READS_AT_ONCE

    slow.reads.clear()
    with pytest.raises(Invalid, match="bad"):
        await ReferenceReader(slow).read_and_check([listener_with("bad", *names)], PROJECT, ALL_CAPABILITIES)
    assert len(slow.reads) < len(names)


async def test_a_project_with_many_requests_leaves_room_for_others(keys: CountingKeyManager, tmp_path: Path) -> None:
    slow = SlowKeyManager(tmp_path / "certificates")
    reader = ReferenceReader(slow)
    many = [
        asyncio.create_task(
            reader.read_and_check([listener_with(f"{number}-a", f"{number}-b")], PROJECT, ALL_CAPABILITIES)
        )
        for number in range(20)
    ]
    await slow.full.wait()
    slow.full.clear()
    assert {project for _, project in slow.reads} == {PROJECT} and slow.under_way == READS_AT_ONCE
    slow.full_at += 1
    other = asyncio.create_task(reader.read_and_check([listener_with("one")], OTHER, ALL_CAPABILITIES))
    await slow.full.wait()
    assert slow.reads[-1] == ("one", OTHER)
    slow.go_on.set()
    with pytest.raises(Invalid):
        await other
    assert [len(found) for found in await asyncio.gather(*many)] == [2] * 20


async def test_a_request_does_not_wait_for_ever(
    keys: CountingKeyManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.api.common.references.READ_SECONDS", READ_SECONDS / 1000)
    slow = SlowKeyManager(tmp_path / "certificates")
    with pytest.raises(KeyManagerUnavailable, match="sni_container_refs ref: not read within"):
        await ReferenceReader(slow).read_and_check([listener_with("ref")], PROJECT, ALL_CAPABILITIES)


class OddKeyManager(CountingKeyManager):
    """Has a certificate whose files are odd."""

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        return certificate_bundle(reference, INTERMEDIATE.pem + LEAF.pem + STRANGER.pem, Secret(LEAF.key_pem()))


async def test_oddities_of_a_new_reference_are_logged_without_its_content(tmp_path: Path) -> None:
    odd = OddKeyManager(tmp_path, Encryption([bytes(32)]))
    with structlog.testing.capture_logs() as logs:
        await ReferenceReader(odd).read_and_check([listener_with("ref")], PROJECT, ALL_CAPABILITIES)
    told = [one for one in logs if one["event"] == "certificate accepted with an oddity"]
    assert [(one["reference"], one["project_id"]) for one in told] == [("ref", PROJECT)] * 2
    assert "BEGIN" not in str(told)
