"""``evenkeel certificate …``: what is sent of which files, and what is shown."""

import json
from pathlib import Path

import pytest

from evenkeel.cli import certificates
from evenkeel.key_managers import directory, vault
from tests.cli.conftest import Run
from tests.cli.stub import Stub

SHOWN = {"reference": "directory://p1/www", "kind": "certificate", "subject": "CN=www", "dns_names": ["www"]}


def test_files_are_sent_as_what_they_are(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    stub.on("POST", "/certificates", {"certificate": SHOWN}, status=201)
    pem, pkcs12, word = tmp_path / "pem", tmp_path / "p12", tmp_path / "word"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    pkcs12.write_bytes(b"\x30\x82")
    word.write_text("secret word\nand more\n")

    add = ("certificate", "add", "www", "--project", "p1", "-f", "json", "--file")
    ran = evenkeel(*add, str(pem), "--private-key", str(pem))
    assert (ran.code, json.loads(ran.out)["reference"]) == (0, "directory://p1/www")
    evenkeel(*add, str(pkcs12), "--passphrase-file", str(word), "--replace")

    usual = {"name": "www", "project_id": "p1", "kind": "certificate"}
    assert [body["certificate"] for _, _, body in stub.asked] == [
        {**usual, "replace": False, "pem": pem.read_text(), "private_key": pem.read_text()},
        {**usual, "replace": True, "pkcs12": "MII=", "passphrase": "secret word"},
    ]


def test_oddities_of_added_files_are_warnings(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    stub.on("POST", "/certificates", {"certificate": {**SHOWN, "warnings": ["Certificate 3 is odd.\x1b"]}}, status=201)
    (tmp_path / "pem").write_text("-----BEGIN CERTIFICATE-----")
    ran = evenkeel("certificate", "add", "www", "--project", "p1", "--file", str(tmp_path / "pem"), "-f", "json")
    assert (ran.code, ran.err) == (0, "warning: Certificate 3 is odd.\\x1b\n")
    assert "warnings" not in json.loads(ran.out)


def test_a_certificate_is_requested_by_names(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/certificates", {"certificate": {**SHOWN, "state": "waiting"}}, status=201)
    request = ("certificate", "request", "www", "--project", "p1", "--names", "a.example, b.example", "-f", "json")
    assert json.loads(evenkeel(*request).out)["state"] == "waiting"
    assert evenkeel(*request, "--self-signed-until-issued", "--replace", "--authority", "internal").code == 0
    usual = {"name": "www", "project_id": "p1", "names": ["a.example", "b.example"]}
    assert [body["certificate"] for _, _, body in stub.asked] == [
        {**usual, "self_signed_until_issued": False, "replace": False},
        {**usual, "self_signed_until_issued": True, "replace": True, "authority": "internal"},
    ]


def test_certificates_are_listed_shown_and_deleted(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/certificates?project_id=p1", {"certificates": [SHOWN]})
    stub.on("GET", "/certificates/p1/www", {"certificate": SHOWN})
    stub.on("DELETE", "/certificates/p1/www", None, status=204)

    assert json.loads(evenkeel("certificate", "list", "--project", "p1", "-f", "json").out)[0]["subject"] == "CN=www"
    assert json.loads(evenkeel("certificate", "show", "directory://p1/www", "-f", "json").out)["kind"] == "certificate"
    assert evenkeel("certificate", "delete", "directory://p1/www").code == 0

    stub.on("PUT", "/certificates/p1/www/revoke", {"certificate": SHOWN})
    assert evenkeel("certificate", "revoke", "directory://p1/www", "--reason", "keyCompromise").code == 0
    assert stub.asked[-1][2] == {"revocation": {"reason": "keyCompromise"}}


def test_references_of_all_key_managers_that_operators_write_to_are_taken() -> None:
    assert {f"{directory.SCHEME}://", f"{vault.SCHEME}://"} == set(certificates.REFERENCE_SCHEMES)


def test_certificate_in_vault_is_shown_and_deleted_by_its_reference(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/certificates/p1/www", {"certificate": {**SHOWN, "reference": "vault://p1/www"}})
    stub.on("DELETE", "/certificates/p1/www", None, status=204)
    assert evenkeel("certificate", "show", "vault://p1/www").code == 0
    assert evenkeel("certificate", "delete", "vault://p1/www").code == 0


@pytest.mark.parametrize(
    "reference", ["www", "p1/www", "directory://p1", "vault:///www", "https://p1/www", "directory://p1/"]
)
def test_invalid_reference_is_refused(stub: Stub, evenkeel: Run, reference: str) -> None:
    ran = evenkeel("certificate", "show", reference)

    assert ran.code == 2
    assert "directory://PROJECT/NAME" in ran.err
    assert stub.asked == []


def test_files_that_cannot_be_sent_are_refused(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    large, binary = tmp_path / "large", tmp_path / "binary"
    large.write_bytes(b"x" * (1024 * 1024 + 1))
    binary.write_bytes(b"-----BEGIN \xff")
    for path, told in ((tmp_path / "none", "No such file"), (large, "bytes"), (binary, "is not text")):
        ran = evenkeel("certificate", "add", "www", "--project", "p1", "--file", str(path))
        assert ran.code == 2
        assert told in ran.err
    assert stub.asked == []


def test_expiring_certificates_are_listed_for_all_key_managers(stub: Stub, evenkeel: Run) -> None:
    row = {"reference": "ref-1", "project_id": "p1", "subject": "CN=www", "not_after": "2027-01-01T00:00:00"}
    stub.on("GET", "/references?expiring_days=30", {"references": [row]})
    stub.on("GET", "/references?expiring_days=7&project_id=p1", {"references": []})

    listed = json.loads(evenkeel("certificate", "list", "--expiring", "-f", "json").out)
    assert listed[0]["reference"] == "ref-1"
    assert json.loads(evenkeel("certificate", "list", "--expiring", "7", "--project", "p1", "-f", "json").out) == []


def test_references_that_cannot_be_read_are_listed_with_the_reason(stub: Stub, evenkeel: Run) -> None:
    row = {"reference": "ref-1", "project_id": "p1", "problem": "404: no such secret"}
    stub.on("GET", "/references?unreadable=true&project_id=p1", {"references": [row]})
    listed = json.loads(evenkeel("certificate", "list", "--unreadable", "--project", "p1", "-f", "json").out)
    assert (listed[0]["reference"], listed[0]["problem"]) == ("ref-1", "404: no such secret")


def test_references_are_read_again(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/references/refresh", {"refresh": {"references": 3}}, status=202)

    assert json.loads(evenkeel("certificate", "refresh", "-f", "json").out) == {"references": 3}
    evenkeel("certificate", "refresh", "directory://p1/www")
    assert [body for _, _, body in stub.asked] == [
        {"refresh": {}},
        {"refresh": {"reference": "directory://p1/www"}},
    ]


def test_list_shows_states_only_where_a_certificate_was_requested(stub: Stub, evenkeel: Run) -> None:
    requested = SHOWN | {"state": "waiting", "problem": "www.example.org has no address"}
    stub.on("GET", "/certificates", {"certificates": [SHOWN]})
    assert "state" not in evenkeel("certificate", "list").out
    stub.on("GET", "/certificates", {"certificates": [SHOWN, requested]})
    out = evenkeel("certificate", "list").out
    assert "state" in out and "waiting" in out and "www.example.org has no address" in out
