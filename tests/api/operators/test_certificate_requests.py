"""Requests for certificates by names: checked and answered at once, shown with their state, and deleted."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from evenkeel.acme_client.key_pairs import KeyPairs
from evenkeel.api.app import Application, create_app
from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import Store
from evenkeel.core.tls.acme.authorities import AuthorityScope
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import ACME_PROJECT, AcmeProgress, AcmeState
from evenkeel.core.tls.acme.zones import ZoneScope
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.key_managers.authority import LEAF

BASE = "/evenkeel/v1/certificates"
AUTHORITIES = (
    AuthorityScope(name="default"),
    AuthorityScope(name="own", projects=(ProjectId("p2"),)),
    AuthorityScope(name="second"),
)
ZONES = (
    ZoneScope(zone="zone.example", projects=(ProjectId("p1"),)),
    ZoneScope(zone="xn--bcher-kva.example", projects=(ProjectId("p1"),)),
)


@pytest.fixture
def manager(tmp_path: Path) -> DirectoryKeyManager:
    return DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))


@pytest.fixture
def app(store: Store, sink: Sink, manager: DirectoryKeyManager) -> Application:
    """The application, with an authority that is never connected to."""
    return create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        certificates=manager,
        key_manager=manager,
        acme=AcmeRequests(maker=KeyPairs(), authorities=AUTHORITIES, names_max=3, per_project_max=2, zones=ZONES),
    )


def body(**fields: Any) -> dict[str, Any]:
    usual = {"project_id": "p1", "name": "www", "names": ["WWW.example.org", "bücher.example"]}
    return {"certificate": {name: value for name, value in {**usual, **fields}.items() if value is not None}}


async def test_a_request_is_stored_and_shown_as_waiting(api: Client) -> None:
    answer = await api.http.post(BASE, json=body())
    shown = answer.json()["certificate"]
    assert answer.status_code == 201
    assert shown["names"] == ["www.example.org", "xn--bcher-kva.example"]
    assert (shown["state"], shown["problem"], shown["reference"]) == ("waiting", None, "directory://p1/www")
    assert shown["sha256"] == "" and shown["next_attempt_at"]
    assert (await api.http.get(f"{BASE}/p1/www")).json()["certificate"] == shown
    assert (await api.http.get(BASE)).json() == {"certificates": [shown]}
    kinds = [event["kind"] for event in (await api.http.get("/evenkeel/v1/events")).json()["events"]]
    assert "certificate_requested" in kinds


async def test_wildcards_in_zones_of_the_project_are_accepted(api: Client) -> None:
    names = ["*.zone.example", "zone.example", "*.bücher.example"]
    answer = await api.http.post(BASE, json=body(names=names, self_signed_until_issued=True))
    assert answer.status_code == 201
    assert answer.json()["certificate"]["names"] == ["*.zone.example", "zone.example", "*.xn--bcher-kva.example"]


async def test_a_self_signed_certificate_can_be_used_at_once(api: Client, manager: DirectoryKeyManager) -> None:
    shown = (await api.http.post(BASE, json=body(self_signed_until_issued=True))).json()["certificate"]
    assert shown["sha256"] and shown["state"] == "waiting"
    bundle = await manager.certificate("directory://p1/www", ProjectId("p1"))
    certificate = x509.load_pem_x509_certificate(bundle.certificate.encode())
    assert certificate.issuer == certificate.subject
    assert shown["dns_names"] == shown["names"]


@pytest.mark.parametrize(
    ("project", "named", "used"),
    [("p1", None, "default"), ("p1", "second", "second"), ("p2", None, "own"), ("p2", "second", "second")],
)
async def test_the_authority_is_the_projects_own_or_the_named_one(
    api: Client, project: str, named: str | None, used: str
) -> None:
    answer = await api.http.post(BASE, json=body(project_id=project, authority=named))
    assert answer.json()["certificate"]["authority"] == used


async def test_of_1000_requests_of_a_project_its_limit_is_accepted_and_another_project_is_served(
    api: Client, manager: DirectoryKeyManager
) -> None:
    bodies = [body(name=f"n{number}", names=[f"n{number}.example.org"]) for number in range(1000)]
    answers = [(await api.http.post(BASE, json=each)).status_code for each in bodies]
    assert Counter(answers) == {201: 2, 409: 998}
    assert (await api.http.post(BASE, json=body(project_id="p2"))).status_code == 201
    assert len((await api.http.get(BASE)).json()["certificates"]) == 3
    assert await manager.list_certificates(None) == ()


async def test_the_problem_of_a_request_is_shown(api: Client, store: Store) -> None:
    await api.http.post(BASE, json=body())
    (taken,) = await store.acme.take_due_certificates(limit=1, lease_seconds=60.0)
    failed = AcmeProgress(state=AcmeState.FAILED, problem="www.example.org: 404", failures=1)
    await store.acme.store_progress(taken, AdvancedProgress(failed, 300.0), lease_seconds=60.0)
    shown = (await api.http.get(f"{BASE}/p1/www")).json()["certificate"]
    assert (shown["state"], shown["problem"]) == ("failed", "www.example.org: 404")


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"names": []}, 400, "names"),
        ({"names": ["a.example"] * 2}, 400, "repetitions"),
        ({"names": ["*.example.org"]}, 400, "'*.example.org'"),
        ({"names": ["*.zone.example"], "project_id": "p2"}, 400, "'*.zone.example'. Value should be DNS names"),
        ({"names": ["*.*.zone.example"]}, 400, "'*.*.zone.example'"),
        ({"names": ["192.0.2.1"]}, 400, "'192.0.2.1'"),
        ({"names": ["a\u2028b.example"]}, 400, "names"),
        ({"names": [f"{number}.example" for number in range(4)]}, 400, "1 to 3"),
        ({"authority": "own"}, 400, "Value: 'own'. Value should be default, second."),
        ({"names": None, "pem": LEAF.pem.decode(), "authority": "second"}, 400, "authority needs names"),
        ({"pem": "x"}, 400, "names cannot be given with pem"),
        ({"passphrase": "x"}, 400, "names cannot be given with passphrase"),
        ({"kind": "authority"}, 400, "kind authority"),
        ({"project_id": ACME_PROJECT}, 400, "project_id"),
        ({"names": None, "pem": LEAF.pem.decode(), "self_signed_until_issued": True}, 400, "needs names"),
        ({"names": None, "pem": LEAF.pem.decode(), "project_id": ACME_PROJECT}, 400, "project_id"),
    ],
)
async def test_an_invalid_request_is_refused_with_field_and_value(
    api: Client, fields: dict[str, Any], status: int, told: str
) -> None:
    answer = await api.http.post(BASE, json=body(**fields))
    assert answer.status_code == status and told in answer.text
    assert (await api.http.get(BASE)).json() == {"certificates": []}


async def test_a_taken_name_is_refused_for_both_forms(api: Client, store: Store) -> None:
    uploaded = {"name": "www", "project_id": "p1", "pem": (LEAF.pem + LEAF.key_pem()).decode()}
    await api.http.post(BASE, json={"certificate": uploaded})
    assert (await api.http.post(BASE, json=body())).status_code == 409
    assert (await api.http.post(BASE, json=body(replace=True))).status_code == 201
    assert (await api.http.post(BASE, json=body(replace=True))).status_code == 409
    overwritten = await api.http.post(BASE, json={"certificate": {**uploaded, "replace": True}})
    assert overwritten.status_code == 409 and "requested from the authority" in overwritten.text


async def test_more_than_a_projects_limit_is_refused(api: Client) -> None:
    answers = [(await api.http.post(BASE, json=body(name=name))).status_code for name in ("a", "b", "c")]
    assert answers == [201, 201, 409]


async def test_a_deleted_request_is_gone_with_its_certificate(api: Client) -> None:
    await api.http.post(BASE, json=body(self_signed_until_issued=True))
    await api.http.post(BASE, json=body(name="bare"))
    for name in ("www", "bare"):
        assert (await api.http.delete(f"{BASE}/p1/{name}")).status_code == 204
        assert (await api.http.get(f"{BASE}/p1/{name}")).status_code == 404
        assert (await api.http.delete(f"{BASE}/p1/{name}")).status_code == 404


async def test_the_controllers_own_keys_are_neither_listed_nor_shown_nor_deleted(
    api: Client, manager: DirectoryKeyManager
) -> None:
    pair = await KeyPairs().self_signed(["account"], days=1)
    new = NewCertificate(project_id=ACME_PROJECT, name="account", kind=CertificateKind.CERTIFICATE, content=pair)
    await manager.add(new, replace=False)
    assert (await api.http.get(BASE)).json() == {"certificates": []}
    assert (await api.http.get(f"{BASE}/{ACME_PROJECT}/account")).status_code == 400
    assert (await api.http.delete(f"{BASE}/{ACME_PROJECT}/account")).status_code == 400


async def test_requests_are_refused_without_an_authority(
    store: Store, sink: Sink, manager: DirectoryKeyManager
) -> None:
    network = BuiltinNetwork(store.operators)
    bare = create_app(store=store, network=network, driver=sink, default_provider="dev", certificates=manager)
    async with Client.of(bare) as client:
        answer = await client.http.post(BASE, json=body())
        assert answer.status_code == 501 and "acme.directory_url" in answer.text
