from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from emulator_tests.authority import Authority, revocation_list
from emulator_tests.client import Backend, Client, exchange, free_port
from icontrol_emulator import Emulator

VIP = "127.0.8.3"


async def upload(device: Client, name: str, data: bytes) -> None:
    half = len(data) // 2
    for start, chunk in ((0, data[:half]), (half, data[half:])):
        span = f"{start}-{start + len(chunk) - 1}/{len(data)}"
        path = f"/mgmt/shared/file-transfer/uploads/{name}"
        answer = await device.send("POST", path, raw=chunk, **{"Content-Range": span})
        assert answer.status == 200
    assert answer.document["remainingByteCount"] == 0
    assert answer.document["localFilePath"] == f"/var/config/rest/downloads/{name}"


async def install(device: Client, name: str, leaf: trustme.LeafCert) -> None:
    await upload(device, f"{name}.crt", b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    await upload(device, f"{name}.key", leaf.private_key_pem.bytes())
    for kind, suffix in (("cert", "crt"), ("key", "key")):
        source = f"file:/var/config/rest/downloads/{name}.{suffix}"
        body = {"name": f"{name}.{suffix}", "partition": "P", "sourcePath": source}
        shown = await device.post(f"sys/file/ssl-{kind}", body)
        assert (shown["revision"], shown["checksum"].startswith("SHA1:")) == (1, True)
        assert "content" not in shown


async def test_uploaded_certificate_terminates_tls(device: Client, backend: Callable[..., Awaitable[Backend]]) -> None:
    authority = trustme.CA()
    await install(device, "site", authority.issue_cert("site.test"))
    pair = {"name": "site", "cert": "/P/site.crt", "key": "/P/site.key"}
    profile = await device.post("ltm/profile/client-ssl", {"name": "ssl", "partition": "P", "certKeyChain": [pair]})
    assert profile["cert"] == "/P/site.crt"
    assert profile["certKeyChain"][0]["certReference"]["link"].endswith("/sys/file/ssl-cert/~P~site.crt?ver=16.1.2")
    server, port = await backend("a"), free_port(VIP)
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": [f"127.0.0.1:{server.port}"]})
    body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": ["http", "ssl"]}
    await device.post("ltm/virtual", body)
    profiles = {item["name"]: item["context"] for item in (await device.get("ltm/virtual/~P~v/profiles"))["items"]}
    assert profiles["ssl"] == "clientside"
    context = ssl.create_default_context()
    authority.configure_trust(context)
    reader, writer = await asyncio.open_connection(VIP, port, ssl=context, server_hostname="site.test")
    assert (await exchange(reader, writer))[1] == "a"
    [counted] = (await device.get("ltm/profile/client-ssl/~P~ssl/stats"))["entries"].values()
    entries = counted["nestedStats"]["entries"]
    assert [entries[f"common.{name}"]["value"] for name in ("totNativeConns", "curConns")] == [1, 1]
    writer.close()
    await writer.wait_closed()


async def test_certificate_and_key_must_fit_and_change_together(device: Client) -> None:
    authority = trustme.CA()
    first, second = authority.issue_cert("a.test"), authority.issue_cert("b.test")
    await install(device, "site", first)
    pair = {"cert": "/P/site.crt", "key": "/P/site.key"}
    await device.post("ltm/profile/client-ssl", {"name": "ssl", "partition": "P", **pair})
    await upload(device, "new.crt", second.cert_chain_pems[0].bytes())
    await upload(device, "new.key", second.private_key_pem.bytes())
    number = await device.open_transaction()
    for kind in ("crt", "key"):
        path = f"sys/file/ssl-{'cert' if kind == 'crt' else 'key'}/~P~site.{kind}"
        body = {"sourcePath": f"file:/var/config/rest/downloads/new.{kind}"}
        if kind == "crt":
            alone = await device.send("PATCH", path, body)
            assert (alone.status, "do not match" in alone.message) == (400, True)
        await device.patch(path, body, transaction=number)
    assert (await device.commit(number)).status == 200
    assert (await device.get("sys/file/ssl-key/~P~site.key"))["revision"] == 2


async def test_certificate_in_use_cannot_be_deleted(device: Client) -> None:
    await install(device, "site", trustme.CA().issue_cert("a.test"))
    pair = {"cert": "/P/site.crt", "key": "/P/site.key"}
    await device.post("ltm/profile/client-ssl", {"name": "ssl", "partition": "P", **pair})
    refused = await device.send("DELETE", "sys/file/ssl-cert/~P~site.crt")
    assert (refused.status, refused.message) == (400, "01071349:3: File object by name (/P/site.crt) is in use.")
    await device.delete("ltm/profile/client-ssl/~P~ssl")
    await device.delete("sys/file/ssl-cert/~P~site.crt")


async def test_crypto_install(device: Client) -> None:
    leaf = trustme.CA().issue_cert("a.test")
    await upload(device, "c.crt", leaf.cert_chain_pems[0].bytes())
    body = {"command": "install", "name": "c.crt", "from-local-file": "/var/config/rest/downloads/c.crt"}
    await device.post("sys/crypto/cert", body)
    assert (await device.get("sys/file/ssl-cert/c.crt"))["fullPath"] == "/Common/c.crt"


async def test_file_tools_list_move_and_remove_uploads(device: Client) -> None:
    folder = "/var/config/rest/downloads"
    await device.send("POST", "/mgmt/shared/file-transfer/uploads/a", raw=b"x", **{"Content-Range": "0-0/1"})

    async def tool(name: str, words: str) -> tuple[str, str | None]:
        answer = await device.post(f"util/{name}", {"command": "run", "utilCmdArgs": words})
        return answer["kind"], answer.get("commandResult")

    assert await tool("unix-ls", f"{folder}/a") == ("tm:util:unix-ls:runstate", f"{folder}/a\n")
    assert await tool("unix-mv", f"{folder}/a {folder}/b") == ("tm:util:unix-mv:runstate", None)
    assert await tool("unix-ls", folder) == ("tm:util:unix-ls:runstate", "b\n")
    missing = f"cannot access {folder}/a: No such file or directory\n"
    assert (await tool("unix-ls", f"{folder}/a"))[1] == f"/bin/ls: {missing}"
    assert "No such file or directory" in str((await tool("unix-mv", f"{folder}/a {folder}/c"))[1])
    assert "missing destination file operand" in str((await tool("unix-mv", f"{folder}/a"))[1])
    assert await tool("unix-rm", f"{folder}/b") == ("tm:util:unix-rm:runstate", None)
    assert await tool("unix-ls", folder) == ("tm:util:unix-ls:runstate", None)
    for name in ("unix-ls", "unix-mv", "unix-rm"):
        answer = await device.send("POST", f"util/{name}", {"command": "run", "utilCmdArgs": f"-9 {folder}/a"})
        assert (answer.status, f"{name} does not support" in answer.message) == (400, True)


def sent_from(name: str) -> str:
    return f"file:/var/config/rest/downloads/{name}"


async def test_a_file_is_there_once_all_of_its_chunks_came_in_any_order(device: Client) -> None:
    leaf = trustme.CA().issue_cert("a.test").cert_chain_pems[0].bytes()
    path, half = "/mgmt/shared/file-transfer/uploads/c", len(leaf) // 2
    body = {"name": "c", "partition": "P", "sourcePath": sent_from("c")}
    last = f"{half}-{len(leaf) - 1}/{len(leaf)}"
    answer = await device.send("POST", path, raw=leaf[half:], **{"Content-Range": last})
    assert answer.document["remainingByteCount"] == half
    early = await device.send("POST", "sys/file/ssl-cert", body)
    assert (early.status, "not found" in early.message) == (400, True)
    first = f"0-{half - 1}/{len(leaf)}"
    answer = await device.send("POST", path, raw=leaf[:half], **{"Content-Range": first})
    assert answer.document["remainingByteCount"] == len(leaf) - half, "a chunk at 0 begins anew"
    answer = await device.send("POST", path, raw=leaf[half:], **{"Content-Range": last})
    assert answer.document["remainingByteCount"] == 0
    assert answer.document["usedChunks"] == {"0": half, str(half): len(leaf) - half}
    assert (await device.post("sys/file/ssl-cert", body))["size"] == len(leaf)


async def test_chunks_of_a_mebibyte_and_the_next_ones_first_byte_make_a_file(device: Client) -> None:
    """As F5's f5-sdk-js sends them."""
    path, step = "/mgmt/shared/file-transfer/uploads/c", 1024 * 1024
    whole = (b"0123456789abcdef\n" * (2 * step // 17 + 2))[: 2 * step + 7]
    missing = []
    for start in (0, step, 2 * step):
        end = min(start + step, len(whole) - 1)
        span = {"Content-Range": f"{start}-{end}/{len(whole)}"}
        answer = await device.send("POST", path, raw=whole[start : end + 1], **span)
        missing.append(answer.document["remainingByteCount"])
    assert missing == [step + 6, 6, 0]
    read = await device.post("util/bash", {"command": "run", "utilCmdArgs": "-c 'cat /var/config/rest/downloads/c'"})
    assert read["commandResult"].encode() == whole
    overlap = await device.send("POST", path, raw=whole[:10], **{"Content-Range": f"0-9/{len(whole)}"})
    assert overlap.status == 200
    overlap = await device.send("POST", path, raw=whole[8:12], **{"Content-Range": f"8-11/{len(whole)}"})
    assert (overlap.status, "overlaps" in overlap.message) == (400, True)


@pytest.mark.parametrize(
    ("span", "size", "said"),
    [
        ("0-9/10", 9, "Chunk byte count 10 different from received buffer length 9"),
        ("0-9/9", 10, "Content-Range"),
        ("x", 1, "Content-Range"),
        ("0-0/99999999", 1, "Content-Range"),
    ],
)
async def test_bad_chunks_are_refused(device: Client, span: str, size: int, said: str) -> None:
    path = "/mgmt/shared/file-transfer/uploads/c"
    answer = await device.send("POST", path, raw=bytes(size), **{"Content-Range": span})
    assert (answer.status, said in answer.message) == (400, True)


async def test_certificates_say_what_is_in_them_and_keys_do_not(device: Client) -> None:
    authority = trustme.CA(organization_name="Testers")
    leaf = authority.issue_cert("a.test", "*.b.test", key_type=trustme.KeyType.ECDSA)
    await install(device, "site", leaf)
    shown = await device.get("sys/file/ssl-cert/~P~site.crt")
    read = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    assert (shown["keyType"], shown["certificateKeySize"], shown["certificateKeyCurveName"]) == (
        "ec-public", 256, "prime256v1",
    )  # fmt: skip
    assert shown["subjectAlternativeName"] == "DNS:a.test, DNS:*.b.test"
    assert "O=Testers" in shown["issuer"]
    assert shown["expirationDate"] == int(read.not_valid_after_utc.timestamp())
    assert shown["expirationString"].endswith(" GMT")
    assert (shown["isBundle"], shown["createdBy"], shown["mode"]) == ("false", "admin", 33188)
    key = await device.get("sys/file/ssl-key/~P~site.key")
    assert (key["keyType"], key["keySize"], key["securityType"]) == ("ec-private", 256, "normal")
    for path in ("sys/file/ssl-key", "sys/file/ssl-key/~P~site.key", "sys/file/ssl-cert/~P~site.crt"):
        answer = await device.send("GET", path)
        assert "BEGIN" not in answer.text


async def test_encrypted_keys_need_their_passphrase_where_they_are_used(device: Client) -> None:
    leaf = trustme.CA().issue_cert("a.test")
    await install(device, "site", leaf)
    loaded = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    encrypted = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"open")
    )
    await upload(device, "e.key", encrypted)
    body = {"name": "e.key", "partition": "P", "sourcePath": sent_from("e.key")}
    assert (await device.post("sys/file/ssl-key", body))["securityType"] == "password"
    profile = {"name": "ssl", "partition": "P", "cert": "/P/site.crt", "key": "/P/e.key"}
    refused = await device.send("POST", "ltm/profile/client-ssl", profile)
    assert (refused.status, refused.message) == (
        400,
        "01070313:3: Error reading key PEM file /P/e.key for profile /P/ssl: "
        "error:0906A068:PEM routines:PEM_do_header:bad password read",
    )
    shown = await device.patch("sys/file/ssl-key/~P~e.key", {"passphrase": "open"})
    assert (shown["passphrase"].startswith("$M$"), shown["keySize"]) == (True, 256)
    await device.post("ltm/profile/client-ssl", profile)


@pytest.mark.parametrize("kind", ["cert", "key", "crl"])
async def test_rubbish_is_no_certificate_key_or_revocation_list(device: Client, kind: str) -> None:
    await upload(device, "f", b"-----BEGIN RUBBISH-----\nAAAA\n-----END RUBBISH-----\n")
    body = {"name": "f", "partition": "P", "sourcePath": sent_from("f")}
    refused = await device.send("POST", f"sys/file/ssl-{kind}", body)
    said = "01070712:3: Certificate/Key has unknown format or security type (/P/f)."
    assert (refused.status, refused.message) == (400, said)
    assert (await device.send("GET", f"sys/file/ssl-{kind}/~P~f")).status == 404


async def test_revocation_lists_are_files_too(device: Client) -> None:
    await upload(device, "r.crl", revocation_list(Authority(), []))
    body = {"name": "r.crl", "partition": "P", "sourcePath": sent_from("r.crl")}
    shown = await device.post("sys/file/ssl-crl", body)
    assert (shown["kind"], shown["mode"], shown["revision"]) == ("tm:sys:file:ssl-crl:ssl-crlstate", 33188, 1)
    assert (await device.put("sys/file/ssl-crl/~P~r.crl", body))["revision"] == 2
    await device.delete("sys/file/ssl-crl/~P~r.crl")


async def test_file_and_profile_of_one_transaction_take_the_upload_of_its_commit(device: Client) -> None:
    leaf = trustme.CA().issue_cert("a.test")
    number = await device.open_transaction()
    pair = {"cert": "/P/n", "key": "/P/n"}
    await device.post("ltm/profile/client-ssl", {"name": "ssl", "partition": "P", **pair}, transaction=number)
    for kind in ("cert", "key"):
        body = {"name": "n", "partition": "P", "sourcePath": sent_from(kind)}
        await device.post(f"sys/file/ssl-{kind}", body, transaction=number)
    await upload(device, "cert", leaf.cert_chain_pems[0].bytes())
    await upload(device, "key", leaf.private_key_pem.bytes())
    assert (await device.commit(number)).status == 200
    assert (await device.get("sys/file/ssl-key/~P~n"))["fullPath"] == "/P/n"


async def test_a_profile_without_its_files_is_refused(device: Client) -> None:
    profile = {"name": "ssl", "partition": "P", "cert": "/P/n.crt", "key": "/P/n.key"}
    refused = await device.send("POST", "ltm/profile/client-ssl", profile)
    said = "01070277:3: The requested certificate (/P/n.crt) was not found."
    assert (refused.status, refused.message) == (400, said)


async def test_a_refused_transaction_leaves_nothing_of_its_files(device: Client) -> None:
    authority = trustme.CA()
    first, second = authority.issue_cert("a.test"), authority.issue_cert("b.test")
    await upload(device, "cert", first.cert_chain_pems[0].bytes())
    await upload(device, "key", second.private_key_pem.bytes())
    number = await device.open_transaction()
    for kind in ("cert", "key"):
        body = {"name": "n", "partition": "P", "sourcePath": sent_from(kind)}
        await device.post(f"sys/file/ssl-{kind}", body, transaction=number)
    pair = {"name": "ssl", "partition": "P", "cert": "/P/n", "key": "/P/n"}
    await device.post("ltm/profile/client-ssl", pair, transaction=number)
    refused = await device.commit(number)
    said = "transaction failed:01070317:3: profile /P/ssl's key and certificate do not match"
    assert (refused.status, refused.message) == (400, said)
    for kind in ("cert", "key"):
        assert (await device.send("GET", f"sys/file/ssl-{kind}/~P~n")).status == 404


async def test_no_key_and_no_passphrase_is_in_the_log_of_writes(device: Client, emulator: Emulator) -> None:
    await install(device, "site", trustme.CA().issue_cert("a.test"))
    await device.patch("sys/file/ssl-key/~P~site.key", {"passphrase": "canary"})
    chain = [{"name": "x", "cert": "/P/site.crt", "key": "/P/site.key", "passphrase": "canary"}]
    shown = await device.post("ltm/profile/client-ssl", {"name": "ssl", "partition": "P", "certKeyChain": chain})
    for text in (str(emulator.write_log.entries()), str(shown)):
        assert "BEGIN" not in text
        assert "canary" not in text
