"""TLS that virtual servers terminate and begin anew, seen with openssl, curl and Python's ssl."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from emulator_tests.authority import Authority, revocation_list
from emulator_tests.client import Backend, Client, exchange, fetch, free_port
from emulator_tests.test_files import install, sent_from, upload
from emulator_tests.test_traffic import eventually, stats
from emulator_tests.tls_site import (
    NEW,
    SSL,
    VIP,
    believing,
    client_ssl,
    connect,
    get,
    https,
    put_file,
    run,
    serial,
    served_serial,
    trusting,
    written,
)
from icontrol_emulator import Emulator

Start = Callable[..., Awaitable[Backend]]
REFUSED = (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)


# -- certificates


async def test_the_server_name_chooses_the_profile(device: Client, backend: Start) -> None:
    authority = trustme.CA()
    leaves = {
        "default": authority.issue_cert("default.test"),
        "named": authority.issue_cert("whatever.test"),
        "wild": authority.issue_cert("*.wild.test"),
        "own": authority.issue_cert("own.test", "also.test"),
    }
    given = {"default": {"sniDefault": "true"}, "named": {"serverName": "named.test"},
             "wild": {"serverName": "*.wild.test"}, "own": {}}  # fmt: skip
    paths = [await client_ssl(device, name, leaf, **given[name]) for name, leaf in leaves.items()]
    port = await https(device, [await backend("a")], ["http", *paths])
    asked = {"": "default", "nobody.test": "default", "NAMED.test": "named", "a.wild.test": "wild",
             "a.b.wild.test": "default", "own.test": "own", "also.test": "own"}  # fmt: skip
    for name, leaf in asked.items():
        assert (name, await served_serial(port, name)) == (name, serial(leaves[leaf]))
    assert await get(port, trusting(authority), "a.wild.test") == "a"
    [counted] = (await device.get("ltm/profile/client-ssl/~P~wild/stats"))["entries"].values()
    assert counted["nestedStats"]["entries"]["common.totNativeConns"]["value"] == 2


async def test_a_name_may_be_required(device: Client, backend: Start) -> None:
    path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"), sniRequire="true")
    port = await https(device, [await backend("a")], ["http", path])
    assert await get(port, believing(), "a.test") == "a"
    with pytest.raises(REFUSED):
        await connect(port, believing())


async def test_the_certificate_that_a_device_comes_with(device: Client, backend: Start) -> None:
    port = await https(device, [await backend("a")], ["http", "clientssl"])
    assert await get(port, believing()) == "a"
    shown = await device.get("sys/file/ssl-cert/default.crt")
    assert int(shown["serialNumber"].replace(":", ""), 16 if ":" in shown["serialNumber"] else 10) == (
        await served_serial(port)
    )


async def test_certificates_of_two_kinds_of_key(device: Client, backend: Start) -> None:
    authority = trustme.CA()
    kinds = {"rsa": trustme.KeyType.RSA, "ecdsa": trustme.KeyType.ECDSA}
    leaves = {name: authority.issue_cert("a.test", key_type=kind) for name, kind in kinds.items()}
    for name, leaf in leaves.items():
        await install(device, name, leaf)
    chain = [{"name": name, "cert": f"/P/{name}.crt", "key": f"/P/{name}.key"} for name in leaves]
    await device.post(SSL, {"name": "both", "partition": "P", "certKeyChain": chain})
    port = await https(device, [await backend("a")], ["http", "/P/both"])
    for name, leaf in leaves.items():
        context = believing()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"ECDHE-{name.upper()}-AES128-GCM-SHA256")
        assert await served_serial(port, "a.test", context) == serial(leaf)


async def test_intermediates_are_sent_along(device: Client, backend: Start) -> None:
    authority = trustme.CA()
    below = authority.create_child_ca()
    leaf = below.issue_cert("a.test")
    await put_file(device, "cert", "a.crt", leaf.cert_chain_pems[0].bytes())
    await put_file(device, "key", "a.key", leaf.private_key_pem.bytes())
    await put_file(device, "cert", "below.crt", below.cert_pem.bytes())
    chain = [{"name": "x", "cert": "/P/a.crt", "key": "/P/a.key", "chain": "/P/below.crt"}]
    await device.post(SSL, {"name": "site", "partition": "P", "certKeyChain": chain})
    port = await https(device, [await backend("a")], ["http", "/P/site"])
    assert await get(port, trusting(authority), "a.test") == "a"


async def test_renewal_shows_the_new_certificate_to_new_connections_only(device: Client, backend: Start) -> None:
    authority = trustme.CA()
    before, after = authority.issue_cert("a.test"), authority.issue_cert("a.test")
    path = await client_ssl(device, "site", before)
    port = await https(device, [await backend("a")], ["http", path])
    reader, writer = await connect(port, trusting(authority), "a.test")
    assert (await exchange(reader, writer))[1] == "a"
    await install(device, "next", after)
    chain = [{"name": "own", "cert": "/P/next.crt", "key": "/P/next.key"}]
    await device.patch(f"{SSL}/~P~site", {"certKeyChain": chain})
    assert await served_serial(port, "a.test") == serial(after)
    for kind in ("cert", "key"):
        await device.delete(f"sys/file/ssl-{kind}/~P~site.{'crt' if kind == 'cert' else 'key'}")
    assert (await exchange(reader, writer))[1] == "a"
    writer.close()


async def test_a_client_accepted_before_a_renewal_is_served_after_it(device: Client, backend: Start) -> None:
    authority = trustme.CA()
    before = authority.issue_cert("a.test")
    path = await client_ssl(device, "site", before)
    port = await https(device, [await backend("a")], ["http", path])
    reader, writer = await asyncio.open_connection(VIP, port)
    counted = "ltm/virtual/~P~v"
    await eventually(lambda: _connections(device, counted, 1))
    await install(device, "next", authority.issue_cert("a.test"))
    chain = [{"name": "own", "cert": "/P/next.crt", "key": "/P/next.key"}]
    await device.patch(f"{SSL}/~P~site", {"certKeyChain": chain})
    for name in ("cert/~P~site.crt", "key/~P~site.key"):
        await device.delete(f"sys/file/ssl-{name}")
    await writer.start_tls(trusting(authority), server_hostname="a.test")
    assert (await exchange(reader, writer))[1] == "a"
    writer.close()


async def _connections(device: Client, path: str, number: int) -> bool:
    return bool((await stats(device, path))["clientside.curConns"] == number)


async def test_the_peer_serves_the_same_certificate_after_a_sync(
    pair: Emulator, both: tuple[Client, Client], backend: Start
) -> None:
    first, second = both
    leaf = trustme.CA().issue_cert("a.test")
    path = await client_ssl(first, "site", leaf)
    port = await https(first, [await backend("a")], ["http", path])
    words = {"command": "run", "utilCmdArgs": "config-sync to-group device-group-1"}
    await first.post("cm", words)
    await pair.failover("bigip-1")
    assert await served_serial(port, "a.test") == serial(leaf)
    assert (await second.get("sys/file/ssl-key/~P~site.key"))["fullPath"] == "/P/site.key"


# -- versions, ciphers


@pytest.mark.parametrize(
    ("profile", "flag", "works"),
    [
        ({}, "-tls1_2", True),
        ({}, "-tls1_3", False),
        (NEW, "-tls1_3", True),
        ({**NEW, "tmOptions": ["no-tlsv1", "no-tlsv1.1", "no-tlsv1.2"]}, "-tls1_2", False),
        ({**NEW, "tmOptions": ["no-tlsv1", "no-tlsv1.1"]}, "-tls1_1", False),
        (NEW, "-tls1_1", True),
        ({"tmOptions": "{ no-tlsv1.3 }", "ciphers": "ECDHE+AES-GCM:ECDHE_ECDSA+AES-GCM"}, "-tls1_2", True),
        ({**NEW, "cipherGroup": "/Common/f5-secure"}, "-tls1_2", True),
    ],
)
async def test_versions(device: Client, backend: Start, profile: dict[str, Any], flag: str, works: bool) -> None:
    path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"), **profile)
    port = await https(device, [await backend("a")], ["http", path])
    said = await run("openssl", "s_client", "-connect", f"{VIP}:{port}", flag, "-cipher", "ALL:@SECLEVEL=0")
    assert (said.code == 0) == works, said.text


async def test_cipher_groups(device: Client, backend: Start) -> None:
    names = {"newest": "TLS13-AES256-GCM-SHA384", "wide": "ECDHE:ECDHE_ECDSA:TLSV1_3", "chacha": "CHACHA20-POLY1305"}
    for name, cipher in names.items():
        await device.post("ltm/cipher/rule", {"name": name, "partition": "P", "cipher": cipher})
    await device.post(
        "ltm/cipher/group", {"name": "g", "partition": "P", "allow": ["newest", "wide"], "exclude": ["chacha"]}
    )
    leaf = trustme.CA().issue_cert("a.test")
    path = await client_ssl(device, "site", leaf, **{**NEW, "cipherGroup": "/P/g"})
    port = await https(device, [await backend("a")], ["http", path])
    words = ("openssl", "s_client", "-connect", f"{VIP}:{port}")
    assert "Cipher is TLS_AES_256_GCM_SHA384" in (await run(*words)).text
    assert (await run(*words, "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "-tls1_3")).code != 0
    refused = await device.send("DELETE", "ltm/cipher/group/~P~g")
    assert (refused.status, "in use" in refused.message) == (400, True)


async def test_ciphers(device: Client, backend: Start) -> None:
    leaf = trustme.CA().issue_cert("a.test", key_type=trustme.KeyType.RSA)
    path = await client_ssl(device, "site", leaf, ciphers="ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-CBC-SHA")
    port = await https(device, [await backend("a")], ["http", path])
    words = ("openssl", "s_client", "-connect", f"{VIP}:{port}", "-cipher")
    assert "Cipher is ECDHE-RSA-AES256-GCM-SHA384" in (await run(*words, "ALL:@SECLEVEL=0")).text
    assert "Cipher is ECDHE-RSA-AES128-SHA" in (await run(*words, "ECDHE-RSA-AES128-SHA:@SECLEVEL=0")).text
    assert (await run(*words, "ECDHE-RSA-AES128-GCM-SHA256")).code != 0


# -- clients' certificates


@pytest.fixture
async def wanting(device: Client, backend: Start) -> Callable[..., Awaitable[tuple[int, Authority]]]:
    """Makes a virtual server that looks at clients' certificates."""

    async def make(mode: str, *, revoked: list[trustme.LeafCert] | None = None, **more: Any) -> tuple[int, Authority]:
        authority = more.pop("authority", None) or Authority()
        given = {**NEW, "peerCertMode": mode, **more}
        given["caFile"] = await put_file(device, "cert", "ca.crt", authority.cert_pem.bytes())
        if revoked is not None:
            given["crlFile"] = await put_file(device, "crl", "ca.crl", revocation_list(authority, revoked))
        path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"), **given)
        return await https(device, [await backend("a")], ["http", path]), authority

    return make


