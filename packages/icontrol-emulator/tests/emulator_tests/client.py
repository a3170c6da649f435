"""A bare iControl REST client and helpers for tests: free ports, small backends."""

from __future__ import annotations

import asyncio
import base64
import io
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from tests.services import process


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    content_type: str

    @property
    def document(self) -> Any:
        return msgspec.json.decode(self.text)

    @property
    def message(self) -> str:
        return str(self.document["message"])


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Client:
    """Speaks to one device as one user."""

    def __init__(self, url: str, ca_file: Path, user: str = "admin", password: str = "admin") -> None:
        context = ssl.create_default_context(cafile=str(ca_file))
        self.url = url
        self.headers = basic(user, password)
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=200))

    async def close(self) -> None:
        await self._session.close()

    async def send(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, transaction: int | None = None,
        **headers: str,
    ) -> Answer:  # fmt: skip
        sent = {**self.headers, **headers}
        if transaction is not None:
            sent["X-F5-REST-Coordination-Id"] = str(transaction)
        data = io.BytesIO(raw) if raw is not None else msgspec.json.encode(body) if body is not None else None
        full = path if path.startswith("/mgmt") else f"/mgmt/tm/{path}"
        async with self._session.request(method, self.url + full, data=data, headers=sent) as response:
            return Answer(response.status, await response.text(), response.content_type)

    async def get(self, path: str, **kwargs: Any) -> Any:
        return await self._good("GET", path, None, **kwargs)

    async def post(self, path: str, body: Any, **kwargs: Any) -> Any:
        return await self._good("POST", path, body, **kwargs)

    async def patch(self, path: str, body: Any, **kwargs: Any) -> Any:
        return await self._good("PATCH", path, body, **kwargs)

    async def put(self, path: str, body: Any, **kwargs: Any) -> Any:
        return await self._good("PUT", path, body, **kwargs)

    async def delete(self, path: str, **kwargs: Any) -> None:
        answer = await self.send("DELETE", path, **kwargs)
        assert (answer.status, answer.text) == (200, ""), answer

    async def _good(self, method: str, path: str, body: Any, **kwargs: Any) -> Any:
        answer = await self.send(method, path, body, **kwargs)
        assert answer.status == 200, answer
        return answer.document

    async def open_transaction(self) -> int:
        return int((await self.post("transaction", {}))["transId"])

    async def commit(self, transaction: int, **more: Any) -> Answer:
        return await self.send("PATCH", f"transaction/{transaction}", {"state": "VALIDATING", **more})


def free_port(host: str = "127.0.0.1") -> int:
    """Where nobody listens; of 127.0.0.1, where nobody else will while this process lives."""
    return process.free_port() if host == "127.0.0.1" else process.free_port_at(host)


class Backend:
    """A web server that says its name; counts requests and keeps the last head and who sent it."""

    def __init__(self, name: str, host: str = "127.0.0.1", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.requests = 0
        self.last_head = ""
        self.last_peer = ""
        self.status = "200 OK"
        self.headers = ""
        self.hold: asyncio.Event | None = None
        self._server: asyncio.Server | None = None

    async def start(self) -> Backend:
        self._server = await asyncio.start_server(self._serve, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(
                    (int(line[15:]) for line in head.split("\r\n") if line.lower()[:15] == "content-length:"), 0
                )
                body = await reader.readexactly(length)
                if "/monitor" not in head:
                    self.requests += 1
                    self.last_head = head
                    self.last_peer = writer.get_extra_info("peername")[0]
                if self.hold is not None and "/monitor" not in head:
                    await self.hold.wait()
                text = self.name.encode() + body
                writer.write(
                    f"HTTP/1.1 {self.status}\r\nContent-Length: {len(text)}\r\n{self.headers}\r\n".encode() + text
                )
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def fetch(host: str, port: int, path: str = "/", body: bytes = b"", **headers: str) -> tuple[str, str]:
    """One HTTP request on its own connection: head and body of the response."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        return await exchange(reader, writer, path, body, **headers)
    finally:
        writer.close()


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str = "/", body: bytes = b"", **headers: str
) -> tuple[str, str]:  # fmt: skip
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    method = "POST" if body else "GET"
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: test\r\n{length}{lines}\r\n".encode() + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
    return head, (await reader.readexactly(size)).decode()
