"""Tenants request, see and delete certificates of their own project, and nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.acme_client.key_pairs import KeyPairs
from evenkeel.api.app import create_app
from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.core.ports import Store
from evenkeel.core.tls.acme.authorities import AuthorityScope
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import AcmeProgress, AcmeState, AcmeStep
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.personas import MEMBER, OPERATOR, OTHER, PROJECT, READER, STRANGER, Persona
from tests.key_managers.authority import LEAF

BASE = "/evenkeel/v1/certificates"


@pytest.fixture
async def api(store: Store, sink: Sink, tmp_path: Path) -> AsyncIterator[Client]:
    manager = DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))
    scopes = (AuthorityScope(name="default"),)
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        identity=TrustedHeaders(),
        certificates=manager,
        key_manager=manager,
        acme=AcmeRequests(maker=KeyPairs(), authorities=scopes, names_max=3, per_project_max=2),
    )
    async with Client.of(app) as client:
        yield client


async def request(api: Client, persona: Persona, name: str = "www", **fields: Any) -> Any:
    body = {"project_id": PROJECT, "name": name, "names": ["www.example.org"], **fields}
    return await api.http.post(BASE, json={"certificate": body}, headers=persona.headers)


async def upload(api: Client, persona: Persona, name: str, project: str = PROJECT) -> Any:
    body = {"project_id": project, "name": name, "pem": (LEAF.pem + LEAF.key_pem()).decode()}
    return await api.http.post(BASE, json={"certificate": body}, headers=persona.headers)


async def listed(api: Client, persona: Persona, query: str = "") -> list[str]:
    answer = await api.http.get(f"{BASE}{query}", headers=persona.headers)
    assert answer.status_code == 200, answer.text
    return [each["reference"] for each in answer.json()["certificates"]]


async def test_a_member_requests_sees_and_deletes_certificates_of_the_project(api: Client) -> None:
    assert (await request(api, MEMBER)).status_code == 201
    assert (await upload(api, OPERATOR, "foreign", OTHER)).status_code == 201
    assert await listed(api, MEMBER) == await listed(api, READER) == [f"directory://{PROJECT}/www"]
    assert len(await listed(api, OPERATOR)) == 2
    shown = await api.http.get(f"{BASE}/{PROJECT}/www", headers=READER.headers)
    assert shown.json()["certificate"]["state"] == "waiting"
    assert (await api.http.delete(f"{BASE}/{PROJECT}/www", headers=READER.headers)).status_code == 403
    assert (await api.http.delete(f"{BASE}/{PROJECT}/www", headers=MEMBER.headers)).status_code == 204
    assert await listed(api, MEMBER) == []


async def test_a_reader_requests_nothing(api: Client) -> None:
    assert (await request(api, READER)).status_code == 403


async def test_a_member_of_another_project_has_no_part_in_them(api: Client) -> None:
    await request(api, MEMBER)
    assert (await request(api, STRANGER, "other")).status_code == 403
    assert await listed(api, STRANGER) == await listed(api, STRANGER, f"?project_id={PROJECT}") == []
    for method in ("GET", "DELETE"):
        answer = await api.http.request(method, f"{BASE}/{PROJECT}/www", headers=STRANGER.headers)
        assert answer.status_code == 404
    assert await listed(api, MEMBER) == [f"directory://{PROJECT}/www"]


async def test_a_member_neither_adds_files_nor_removes_what_operators_added(api: Client) -> None:
    refused = await upload(api, MEMBER, "own")
    assert refused.status_code == 400 and "tenants request certificates" in refused.text
    await upload(api, OPERATOR, "www")
    replacing = await request(api, MEMBER, replace=True)
    assert replacing.status_code == 409 and "was added by an operator" in replacing.text
    assert (await api.http.delete(f"{BASE}/{PROJECT}/www", headers=MEMBER.headers)).status_code == 409
    assert await listed(api, MEMBER) == [f"directory://{PROJECT}/www"]
    assert (await request(api, OPERATOR, replace=True)).status_code == 201


async def test_a_project_has_no_more_requests_than_its_limit(api: Client) -> None:
    assert [(await request(api, MEMBER, name)).status_code for name in ("a", "b", "c")] == [201, 201, 409]


async def test_an_issued_certificate_is_revoked_by_its_project_alone(api: Client, store: Store) -> None:
    path, body = f"{BASE}/{PROJECT}/www/revoke", {"revocation": {"reason": "keyCompromise"}}
    assert (await api.http.put(path, json=body, headers=MEMBER.headers)).status_code == 404
    await request(api, MEMBER)
    assert (await api.http.put(path, json=body, headers=MEMBER.headers)).status_code == 409
    (taken,) = await store.acme.take_due_certificates(limit=1, lease_seconds=60.0)
    issued = AcmeProgress(state=AcmeState.ISSUED, not_after=4e9)
    await store.acme.store_progress(taken, AdvancedProgress(issued, 86_400.0), lease_seconds=60.0)
    wrong = await api.http.put(path, json={"revocation": {"reason": "other"}}, headers=MEMBER.headers)
    assert wrong.status_code == 400
    assert (await api.http.put(path, json=body, headers=STRANGER.headers)).status_code == 404
    assert (await api.http.put(path, json=body, headers=READER.headers)).status_code == 403
    assert (await api.http.put(path, json=body, headers=MEMBER.headers)).status_code == 200
    (revoking,) = await store.acme.take_due_certificates(limit=1, lease_seconds=60.0)
    assert (revoking.progress.step, revoking.progress.revocation) == (AcmeStep.REVOKE, "keyCompromise")
    (act,) = [event for event in await store.operators.events() if event.kind == "certificate_revocation_requested"]
    assert act.text.startswith(f"certificate www of project {PROJECT} is to be revoked")
