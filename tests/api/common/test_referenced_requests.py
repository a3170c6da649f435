"""Listeners that refer to a certificate by DNS names request it on behalf of their project."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.acme_client.key_pairs import KeyPairs
from evenkeel.api.app import create_app
from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import Listener
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.tls.acme.authorities import AuthorityScope
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.references import parse_reference
from evenkeel.core.tls.acme.values import AcmeProgress
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate
from evenkeel.key_managers.acme_references import AcmeReferences
from evenkeel.key_managers.directory import SCHEME, DirectoryKeyManager, Encryption
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink
from tests.api.operators.mirror.conftest import LB, MIRROR, whole
from tests.api.subnet import SUBNET

PROJECT = ProjectId("p1")
REFERENCE = "acme://www.example.org,example.org"
OWN_NAME = parse_reference(REFERENCE).name


@pytest.fixture
def manager(tmp_path: Path) -> DirectoryKeyManager:
    return DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))


def client_of(
    store: SqlStore, sink: Sink, manager: DirectoryKeyManager, *, authority: bool = True, challenges: bool = True
) -> Client:
    authorities = [AuthorityScope(name="default"), AuthorityScope(name="internal")]
    authorities.append(AuthorityScope(name="theirs", projects=(ProjectId("p2"),)))
    acme = AcmeRequests(maker=KeyPairs(), authorities=authorities, names_max=2, per_project_max=2)
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        capabilities={"noop": Capabilities(http_challenges=challenges)},
        certificates=manager,
        key_manager=AcmeReferences(manager, scheme=SCHEME),
        acme=acme if authority else None,
    )
    return Client.of(app)


@pytest.fixture
async def api(store: SqlStore, sink: Sink, manager: DirectoryKeyManager) -> AsyncIterator[Client]:
    async with client_of(store, sink, manager) as client:
        yield client


async def listener(client: Client, *, port: int = 443, **fields: Any) -> Any:
    root = await client.load_balancer(project_id=PROJECT)
    body = {"loadbalancer_id": root["id"], "protocol": "TERMINATED_HTTPS", "protocol_port": port, **fields}
    return await client.http.post("/v2.0/lbaas/listeners", json={"listener": body})


async def test_a_self_signed_certificate_is_served_until_one_is_issued(api: Client, store: SqlStore) -> None:
    made = await listener(api, default_tls_container_ref=f"{REFERENCE}?self_signed")
    assert made.status_code == 201
    assert made.json()["listener"]["default_tls_container_ref"] == f"{REFERENCE}?self_signed"
    (request,) = await store.acme.list_requested_certificates(PROJECT)
    assert (request.name, request.names, request.reference) == (OWN_NAME, ("www.example.org", "example.org"), REFERENCE)
    both = {"default_tls_container_ref": REFERENCE, "sni_container_refs": [f"{REFERENCE}?self_signed"]}
    assert (await listener(api, **both)).status_code == 201
    assert len(await store.acme.list_requested_certificates(PROJECT)) == 1


async def issue(manager: DirectoryKeyManager) -> None:
    """Put a certificate where the controllers store the issued one."""
    issued = await KeyPairs().self_signed(["www.example.org"], days=1)
    new = NewCertificate(project_id=PROJECT, name=OWN_NAME, kind=CertificateKind.CERTIFICATE, content=issued)
    await manager.add(new, replace=False)


async def note(store: SqlStore, progress: AcmeProgress) -> None:
    """A controller has taken a step of the only request."""
    (taken,) = await store.acme.take_due_certificates(limit=1, lease_seconds=60.0)
    await store.acme.store_progress(taken, AdvancedProgress(progress, 5.0), lease_seconds=60.0)


async def test_a_new_listener_is_pending_until_its_certificate_is_issued(
    api: Client, store: SqlStore, manager: DirectoryKeyManager
) -> None:
    made = await listener(api, default_tls_container_ref=REFERENCE)
    assert made.status_code == 201
    assert made.json()["listener"]["provisioning_status"] == "PENDING_CREATE"
    assert [one.reference for one in await store.acme.list_requested_certificates(PROJECT)] == [REFERENCE]
    (due,) = await store.renewals.take_due_certificates(limit=9)
    assert due.reference == REFERENCE
    (root,) = made.json()["listener"]["loadbalancers"]
    shown = (await api.http.get(f"/evenkeel/v1/loadbalancers/{root['id']}/agent")).json()["hosting"]
    assert "is waiting: the order is under way; its listeners wait for it" in shown["operating_reason"]
    tree = (await api.http.get(f"/evenkeel/v1/loadbalancers/{root['id']}/tree")).json()["tree"]
    assert tree["status_reason"] == shown["operating_reason"]
    assert await store.acme.request_removal(PROJECT, OWN_NAME)
    shown = (await api.http.get(f"/evenkeel/v1/loadbalancers/{root['id']}/agent")).json()["hosting"]
    assert shown["operating_reason"].endswith("is missing, and its listeners wait: it is not requested")


async def test_a_new_load_balancer_with_such_a_listener_is_accepted(api: Client, store: SqlStore) -> None:
    secure = {"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "sni_container_refs": [REFERENCE]}
    made = await api.load_balancer(project_id=PROJECT, listeners=[secure | {"default_tls_container_ref": REFERENCE}])
    assert made["provisioning_status"] == "PENDING_CREATE"
    assert len(await store.acme.list_requested_certificates(PROJECT)) == 1


async def settle(store: SqlStore) -> None:
    """Devices have applied everything."""
    for table in (schema.load_balancer, schema.listener):
        await store.database.write(
            lambda c, table=table: c.execute(table.update().values(provisioning_status="ACTIVE"))
        )


async def test_a_listener_that_exists_is_pending_with_what_it_serves_until_its_certificate_is_issued(
    api: Client, store: SqlStore, manager: DirectoryKeyManager
) -> None:
    served = "acme://other.example?self_signed"
    made = (await listener(api, default_tls_container_ref=served)).json()["listener"]
    await settle(store)
    change = {"listener": {"default_tls_container_ref": REFERENCE}}
    answer = await api.http.put(f"/v2.0/lbaas/listeners/{made['id']}", json=change)
    assert answer.status_code == 200
    shown = answer.json()["listener"]
    assert (shown["default_tls_container_ref"], shown["provisioning_status"]) == (REFERENCE, "PENDING_UPDATE")
    assert "served_container_refs" not in shown
    stored: Listener = await store.tenants.get(Listener, made["id"], project_id=None)
    assert stored.served_container_refs == (served,)
    (root,) = shown["loadbalancers"]
    hosting = (await api.http.get(f"/evenkeel/v1/loadbalancers/{root['id']}/agent")).json()["hosting"]
    assert "is waiting: the order is under way; its listeners wait for it" in hosting["operating_reason"]


async def test_a_listener_that_exists_gets_a_certificate_that_is_issued_at_once(
    api: Client, store: SqlStore, manager: DirectoryKeyManager
) -> None:
    made = (await listener(api, default_tls_container_ref="acme://other.example?self_signed")).json()["listener"]
    await settle(store)
    await issue(manager)
    change = {"listener": {"default_tls_container_ref": REFERENCE}}
    assert (await api.http.put(f"/v2.0/lbaas/listeners/{made['id']}", json=change)).status_code == 200
    stored: Listener = await store.tenants.get(Listener, made["id"], project_id=None)
    assert stored.served_container_refs == ()


@pytest.mark.parametrize(
    "progress",
    [AcmeProgress(problem="refused", failures=1), AcmeProgress(problem="refused", not_after=2e9)],
    ids=["failed", "issued and gone"],
)
async def test_a_new_listener_does_not_wait_for_what_does_not_come_soon(
    api: Client, store: SqlStore, manager: DirectoryKeyManager, progress: AcmeProgress
) -> None:
    assert (await listener(api, default_tls_container_ref=REFERENCE)).status_code == 201
    await note(store, progress)
    refused = await listener(api, default_tls_container_ref=REFERENCE)
    assert refused.status_code == 400 and "refused" in refused.text
    await issue(manager)
    assert (await listener(api, default_tls_container_ref=REFERENCE)).status_code == 201


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("acme://*.example.org", "acme://NAME"),
        ("acme://a.example,b.example,c.example?self_signed", "1 to 2"),
        ("acme://a.example?wildcard", "acme://NAME"),
        ("acme://WWW.example.org", "in lower case, as acme://www.example.org"),
        ("acme://internal@www.example.org", "should be acme://NAME"),
    ],
)
async def test_an_invalid_reference_is_refused(api: Client, store: SqlStore, reference: str, told: str) -> None:
    answer = await listener(api, default_tls_container_ref=reference)
    assert answer.status_code == 400 and told in answer.text
    assert await store.acme.list_requested_certificates(None) == ()


async def test_a_reference_of_another_attribute_is_refused(api: Client, store: SqlStore) -> None:
    root = await api.load_balancer(project_id=PROJECT)
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True}
    pool = {"pool": {**body, "tls_container_ref": f"{REFERENCE}?self_signed"}}
    answer = await api.http.post("/v2.0/lbaas/pools", json=pool)
    assert answer.status_code == 400 and "default_tls_container_ref" in answer.text
    assert await store.acme.list_requested_certificates(None) == ()


@pytest.mark.parametrize(
    ("options", "told"),
    [({"authority": False}, "no authority"), ({"challenges": False}, "do not answer an authority's challenges")],
)
async def test_a_reference_that_nothing_could_issue_is_refused(
    store: SqlStore, sink: Sink, manager: DirectoryKeyManager, options: dict[str, bool], told: str
) -> None:
    async with client_of(store, sink, manager, **options) as client:
        answer = await listener(client, default_tls_container_ref=f"{REFERENCE}?self_signed")
    assert answer.status_code == 400 and told in answer.text
    assert await store.acme.list_requested_certificates(None) == ()


async def test_a_projects_limit_of_certificates_holds_for_references(api: Client) -> None:
    answers = [
        await listener(api, default_tls_container_ref=f"acme://{name}.example?self_signed") for name in ("a", "b", "c")
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 409]


async def test_the_problem_of_a_request_is_told_on_the_load_balancer(api: Client, store: SqlStore) -> None:
    made = (await listener(api, default_tls_container_ref=f"{REFERENCE}?self_signed")).json()["listener"]
    (root,) = made["loadbalancers"]
    await note(store, AcmeProgress(problem="www.example.org has no address in the DNS.", waits=1))
    shown = (await api.http.get(f"/evenkeel/v1/loadbalancers/{root['id']}/agent")).json()["hosting"]
    assert "is waiting: www.example.org has no address in the DNS." in shown["operating_reason"]
    assert shown["remedy"].endswith(f"evenkeel certificate show directory://{PROJECT}/{OWN_NAME}")


async def test_imports_and_mirrors_request_nothing(api: Client, store: SqlStore) -> None:
    secure = {"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": REFERENCE}
    secure |= {"id": "5f1c7d7a-2c0e-4c5e-9d6b-8a3f1e2d4c5b"}
    there = whole(
        vip_subnet_id=SUBNET.id, vip_network_id=SUBNET.network_id, vip_address="10.10.7.5", listeners=[secure]
    )
    told = f"default_tls_container_ref {REFERENCE}: imports and mirrors request no certificates"
    imported = await api.put(f"/evenkeel/v1/imports/loadbalancers/{LB}", {"loadbalancer": there, "apply": True}, 400)
    assert told in str(imported)
    put = {"snapshot": 1.0, "digest": "d", "loadbalancer": there}
    assert told in str(await api.put(f"{MIRROR}/loadbalancers/{LB}", put, 400))
    assert await store.acme.list_requested_certificates(None) == ()


async def test_listeners_of_lbaas_v2_wait_for_their_certificate_too(api: Client, store: SqlStore) -> None:
    root = await api.load_balancer(project_id=PROJECT)
    body = {"loadbalancer_id": root["id"], "protocol": "TERMINATED_HTTPS", "protocol_port": 443}
    new = {"listener": {**body, "default_tls_container_ref": REFERENCE, "tenant_id": PROJECT}}
    made = (await api.post("/neutron/v2.0/lbaas/listeners", new))["listener"]
    assert made["default_tls_container_ref"] == REFERENCE
    assert [one.reference for one in await store.acme.list_requested_certificates(PROJECT)] == [REFERENCE]
    stored: Listener = await store.tenants.get(Listener, made["id"], project_id=None)
    assert stored.provisioning_status is ProvisioningStatus.PENDING_CREATE


async def flavor(client: Client, authority: str, expected: int = 201) -> str:
    """A flavor that names the authority; its id, or the refusal of its profile."""
    data = json.dumps({"acme_authority": authority})
    profile = {"name": authority, "provider_name": "dev", "flavor_data": data}
    answer = await client.http.post("/v2.0/lbaas/flavorprofiles", json={"flavorprofile": profile})
    assert answer.status_code == expected, answer.text
    if expected != 201:
        return answer.text
    made = {"name": authority, "flavor_profile_id": answer.json()["flavorprofile"]["id"]}
    return str((await client.post("/v2.0/lbaas/flavors", {"flavor": made}))["flavor"]["id"])


async def secure(client: Client, load_balancer_id: str, **fields: Any) -> Any:
    body = {"loadbalancer_id": load_balancer_id, "protocol": "TERMINATED_HTTPS", "protocol_port": 443, **fields}
    return await client.http.post("/v2.0/lbaas/listeners", json={"listener": body})


async def test_a_flavor_names_the_authority_and_tenants_do_not_see_it(api: Client, store: SqlStore) -> None:
    flavor_id = await flavor(api, "internal")
    root = await api.load_balancer(project_id=PROJECT, flavor_id=flavor_id)
    both = {"default_tls_container_ref": REFERENCE, "sni_container_refs": ["acme://a.example?self_signed"]}
    made = await secure(api, root["id"], **both)
    assert made.status_code == 201
    shown = made.json()["listener"]
    assert {name: shown[name] for name in both} == both
    assert {one.authority for one in await store.acme.list_requested_certificates(PROJECT)} == {"internal"}
    await settle(store)
    # what tenants see can be written again, and requests nothing
    change = {"listener": {"default_tls_container_ref": shown["default_tls_container_ref"]}}
    assert (await api.http.put(f"/v2.0/lbaas/listeners/{shown['id']}", json=change)).status_code == 200
    assert len(await store.acme.list_requested_certificates(PROJECT)) == 2


async def test_a_new_load_balancer_requests_certificates_of_its_flavors_authority(api: Client, store: SqlStore) -> None:
    tls = {"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": REFERENCE}
    made = await api.load_balancer(project_id=PROJECT, flavor_id=await flavor(api, "internal"), listeners=[tls])
    assert made["listeners"][0]["default_tls_container_ref"] == REFERENCE
    other = await api.load_balancer(project_id=PROJECT)
    assert (await secure(api, other["id"], default_tls_container_ref=REFERENCE)).status_code == 201
    found = {one.authority: one.name for one in await store.acme.list_requested_certificates(PROJECT)}
    assert sorted(found) == ["default", "internal"] and len(set(found.values())) == 2


async def test_another_flavor_requests_from_its_authority_and_what_is_served_stays(
    api: Client, store: SqlStore, manager: DirectoryKeyManager
) -> None:
    root = await api.load_balancer(project_id=PROJECT)
    await issue(manager)
    made = (await secure(api, root["id"], default_tls_container_ref=REFERENCE)).json()["listener"]
    plain = (await secure(api, root["id"], protocol="HTTP", protocol_port=80)).json()["listener"]
    await settle(store)
    resize = {"new_flavor_id": await flavor(api, "internal")}
    assert (await api.http.put(f"/v2.0/lbaas/loadbalancers/{root['id']}/resize", json=resize)).status_code == 202
    stored: Listener = await store.tenants.get(Listener, made["id"], project_id=None)
    assert (stored.served_container_refs, stored.provisioning_status) == ((REFERENCE,), "PENDING_UPDATE")
    assert sorted(one.authority for one in await store.acme.list_requested_certificates(PROJECT)) == [
        "default",
        "internal",
    ]
    assert (await api.get(f"/v2.0/lbaas/listeners/{made['id']}"))["listener"]["default_tls_container_ref"] == REFERENCE
    other: Listener = await store.tenants.get(Listener, plain["id"], project_id=None)
    assert other.provisioning_status == "ACTIVE"
    await settle(store)
    # the same flavor again changes nothing
    assert (await api.http.put(f"/v2.0/lbaas/loadbalancers/{root['id']}/resize", json=resize)).status_code == 202
    assert (await store.tenants.get(Listener, made["id"], project_id=None)).provisioning_status == "ACTIVE"


async def test_an_unknown_authority_is_refused_with_its_name(api: Client, store: SqlStore) -> None:
    told = await flavor(api, "unknown", expected=400)
    assert "unknown is not a valid option for flavor_data: acme_authority should be one of default, internal" in told
    root = await api.load_balancer(project_id=PROJECT, flavor_id=await flavor(api, "theirs"))
    refused = await secure(api, root["id"], default_tls_container_ref=REFERENCE)
    assert refused.status_code == 400
    assert "the load balancer's flavor names the certificate authority theirs" in refused.text
    assert await store.acme.list_requested_certificates(PROJECT) == ()
