"""Cookies that clients see encrypted only: those of members by an http profile, and that of persistence."""

from __future__ import annotations

import asyncio
import re

import pytest

from emulator_tests.client import Backend, Client
from emulator_tests.virtual_site import VIP, Start, site

PHRASE = "a passphrase of the operator"


async def ask(port: int, cookie: str = "") -> tuple[dict[str, str], str]:
    """Cookies that a response sets, by name, and its body."""
    reader, writer = await asyncio.open_connection(VIP, port)
    line = f"Cookie: {cookie}\r\n" if cookie else ""
    writer.write(f"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{line}\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return dict(re.findall(r"(?m)^Set-Cookie: ([^=]+)=([^;\r]*)", head)), body


async def setting(backend: Start, cookies: str) -> Backend:
    server = await backend("a")
    server.headers = cookies
    return server


async def test_members_cookie_of_that_name_is_encrypted_for_clients(device: Client, backend: Start) -> None:
    wanted = {"name": "own", "partition": "P", "encryptCookies": ["session"], "encryptCookieSecret": PHRASE}
    await device.post("ltm/profile/http", wanted)
    server = await setting(backend, "Set-Cookie: session=s1; path=/\r\nSet-Cookie: other=o1\r\n")
    port = await site(device, [server], ["/P/own", "tcp"])
    found, _ = await ask(port)
    assert found["other"] == "o1" and "s1" not in found["session"]
    await ask(port, f"a=b; session={found['session']}; other=o1")
    assert "Cookie: a=b; session=s1; other=o1\r\n" in server.last_head
    # of a client that made it up
    await ask(port, "session=s1; other=o1")
    assert "Cookie: other=o1\r\n" in server.last_head


@pytest.mark.parametrize(("wanted", "plain_counts"), [("required", False), ("preferred", True)])
async def test_persistence_cookie_is_encrypted(device: Client, backend: Start, wanted: str, plain_counts: bool) -> None:
    secret = {"cookieEncryption": wanted, "cookieEncryptionPassphrase": PHRASE}
    profile = {"name": "own", "partition": "P", "cookieName": "SRV"}
    await device.post("ltm/persistence/cookie", profile)
    servers = [await backend("a"), await backend("b")]
    port = await site(device, servers, ["http", "tcp"], persist=["own"])
    plain, first = await ask(port)
    await device.patch("ltm/persistence/cookie/~P~own", secret)
    sealed, kept = await ask(port, f"SRV={plain['SRV']}")
    assert (kept == first and not sealed) is plain_counts
    while not sealed:
        sealed, kept = await ask(port)
    assert re.fullmatch(r"![A-Za-z0-9+/]+=*", sealed["SRV"])
    assert [await ask(port, f"SRV={sealed['SRV']}") for _ in range(3)] == [({}, kept)] * 3
    again, _ = await ask(port, "SRV=!made/up==")
    assert again["SRV"] != sealed["SRV"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("ltm/profile/http", "encryptCookieSecret"), ("ltm/persistence/cookie", "cookieEncryptionPassphrase")],
)
async def test_passphrases_are_shown_encrypted_and_in_another_form_at_each_write(
    device: Client, kind: str, name: str
) -> None:
    shown = await device.post(kind, {"name": "own", "partition": "P", name: PHRASE})
    assert shown[name].startswith("$M$") and PHRASE not in shown[name]
    written = await device.patch(f"{kind}/~P~own", {name: shown[name]})
    assert written[name] == shown[name]
    assert (await device.patch(f"{kind}/~P~own", {name: PHRASE}))[name] != shown[name]
