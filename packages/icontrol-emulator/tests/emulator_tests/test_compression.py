"""Responses that an http-compression profile compresses, and those that it leaves as they are."""

from __future__ import annotations

import asyncio
import gzip
import re

import pytest

from emulator_tests.client import Backend, Client
from emulator_tests.virtual_site import VIP, Start, site

TEXT = "an answer of no great length, over and over. " * 100
PROFILES = ["http", "tcp", "httpcompression"]


async def ask(port: int, accepted: str, version: str = "1.1", path: str = "/") -> tuple[str, bytes]:
    """Head and undecoded body of a response, without its chunks' framing."""
    reader, writer = await asyncio.open_connection(VIP, port)
    lines = f"Host: test\r\nConnection: close\r\nAccept-Encoding: {accepted}\r\n"
    writer.write(f"GET {path} HTTP/{version}\r\n{lines}\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    if b"chunked" in head:
        body = _unchunked(body)
    return head.decode(), body


def _unchunked(rest: bytes) -> bytes:
    found = b""
    while (size := int(rest.partition(b"\r\n")[0], 16)) > 0:
        data = rest.partition(b"\r\n")[2]
        found, rest = found + data[:size], data[size + 2 :]
    return found


async def texts(backend: Start, kind: str = "text/plain", more: str = "", text: str = TEXT) -> Backend:
    """A member that closes after each response of this content type."""
    server = await backend(text)
    server.headers = f"Content-Type: {kind}\r\n{more}"
    return server


async def test_response_is_compressed_for_a_client_that_accepts_gzip(device: Client, backend: Start) -> None:
    server = await texts(backend)
    port = await site(device, [server], PROFILES)
    head, body = await ask(port, "deflate, gzip;q=0.5")
    assert gzip.decompress(body).decode() == TEXT and len(body) < len(TEXT) / 10
    assert re.search("(?m)^Content-Encoding: gzip\r?$", head) and "Vary: Accept-Encoding" in head
    assert "Content-Length" not in head
    assert "Accept-Encoding" not in server.last_head


@pytest.mark.parametrize(
    ("accepted", "version", "kind", "more", "text"),
    [
        ("deflate", "1.1", "text/plain", "", TEXT),
        ("gzip;q=0", "1.1", "text/plain", "", TEXT),
        ("gzip", "1.0", "text/plain", "", TEXT),
        ("gzip", "1.1", "image/png", "", TEXT),
        ("gzip", "1.1", "text/plain", "Content-Encoding: br\r\n", TEXT),
        ("gzip", "1.1", "text/plain", "", "short"),
    ],
)
async def test_other_responses_are_left_as_they_are(
    device: Client, backend: Start, accepted: str, version: str, kind: str, more: str, text: str
) -> None:
    port = await site(device, [await texts(backend, kind, more, text)], PROFILES)
    head, body = await ask(port, accepted, version)
    assert body.decode() == text and f"Content-Length: {len(text)}" in head
    assert "gzip" not in head


async def test_profiles_choose_types_uris_and_whether_members_know(device: Client, backend: Start) -> None:
    body = {"name": "own", "partition": "P", "contentTypeInclude": ["image/svg[+]xml"], "uriExclude": ["/plain"]}
    await device.post("ltm/profile/http-compression", {**body, "keepAcceptEncoding": "enabled", "minSize": 1})
    server = await texts(backend, "image/svg+xml", text="short")
    port = await site(device, [server], ["http", "tcp", "own"])
    assert gzip.decompress((await ask(port, "gzip"))[1]) == b"short"
    assert "Accept-Encoding: gzip" in server.last_head
    assert (await ask(port, "gzip", path="/plain"))[1] == b"short"
