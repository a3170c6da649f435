"""An administrator with a browser: plain calls of one device, outside of the client under test."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import msgspec

from icontrol_emulator import Emulator
from icontrol_emulator.rest.message import Call, parse_query

_kept: WeakKeyDictionary[Emulator, aiohttp.ClientSession] = WeakKeyDictionary()
"""The common session of all administrators of an emulator's devices."""


@asynccontextmanager
async def kept_connections(emulator: Emulator) -> AsyncIterator[None]:
    """Administrators' calls use one session meanwhile. Without it each call has a session, and a TLS handshake that
    costs more than the call."""
    async with aiohttp.ClientSession() as session:
        _kept[emulator] = session
        try:
            yield
        finally:
            del _kept[emulator]


class Admin:
    """Calls one device with the administrator's password."""

    def __init__(self, emulator: Emulator, name: str) -> None:
        self.emulator = emulator
        self.device = name
        self._url = emulator.devices[name].url
        self._login = "Basic " + base64.b64encode(b"admin:admin").decode()

    async def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send one request; any status but 200 fails the test."""
        async with (
            self._session() as http,
            http.request(
                method,
                f"{self._url}/mgmt/tm/{path}",
                data=None if body is None else json.dumps(body),
                headers={"Content-Type": "application/json", "Authorization": self._login},
                ssl=False,
            ) as answer,
        ):
            text = await answer.text()
            assert answer.status == 200, f"{method} {path}: {answer.status} {text}"
            return dict(json.loads(text)) if text else {}

    def read(self, path: str) -> dict[str, Any]:
        """The answer to a GET, as the device computes it. It is asked in this process, which takes a sixteenth of the
        time that HTTPS does; such a read is not counted, and no fault strikes it."""
        name, _, query = path.partition("?")
        server = self.emulator._servers[self.device]
        call = Call(method="GET", path=f"/mgmt/tm/{name}", query=parse_query(query), user="admin")
        reply = server._dispatcher.answer(server._device, call)
        return dict(msgspec.json.decode(msgspec.json.encode(reply.document)))

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        if self.emulator in _kept:
            yield _kept[self.emulator]
            return
        async with aiohttp.ClientSession() as session:
            yield session
