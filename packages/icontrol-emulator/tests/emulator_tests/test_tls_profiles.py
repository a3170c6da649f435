"""client-ssl and server-ssl profiles: what they say, and what a device refuses."""

from __future__ import annotations

from typing import Any

import pytest
import trustme

from emulator_tests.authority import Authority, revocation_list
from emulator_tests.client import Answer, Client
from emulator_tests.test_files import install, sent_from, upload
from emulator_tests.tls_site import NEW

SSL = "ltm/profile/client-ssl"


async def profile(device: Client, name: str, **more: Any) -> Answer:
    return await device.send("POST", SSL, {"name": name, "partition": "P", **more})


async def virtual(device: Client, profiles: list[Any]) -> Answer:
    body = {"name": "v", "partition": "P", "destination": "10.0.0.1:443", "profiles": profiles}
    return await device.send("POST", "ltm/virtual", body)


def refused(answer: Answer, text: str) -> None:
    assert (answer.status, answer.message) == (400, text)


async def test_children_follow_their_parent_and_options_are_one_text(device: Client) -> None:
    shown = (await profile(device, "a", serverName="a.test", sniDefault=True)).document
    assert (shown["defaultsFrom"], shown["cert"]) == ("/Common/clientssl", "/Common/default.crt")
    assert shown["tmOptions"] == "{ dont-insert-empty-fragments no-tlsv1.3 no-dtlsv1.2 }"
    assert (shown["sniDefault"], shown["serverName"], shown["ocspStapling"]) == ("true", "a.test", "disabled")
    await device.patch(f"{SSL}/~P~a", {"tmOptions": ["no-tlsv1", "no-tlsv1.3"]})
    await profile(device, "b", defaultsFrom="a")
    assert (await device.get(f"{SSL}/~P~b"))["tmOptions"] == "{ no-tlsv1 no-tlsv1.3 }"
    refused_status = await device.send("PATCH", f"{SSL}/~P~b", {"tmOptions": "none"})
    assert (refused_status.status, "TLSv1.3 needs a cipher-group" in refused_status.message) == (400, True)
    assert (await device.patch(f"{SSL}/~P~b", NEW))["tmOptions"] == "none"
    assert (await profile(device, "c", tmOptions=["no-such"])).status == 400
    assert (await profile(device, "c", noSuchProperty="x")).status == 400


async def test_authority_and_revocation_list_are_references(device: Client) -> None:
    authority = Authority()
    await upload(device, "ca.crt", authority.cert_pem.bytes())
    await upload(device, "ca.crl", revocation_list(authority, []))
    for kind, name in (("cert", "ca.crt"), ("crl", "ca.crl")):
        body = {"name": name, "partition": "P", "sourcePath": sent_from(name)}
        await device.post(f"sys/file/ssl-{kind}", body)
    shown = (await profile(device, "a", caFile="ca.crt", crlFile="ca.crl", peerCertMode="require")).document
    assert (shown["caFile"], shown["crlFile"]) == ("/P/ca.crt", "/P/ca.crl")
    assert shown["crlFileReference"]["link"].endswith("/sys/file/ssl-crl/~P~ca.crl?ver=16.1.2")
    said = "01071349:3: File object by name (/P/ca.crl) is in use."
    refused(await device.send("DELETE", "sys/file/ssl-crl/~P~ca.crl"), said)
    await device.patch(f"{SSL}/~P~a", {"crlFile": "none"})
    await device.delete("sys/file/ssl-crl/~P~ca.crl")
    assert (await profile(device, "b", peerCertMode="sometimes")).status == 400


async def test_key_of_another_certificate(device: Client) -> None:
    authority = trustme.CA()
    for name in ("a", "b"):
        await install(device, name, authority.issue_cert(f"{name}.test"))
    chain = [{"name": "x", "cert": "/P/a.crt", "key": "/P/b.key"}]
    said = "01070317:3: profile /P/x's key and certificate do not match"
    refused(await profile(device, "x", certKeyChain=chain), said)


async def test_one_pair_of_each_kind_of_key(device: Client) -> None:
    authority = trustme.CA()
    await install(device, "rsa", authority.issue_cert("a.test", key_type=trustme.KeyType.RSA))
    for name in ("ec", "other"):
        await install(device, name, authority.issue_cert("a.test", key_type=trustme.KeyType.ECDSA))
    pairs = [{"name": each, "cert": f"/P/{each}.crt", "key": f"/P/{each}.key"} for each in ("rsa", "ec", "other")]
    assert len((await profile(device, "a", certKeyChain=pairs[:2])).document["certKeyChain"]) == 2
    said = "010717e1:3: Client SSL profile (/P/b) cannot contain more than one set of same certificate/key type."
    refused(await profile(device, "b", certKeyChain=pairs), said)
    both = {"certKeyChain": pairs[:1], "cert": "/P/ec.crt", "key": "/P/ec.key"}
    assert "01b4002a:3:" in (await profile(device, "c", **both)).message


