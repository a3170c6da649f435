"""An administrator with a browser: plain calls of one device, outside of the client under test."""

import base64
import json
from typing import Any

import aiohttp

from icontrol_emulator import Emulator


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
            aiohttp.ClientSession() as http,
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