def presenting(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = believing()
    leaf.configure_cert(context)
    return context


Wanting = Callable[..., Awaitable[tuple[int, Authority]]]


async def test_required_certificates(wanting: Wanting) -> None:
    port, authority = await wanting("require")
    assert await get(port, presenting(authority.issue_cert("client"))) == "a"
    for context in (believing(), presenting(trustme.CA().issue_cert("client"))):
        with pytest.raises(REFUSED):
            await get(port, context)


async def test_requested_certificates_refuse_nobody(wanting: Wanting) -> None:
    port, authority = await wanting("request")
    strange = trustme.CA().issue_cert("client")
    for context in (believing(), presenting(authority.issue_cert("client")), presenting(strange)):
        assert await get(port, context) == "a"


async def test_revoked_certificates(wanting: Wanting, device: Client) -> None:
    authority = Authority()
    good, bad = authority.issue_cert("good"), authority.issue_cert("bad")
    port, _ = await wanting("require", authority=authority, revoked=[bad])
    assert await get(port, presenting(good)) == "a"
    with pytest.raises(REFUSED):
        await get(port, presenting(bad))
    await upload(device, "new.crl", revocation_list(authority, [good]))
    await device.patch("sys/file/ssl-crl/~P~ca.crl", {"sourcePath": sent_from("new.crl")})
    with pytest.raises(REFUSED):
        await get(port, presenting(good))
    assert await get(port, presenting(bad)) == "a"


async def test_curl_and_openssl_with_a_certificate(wanting: Wanting, tmp_path: Path) -> None:
    port, authority = await wanting("require")
    cert, key = written(tmp_path, authority.issue_cert("client"))
    url = f"https://{VIP}:{port}/"
    assert (await run("curl", "-ksS", "--max-time", "20", "--cert", cert, "--key", key, url)).text == "a"
    assert (await run("curl", "-ksS", "--max-time", "20", url)).code != 0
    said = await run("openssl", "s_client", "-connect", f"{VIP}:{port}", "-cert", cert, "-key", key)
    assert (said.code, "Verification" in said.text) == (0, True)


# -- towards members


class SecureMember(Backend):
    """A web server behind TLS that keeps the names it was asked for."""

    def __init__(self, name: str, leaf: trustme.LeafCert) -> None:
        super().__init__(name)
        self.names: list[str | None] = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.sni_callback = lambda _, name, __: self.names.append(name)
        leaf.configure_cert(self.context)

    async def start(self) -> Backend:
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=self.context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self


@pytest.fixture
async def member() -> Any:
    started: list[Backend] = []

    async def start(leaf: trustme.LeafCert, name: str = "m") -> SecureMember:
        server = SecureMember(name, leaf)
        started.append(await server.start())
        return server

    yield start
    for each in started:
        await each.stop()


async def server_ssl(device: Client, **more: Any) -> str:
    await device.post("ltm/profile/server-ssl", {"name": "out", "partition": "P", **more})
    return "/P/out"


async def test_members_are_spoken_to_by_tls(device: Client, member: Any) -> None:
    authority = trustme.CA()
    server = await member(authority.issue_cert("in.test"))
    path = await server_ssl(device, serverName="in.test")
    front = await client_ssl(device, "site", authority.issue_cert("a.test"))
    port = await https(device, [server], ["http", front, path])
    assert await get(port, trusting(authority), "a.test") == "m"
    assert server.names == ["in.test"]


async def test_members_certificates_are_verified_if_asked_for(device: Client, member: Any) -> None:
    authority, other = Authority(), trustme.CA()
    leaf = authority.issue_cert("in.test")
    server = await member(leaf)
    trusted = await put_file(device, "cert", "ca.crt", authority.cert_pem.bytes())
    strange = await put_file(device, "cert", "other.crt", other.cert_pem.bytes())
    path = await server_ssl(device, peerCertMode="require", caFile=trusted, authenticateName="in.test")
    port = await https(device, [server], ["http", path])

    async def works() -> bool:
        try:
            return (await fetch(VIP, port))[1] == "m"
        except (ConnectionError, asyncio.IncompleteReadError):
            return False

    profile = "ltm/profile/server-ssl/~P~out"
    assert await works()
    await device.patch(profile, {"authenticateName": "other.test"})
    assert not await works()
    await device.patch(profile, {"authenticateName": "none", "caFile": strange})
    assert not await works()
    await device.patch(profile, {"untrustedCertResponseControl": "ignore"})
    assert await works()
    revoked = await put_file(device, "crl", "ca.crl", revocation_list(authority, [leaf]))
    await device.patch(profile, {"caFile": trusted, "crlFile": revoked})
    assert not await works()


async def test_members_may_want_a_certificate(device: Client, member: Any) -> None:
    authority = trustme.CA()
    server = await member(authority.issue_cert("in.test"))
    authority.configure_trust(server.context)
    server.context.verify_mode = ssl.CERT_REQUIRED
    await install(device, "own", authority.issue_cert("device"))
    path = await server_ssl(device, cert="/P/own.crt", key="/P/own.key")
    port = await https(device, [server], ["http", path])
    reader, writer = await asyncio.open_connection(VIP, port)
    assert (await exchange(reader, writer))[1] == "m"
    writer.close()


async def test_https_monitors_take_the_profile_they_are_given(device: Client, member: Any) -> None:
    authority = trustme.CA()
    server = await member(authority.issue_cert("in.test"))
    trusted = await put_file(device, "cert", "ca.crt", authority.cert_pem.bytes())
    other = await put_file(device, "cert", "other.crt", trustme.CA().cert_pem.bytes())
    path = await server_ssl(device, peerCertMode="require", caFile=trusted, serverName="health.test")
    monitor = {"name": "m", "partition": "P", "interval": 1, "timeout": 4, "sslProfile": path,
               "send": "GET /monitor HTTP/1.1\\r\\nHost: m\\r\\n", "recv": "^HTTP/1.1 200"}  # fmt: skip
    await device.post("ltm/monitor/https", monitor)
    await https(device, [server], ["http"])
    await device.patch("ltm/pool/~P~p", {"monitor": "/P/m"})

    async def state(wanted: str) -> bool:
        found = await device.get(f"ltm/pool/~P~p/members/~P~{server.host}:{server.port}")
        return bool(found["state"] == wanted)

    await eventually(lambda: state("up"))
    assert set(server.names) == {"health.test"}
    await device.patch("ltm/profile/server-ssl/~P~out", {"caFile": other})
    await eventually(lambda: state("down"))


# -- strangers


async def test_a_first_message_in_small_pieces(device: Client, backend: Start) -> None:
    leaf = trustme.CA().issue_cert("a.test")
    path = await client_ssl(device, "site", leaf, serverName="a.test", sniRequire="true")
    port = await https(device, [await backend("a")], ["http", path])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = believing().wrap_bio(incoming, outgoing, server_hostname="a.test")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    reader, writer = await asyncio.open_connection(VIP, port)
    for byte in outgoing.read():
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0)
    while True:
        incoming.write(await asyncio.wait_for(reader.read(65_536), 60))
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            writer.write(outgoing.read())
    writer.close()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(70_000), b""])
async def test_data_that_is_no_tls_ends_the_connection(device: Client, backend: Start, sent: bytes) -> None:
    path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"))
    port = await https(device, [await backend("a")], ["http", path])
    reader, writer = await asyncio.open_connection(VIP, port)
    try:
        writer.write(sent)
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        pass
    writer.close()
    assert await get(port, believing()) == "a"


async def test_large_bodies_both_ways(device: Client, backend: Start) -> None:
    path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"), **NEW)
    port = await https(device, [await backend("a")], ["http", path])
    reader, writer = await connect(port, believing())
    body = b"x" * 3_000_000
    assert (await exchange(reader, writer, "/", body))[1] == "a" + body.decode()
    writer.close()


async def test_bytes_are_passed_behind_tls_without_http(device: Client, backend: Start) -> None:
    path = await client_ssl(device, "site", trustme.CA().issue_cert("a.test"))
    port = await https(device, [await backend("a")], ["tcp", path])
    assert await get(port, believing()) == "a"
    assert free_port(VIP) != port
