"""The control API: plain HTTP on loopback, by which tests and demonstrations control and observe the devices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from aiohttp import web

from icontrol_emulator.faults import Fault, FaultBook
from icontrol_emulator.writelog import WriteLog

Handler = Callable[[web.Request], Awaitable[Any]]


class Steering(Protocol):
    """The part of the emulator that the control API requires."""

    faults: FaultBook
    write_log: WriteLog

    @property
    def request_counts(self) -> dict[str, dict[str, int]]: ...

    def reset_counts(self) -> None: ...

    def status(self) -> dict[str, Any]: ...

    async def failover(self, device: str) -> None: ...

    async def restart(self, device: str, daemon: str, *, seconds: float) -> None: ...

    def fill_disk(self, device: str, *, full: bool) -> None: ...

    async def reboot(self, device: str, *, seconds: float, lose_unsaved: bool) -> None: ...

    def set_member_state(self, device: str, pool: str, member: str, state: str | None) -> None: ...

    def snapshot(self, device: str, name: str) -> None: ...

    def restore(self, device: str, name: str) -> None: ...

    def wipe(self, device: str) -> None: ...


class ControlServer:
    def __init__(self, emulator: Steering) -> None:
        self._emulator = emulator
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, host: str, port: int) -> None:
        app = web.Application()
        for method, path, handler in self._routes():
            app.router.add_route(method, path, _as_json(handler))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        self.url = f"http://{host}:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("GET", "/status", self._status),
            ("GET", "/writes", self._writes),
            ("GET", "/inflight", self._in_flight),
            ("GET", "/counters", self._counters),
            ("POST", "/counters/reset", self._reset_counters),
            ("GET", "/faults", self._faults),
            ("POST", "/faults", self._add_fault),
            ("DELETE", "/faults", self._clear_faults),
            ("DELETE", "/faults/{id}", self._remove_fault),
            ("POST", "/release", self._release),
            ("POST", "/failover", self._failover),
            ("POST", "/reboot", self._reboot),
            ("POST", "/restart", self._restart),
            ("POST", "/disk", self._disk),
            ("POST", "/members", self._member),
            ("POST", "/snapshot", self._snapshot),
            ("POST", "/restore", self._restore),
            ("POST", "/wipe", self._wipe),
        ]

    async def _status(self, request: web.Request) -> Any:
        return self._emulator.status()

    async def _writes(self, request: web.Request) -> Any:
        query = request.query
        limit = int(query["limit"]) if "limit" in query else None
        log = self._emulator.write_log
        return {
            "entries": log.entries(int(query.get("after", "0")), query.get("device"), limit),
            "last_seq": log.last_seq,
        }

    async def _in_flight(self, request: web.Request) -> Any:
        return {"requests": self._emulator.write_log.in_flight()}

    async def _counters(self, request: web.Request) -> Any:
        return self._emulator.request_counts

    async def _reset_counters(self, request: web.Request) -> Any:
        self._emulator.reset_counts()
        return {}

    async def _faults(self, request: web.Request) -> Any:
        return {"faults": self._emulator.faults.listing()}

    async def _add_fault(self, request: web.Request) -> Any:
        return {"id": self._emulator.faults.add(Fault(**await _body(request)))}

    async def _clear_faults(self, request: web.Request) -> Any:
        self._emulator.faults.clear()
        return {}

    async def _remove_fault(self, request: web.Request) -> Any:
        if not self._emulator.faults.remove(int(request.match_info["id"])):
            raise KeyError("no such fault")
        return {}

    async def _release(self, request: web.Request) -> Any:
        self._emulator.faults.release((await _body(request)).get("id"))
        return {}

    async def _failover(self, request: web.Request) -> Any:
        await self._emulator.failover((await _body(request))["device"])
        return self._emulator.status()

    async def _reboot(self, request: web.Request) -> Any:
        body = await _body(request)
        lose = bool(body.get("lose_unsaved", True))
        await self._emulator.reboot(body["device"], seconds=float(body.get("seconds", 5.0)), lose_unsaved=lose)
        return {}

    async def _restart(self, request: web.Request) -> Any:
        body = await _body(request)
        await self._emulator.restart(body["device"], body["daemon"], seconds=float(body.get("seconds", 5.0)))
        return {}

    async def _disk(self, request: web.Request) -> Any:
        body = await _body(request)
        self._emulator.fill_disk(body["device"], full=bool(body["full"]))
        return {}

    async def _member(self, request: web.Request) -> Any:
        body = await _body(request)
        self._emulator.set_member_state(body["device"], body["pool"], body["member"], body.get("state"))
        return {}

    async def _snapshot(self, request: web.Request) -> Any:
        body = await _body(request)
        self._emulator.snapshot(body["device"], body["name"])
        return {}

    async def _restore(self, request: web.Request) -> Any:
        body = await _body(request)
        self._emulator.restore(body["device"], body["name"])
        return {}

    async def _wipe(self, request: web.Request) -> Any:
        self._emulator.wipe((await _body(request))["device"])
        return {}


async def _body(request: web.Request) -> dict[str, Any]:
    raw = await request.read()
    body = msgspec.json.decode(raw) if raw else {}
    if not isinstance(body, dict):
        raise ValueError("a JSON object is expected")
    return body


def _as_json(handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            document, status = await handler(request), 200
        except KeyError as error:
            document, status = {"error": f"not found: {error}"}, 404
        except (ValueError, TypeError, msgspec.DecodeError) as error:
            document, status = {"error": str(error)}, 400
        return web.Response(status=status, body=msgspec.json.encode(document), content_type="application/json")

    return handle
