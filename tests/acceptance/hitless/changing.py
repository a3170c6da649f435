"""A tenant whose every change must arrive: accepted by the API, then ACTIVE, then held by the daemon."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from evenkeel.demo.device_kinds.daemon import DaemonProbe
from tests.acceptance.hitless.held import Held
from tests.acceptance.tenant import LBAAS, LIMIT_SECONDS, PATIENCE_SECONDS, Tenant
from tests.waiting import eventually

LOOK_SECONDS = 0.05


class Changing:
    """Applies one change after the other and counts those that arrived, by kind."""

    def __init__(self, tenant: Tenant, daemon: Callable[[], DaemonProbe], partition: str) -> None:
        self.tenant = tenant
        self.arrived: Counter[str] = Counter()
        self.under_way = ""
        self._daemon = daemon
        self._partition = partition

    async def put(self, kind: str, path: str, body: Any, visible: Callable[[Held], bool]) -> None:
        """Change an object."""
        self.under_way = kind
        await self.tenant.surely("PUT", LBAAS + path, body)
        await self._arrive(kind, visible)

    async def post(self, kind: str, path: str, body: dict[str, Any], visible: Callable[[Held, str], bool]) -> str:
        """Make an object, which gets ``kind`` for its name; its id. Made once even if the answer is lost."""
        self.under_way = kind
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        ((wrapper, fields),) = body.items()
        name = f"{kind} {self.arrived.total()}"
        while not (made := await self._try_to_make(path, wrapper, {**fields, "name": name})):
            assert asyncio.get_running_loop().time() < deadline, f"{kind}: no answer"
            await asyncio.sleep(LOOK_SECONDS)
        await self._arrive(kind, lambda held: visible(held, made))
        return made

    async def _try_to_make(self, path: str, wrapper: str, fields: dict[str, Any]) -> str:
        """Its id; empty if nobody answered."""
        status, answer = await self.tenant.once("POST", LBAAS + path, {wrapper: fields})
        if status == 201:
            return str(answer[wrapper]["id"])
        assert status in (0, 503), f"POST {path}: {status} {answer}"
        found = await self.tenant.surely("GET", f"{LBAAS}{path}?name={fields['name'].replace(' ', '%20')}")
        return next((str(one["id"]) for one in found[path.rpartition("/")[2]]), "")

    async def delete(self, kind: str, path: str, visible: Callable[[Held], bool]) -> None:
        """Remove an object."""
        self.under_way = kind
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        status, answer = await self.tenant.once("DELETE", LBAAS + path)
        while status not in (204, 404):
            assert status in (0, 503), f"DELETE {path}: {status} {answer}"
            assert asyncio.get_running_loop().time() < deadline, f"{kind}: no answer"
            await asyncio.sleep(LOOK_SECONDS)
            status, answer = await self.tenant.once("DELETE", LBAAS + path)
        await self._arrive(kind, visible)

    async def _arrive(self, kind: str, visible: Callable[[Held], bool]) -> None:
        async def all_there() -> bool:
            return not await self.tenant.unsettled() and await self._sees(visible)

        await eventually(all_there, within_seconds=LIMIT_SECONDS, every_seconds=LOOK_SECONDS)
        self.arrived[kind] += 1

    async def _sees(self, visible: Callable[[Held], bool]) -> bool:
        try:
            partitions = await asyncio.to_thread(self._daemon().partitions)
        except OSError:  # it was killed, or is just beginning
            return False
        held = [Held(one) for one in partitions if one.name == self._partition]
        try:
            return bool(held) and visible(held[0])
        except KeyError:
            return False