async def test_ciphers_and_cipher_groups(device: Client) -> None:
    said = "01070312:3: Invalid keyword 'wat' in ciphers list for profile /P/a"
    refused(await profile(device, "a", ciphers="DEFAULT:WAT"), said)
    refused(
        await profile(device, "a", ciphers="RSA:!RSA"),
        "01070311:3: Ciphers list 'RSA:!RSA' for profile /P/a denies all clients",
    )
    assert (await profile(device, "a", cipherGroup="/Common/f5-secure")).status == 400
    shown = (await profile(device, "a", cipherGroup="/Common/f5-secure", ciphers="none")).document
    assert (shown["ciphers"], shown["cipherGroup"]) == ("none", "/Common/f5-secure")
    names = "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-CBC-SHA:TLS13-AES128-GCM-SHA256"
    assert (await profile(device, "b", ciphers=names)).status == 200


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            {},
            {},
            "0107149c:3: Virtual server /P/v has more than one clientssl/serverssl profile "
            "but none of them is default for SNI",
        ),
        (
            {"sniDefault": "true", "serverName": "a.test"},
            {"serverName": "A.test"},
            "0107149e:3: Virtual server /P/v has more than one clientssl/serverssl profile with same server name.",
        ),
        (
            {"sniDefault": "true"},
            {"sniDefault": "true"},
            "01071809:3: Virtual Server /P/v has more than one clientssl/serverssl profile that is default for SNI.",
        ),
    ],
)  # fmt: skip
async def test_several_profiles_of_a_virtual_server(
    device: Client, first: dict[str, str], second: dict[str, str], said: str
) -> None:
    for name, more in (("a", first), ("b", second)):
        assert (await profile(device, name, **more)).status == 200
    refused(await virtual(device, ["/P/a", "/P/b"]), said)


async def test_a_change_of_a_profile_is_held_against_the_virtual_servers_that_use_it(device: Client) -> None:
    await profile(device, "a", sniDefault="true", serverName="a.test")
    await profile(device, "b", serverName="b.test")
    assert (await virtual(device, ["/P/a", "/P/b"])).status == 200
    refused_status = (await device.send("PATCH", f"{SSL}/~P~a", {"sniDefault": "false"})).message
    assert "0107149c:3:" in refused_status
    assert "0107149e:3:" in (await device.send("PATCH", f"{SSL}/~P~b", {"serverName": "a.test"})).message
    number = await device.open_transaction()
    await device.patch(f"{SSL}/~P~a", {"sniDefault": "false"}, transaction=number)
    await device.patch(f"{SSL}/~P~b", {"sniDefault": "true"}, transaction=number)
    assert (await device.commit(number)).status == 200


async def test_profiles_stand_on_their_side(device: Client) -> None:
    await profile(device, "a")
    answer = await virtual(device, [{"name": "/P/a", "context": "serverside"}])
    assert (answer.status, "context clientside" in answer.message) == (400, True)
    assert (await virtual(device, ["/P/a", "/Common/fastL4"])).status == 400


async def test_http2_wants_tls_without_renegotiation(device: Client) -> None:
    await profile(device, "a")
    profiles = ["http", "http2", "/P/a"]
    said = "http2 specified activation mode requires a client ssl profile"
    assert said in (await virtual(device, profiles[:2])).message
    head = "01070734:3: Configuration error: In Virtual Server (/P/v) an http2 profile with enforce-tls-requirements enabled is incompatible with clientssl profile '/P/a'; "  # noqa: E501  # one text
    refused(await virtual(device, profiles), f"{head}regenotiation must be disabled")
    await device.patch(f"{SSL}/~P~a", {"renegotiation": "disabled", "ciphers": "RSA"})
    refused(await virtual(device, profiles), f"{head}cipher ECDHE-RSA-AES128-GCM-SHA256 must be available")
    await device.patch(f"{SSL}/~P~a", {"ciphers": "DEFAULT"})
    assert (await virtual(device, profiles)).status == 200


async def test_server_ssl_profiles_need_both_halves(device: Client) -> None:
    await install(device, "site", trustme.CA().issue_cert("a.test"))
    body = {"name": "s", "partition": "P", "cert": "/P/site.crt"}
    assert (await device.send("POST", "ltm/profile/server-ssl", body)).status == 400
    shown = await device.post("ltm/profile/server-ssl", {**body, "key": "/P/site.key", "serverName": "in.test"})
    assert (shown["secureRenegotiation"], shown["authenticateName"]) == ("require-strict", "none")
