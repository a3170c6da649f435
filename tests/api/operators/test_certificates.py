"""The operators' routes for certificates: added, listed, shown, replaced, forgotten; keys go in and never come out."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.app import Application, create_app
from evenkeel.core.ports import Store
from evenkeel.key_managers.directory import DirectoryKeyManager, Encryption
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.key_managers.authority import INTERMEDIATE, LEAF, ROOT, STRANGER

BASE = "/evenkeel/v1/certificates"
KEY = LEAF.key_pem().decode()
CANARY = KEY.splitlines()[1]


@pytest.fixture
def app(store: Store, sink: Sink, tmp_path: Path) -> Application:
    """The application, with a directory to keep certificates in."""
    manager = DirectoryKeyManager(tmp_path / "certificates", Encryption([bytes(32)]))
    network = BuiltinNetwork(store.operators)
    return create_app(store=store, network=network, driver=sink, default_provider="dev", certificates=manager)


@pytest.fixture
async def without(store: Store, sink: Sink) -> AsyncIterator[Client]:
    """The application where no key manager is configured."""
    network = BuiltinNetwork(store.operators)
    async with Client.of(create_app(store=store, network=network, driver=sink, default_provider="dev")) as client:
        yield client


def body(**fields: Any) -> dict[str, Any]:
    usual = {"project_id": "p1", "name": "www", "pem": (LEAF.pem + INTERMEDIATE.pem).decode(), "private_key": KEY}
    return {"certificate": {name: value for name, value in {**usual, **fields}.items() if value is not None}}


async def test_a_certificate_is_added_listed_shown_and_forgotten(api: Client) -> None:
    answer = await api.http.post(BASE, json=body())
    shown = answer.json()["certificate"]

    assert answer.status_code == 201
    assert shown.pop("sha256") and shown.pop("changed_at")
    assert shown == {
        "reference": "directory://p1/www",
        "project_id": "p1",
        "name": "www",
        "kind": "certificate",
        "subject": "CN=www.example.org",
        "issuer": "CN=intermediate",
        "dns_names": ["www.example.org", "*.example.org"],
        "addresses": [],
        "not_before": "2026-01-01T00:00:00",
        "not_after": "2036-01-01T00:00:00",
        "key_type": "ecdsa",
        "key_bits": 256,
        "warnings": None,
        "names": None,
        "authority": None,
        "state": None,
        "problem": None,
        "next_attempt_at": None,
    }
    whole = (await api.http.get(f"{BASE}/p1/www")).json()["certificate"]
    assert whole == answer.json()["certificate"]
    assert (await api.http.get(BASE)).json() == {"certificates": [whole]}
    assert (await api.http.get(f"{BASE}?project_id=p2")).json() == {"certificates": []}
    assert (await api.http.delete(f"{BASE}/p1/www")).status_code == 204
    assert (await api.http.delete(f"{BASE}/p1/www")).status_code == 404
    assert (await api.http.get(f"{BASE}/p1/www")).status_code == 404


async def test_a_name_that_is_taken_is_replaced_on_request(api: Client) -> None:
    assert (await api.http.post(BASE, json=body())).status_code == 201
    assert (await api.http.post(BASE, json=body())).status_code == 409
    assert (await api.http.post(BASE, json=body(replace=True))).status_code == 201


async def test_every_kind_and_form_is_taken(api: Client) -> None:
    pkcs12 = base64.b64encode(LEAF.pkcs12(INTERMEDIATE, passphrase=b"pw")).decode()
    for given in (
        body(name="a", pem=None, private_key=None, pkcs12=pkcs12, passphrase="pw"),
        body(name="b", pem=LEAF.pem.decode(), intermediates=INTERMEDIATE.pem.decode()),
        body(name="c", kind="authority", pem=ROOT.pem.decode(), private_key=None),
        body(name="d", kind="revocation_list", pem=ROOT.signed_list(1).decode(), private_key=None),
    ):
        answer = await api.http.post(BASE, json=given)
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"private_key": STRANGER.key_pem().decode()}, "directory://p1/www: Key and x509 certificate do not match."),
        ({"private_key": LEAF.key_pem(b"pw").decode()}, "Passphrase needed to decrypt key"),
        ({"pem": "rubbish"}, "Could not read X509 from PEM."),
        ({"pem": None}, "Either pem or pkcs12"),
        ({"pkcs12": "AAAA"}, "Either pem or pkcs12"),
        ({"pem": None, "pkcs12": "AAAA"}, "and nothing else"),
        ({"pem": None, "private_key": None, "pkcs12": "*"}, "base64"),
        ({"pem": None, "private_key": None, "pkcs12": "AAAA"}, "The PKCS12 bundle is unreadable."),
        ({"name": "../www"}, "field/attribute name. Value: '../www'"),
        ({"project_id": "a/b"}, "field/attribute project_id. Value: 'a/b'"),
        ({"kind": "authority", "pem": KEY}, "The CA certificate is invalid."),
        ({"private_key": [KEY]}, "field/attribute private_key. Value: '(hidden)'. Value should be: a string."),
        ({"passphrase": {"word": CANARY}}, "field/attribute passphrase. Value: '(hidden)'"),
    ],
)
async def test_refused_certificate_has_a_reason_without_the_key(api: Client, fields: dict[str, Any], told: str) -> None:
    answer = await api.http.post(BASE, json=body(**fields))

    assert answer.status_code == 400
    assert told in answer.json()["faultstring"]
    assert CANARY not in answer.text


async def test_a_body_of_another_shape_quotes_no_key(api: Client) -> None:
    for wrong in ({"certificate": [body()]}, [body()], {"certificate": KEY}):
        answer = await api.http.post(BASE, json=wrong)
        assert answer.status_code == 400
        assert CANARY not in answer.text


async def test_no_answer_holds_a_key(api: Client) -> None:
    texts = [(await api.http.post(BASE, json=body())).text]
    texts += [(await api.http.get(path)).text for path in (BASE, f"{BASE}/p1/www")]

    assert all(CANARY not in text and "PRIVATE KEY" not in text for text in texts)


async def test_damaged_certificate_file_is_unavailable(api: Client, tmp_path: Path) -> None:
    await api.http.post(BASE, json=body())
    damage(tmp_path)

    answer = await api.http.get(f"{BASE}/p1/www")
    assert answer.status_code == 503
    assert "cannot be decrypted" in answer.json()["faultstring"]


async def test_without_a_key_manager_the_routes_report_it(without: Client) -> None:
    for answer in (
        await without.http.get(BASE),
        await without.http.post(BASE, json=body()),
        await without.http.get(f"{BASE}/p1/www"),
        await without.http.delete(f"{BASE}/p1/www"),
    ):
        assert answer.status_code == 501
        assert "certificates.key_manager" in answer.json()["faultstring"]


def damage(folder: Path) -> None:
    for path in folder.rglob("*.sealed"):
        path.write_bytes(b"damaged")


async def test_oddities_of_added_files_are_in_the_answer(api: Client) -> None:
    odd = body(pem=(STRANGER.pem + INTERMEDIATE.pem + LEAF.pem).decode())
    shown = (await api.http.post(BASE, json=odd)).json()["certificate"]
    assert shown["warnings"] == [
        "The certificates are not in the order of the chain; they are served as 3, 2.",
        "Certificate 1 is not of the chain, and is not served.",
    ]
    kept = (await api.http.get(f"{BASE}/p1/www")).json()["certificate"]
    assert (kept["sha256"], kept["warnings"]) == (shown["sha256"], None)
