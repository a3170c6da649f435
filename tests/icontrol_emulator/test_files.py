from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import trustme

from tests.icontrol_emulator.client import Backend, Client, exchange, free_port

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
    assert (await device.send("DELETE", "sys/file/ssl-cert/~P~site.crt")).status == 400
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
