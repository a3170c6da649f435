"""One device's HTTPS server: transport, authentication, fault injection and logging around the dispatcher."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import structlog
from aiohttp import web

from icontrol_emulator import errors
from icontrol_emulator.device import Device
from icontrol_emulator.errors import HtmlError, IControlError, RestError
from icontrol_emulator.faults import ActiveFault, FaultBook
from icontrol_emulator.latency import Latency
from icontrol_emulator.rest import shared
from icontrol_emulator.rest.dispatch import Dispatcher
from icontrol_emulator.rest.message import WRITES, Call, Query, Reply, parse_query
from icontrol_emulator.writelog import InFlight, RequestCounts, WriteLog, without_secrets

log = structlog.get_logger(__name__)

BODY_BYTES_MAX = 16 * 1024 * 1024
SHUTDOWN_SECONDS = 0.2
TRANSACTIONS = "/mgmt/tm/transaction/"
TRANSACTION_HEADER = "X-F5-REST-Coordination-Id"
HEADERS = {
    "Server": "Jetty(9.4.49.v20220914)",
    "Pragma": "no-cache",
    "Cache-Control": "no-store, no-cache, must-revalidate",
    "Expires": "-1",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=16070400; includeSubDomains",
}


class _Dropped(Exception):
    """The connection is to be closed without a response."""


class DeviceServer:
    def __init__(
        self, device: Device, dispatcher: Dispatcher, faults: FaultBook, write_log: WriteLog, counts: RequestCounts,
        latency: Latency,
    ) -> None:  # fmt: skip
        self._device = device
        self._dispatcher = dispatcher
        self._faults = faults
        self._log = write_log
        self._counts = counts
        self._latency = latency
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._tls: ssl.SSLContext | None = None
        self._host = ""
        self.port = 0

    # -- listening

    async def start(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        self._host, self.port, self._tls = host, port, tls
        await self.up()
        self.port = self._runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        self._device.url = f"https://{shown}:{self.port}"

    async def up(self) -> None:
        if self._runner is not None and self._site is None:
            self._site = web.TCPSite(
                self._runner, self._host, self.port, ssl_context=self._tls, reuse_address=True, backlog=512
            )
            await self._site.start()

    async def down(self) -> None:
        """Close the listening socket and every connection, as a reboot does."""
        site, self._site = self._site, None
        if site is not None:
            await site.stop()
        self._abort_connections()

    async def stop(self) -> None:
        await self.down()
        if self._runner is not None:
            await self._runner.cleanup()

    def _abort_connections(self) -> None:
        server = self._runner.server if self._runner else None
        for connection in server.connections if server else []:
            if connection.transport is not None:
                connection.transport.abort()

    # -- one request

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw_path, _, raw_query = request.raw_path.partition("?")
        user = self._claimed_user(request.headers)
        if not self._device.reachable:
            return self._drop(request)
        struck = self._faults.hits(self._device.name, user, request.method, request.raw_path)
        if any(hit.fault.kind == "refuse" for hit in struck):
            return self._drop(request)
        try:
            raw = await request.read()
        except (web.HTTPRequestEntityTooLarge, ConnectionError):
            return self._response(RestError(413, "Request body is too large."))
        self._counts.add(self._device.name, request.method, raw_path)
        arrived = self._log.arrive(
            device=self._device.name, user=user, user_agent=request.headers.get("User-Agent", ""),
            method=request.method, path=request.raw_path,
            transaction_id=request.headers.get(TRANSACTION_HEADER, ""), body=_logged(request.method, raw),
        )  # fmt: skip
        try:
            return await self._answer(request, raw_path, parse_query(raw_query), raw, arrived, struck)
        except _Dropped:
            return self._drop(request)
        finally:
            self._log.leave(arrived)

    def _drop(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=503)

    async def _answer(
        self, request: web.Request, path: str, query: Query, raw: bytes, arrived: InFlight, struck: list[ActiveFault]
    ) -> web.StreamResponse:  # fmt: skip
        headers = request.headers
        boots = self._device.boots
        outcome: Reply | IControlError | None = await self._fail_before(struck, arrived, path)
        if arrived.method != "GET":
            await self._delay(arrived, path, 0)
        if not self._device.reachable or self._device.boots != boots:
            raise _Dropped  # the process that had accepted the request has ended
        if outcome is None:
            outcome = self._execute(path, query, raw, arrived, headers, request.remote or "127.0.0.1")
        else:
            self._record(arrived, path, outcome, {}, [])
        if arrived.method == "GET":
            items = outcome.document.get("items") if isinstance(outcome, Reply) and outcome.document else None
            await self._delay(arrived, path, len(items or ()) if query.expand else 0)
        await self._hold_after(struck, arrived)
        return self._response(outcome)

    async def _fail_before(self, struck: list[ActiveFault], arrived: InFlight, path: str) -> IControlError | None:
        outcome: IControlError | None = None
        for hit in struck:
            kind = hit.fault.kind
            if kind == "latency":
                await asyncio.sleep(hit.fault.seconds)
            elif kind in ("hold", "unreachable"):
                await self._hold(hit, arrived)
                if kind == "unreachable":
                    raise _Dropped
            elif kind == "drop_before":
                raise _Dropped
            elif kind == "busy":
                outcome = errors.busy()
            elif kind == "mcpd_lost":
                outcome = errors.mcpd_lost()
            else:
                outcome = self._failure(kind, arrived, path) or outcome
        return outcome

    def _failure(self, kind: str, arrived: InFlight, path: str) -> IControlError | None:
        """The response to a request that a fault affects; None if the fault is about other requests."""
        if kind == "unregistered":
            return errors.restarting(path)
        if kind == "restarting":
            return errors.utility_restarting()
        if kind == "token_limit" and path == shared.LOGIN:
            return RestError(400, f"user {arrived.user} has reached maximum active login tokens")
        if kind == "refuse_transaction" and arrived.method == "PATCH" and path.startswith(TRANSACTIONS):
            with contextlib.suppress(IControlError):
                self._device.transactions.drop(self._device.transactions.get(path.split("/")[4]))
            return errors.transaction_failed(errors.configuration_error("refused by an injected fault"))
        return None

    async def _hold(self, hit: ActiveFault, arrived: InFlight) -> None:
        arrived.held = True
        try:
            await hit.gate.wait()
        finally:
            arrived.held = False

    async def _hold_after(self, struck: list[ActiveFault], arrived: InFlight) -> None:
        for hit in struck:
            if hit.fault.kind == "hold_after":
                await self._hold(hit, arrived)
            elif hit.fault.kind == "drop_after":
                raise _Dropped

    async def _delay(self, arrived: InFlight, path: str, objects: int) -> None:
        commits = arrived.method == "PATCH" and path.startswith("/mgmt/tm/transaction/")
        commands = len(self._device.transactions.commands_of(path.split("/")[4])) if commits else 0
        seconds = self._latency.seconds(arrived.method, path, commands=commands, objects=objects)
        if seconds > 0:
            await asyncio.sleep(seconds)

    # -- execution

    def _execute(
        self, path: str, query: Query, raw: bytes, arrived: InFlight, headers: Mapping[str, str], peer: str
    ) -> Reply | IControlError:  # fmt: skip
        body: Mapping[str, Any] = {}
        commands: list[Any] = []
        outcome: Reply | IControlError
        try:
            if self._dispatcher.extension_of(path) is None:
                body = _body(path, raw)
            call = Call(
                method=arrived.method, path=path, query=query, body=body, raw=raw, headers=headers, peer=peer,
                transaction_id=arrived.transaction_id,
            )  # fmt: skip
            if path == shared.LOGIN and arrived.method == "POST":
                return shared.login(self._device, call)
            user = self._authenticate(path, headers, peer)
            arrived.user = user
            commands = self._commands_to_commit(arrived, path)
            outcome = self._dispatcher.answer(self._device, replace(call, user=user))
        except IControlError as error:
            outcome = error
        except Exception:
            log.exception("request failed", device=self._device.name, method=arrived.method, path=path)
            outcome = IControlError(500, "internal emulator error", 1)
        self._record(arrived, path, outcome, body, commands)
        return outcome

    def _commands_to_commit(self, arrived: InFlight, path: str) -> list[Any]:
        if arrived.method != "PATCH" or not path.startswith("/mgmt/tm/transaction/"):
            return []
        queued = self._device.transactions.commands_of(path.split("/")[4])
        return [
            {"method": each.call.method, "uri": each.call.path, "body": without_secrets(each.call.body)}
            for each in queued
        ]

    def _record(
        self, arrived: InFlight, path: str, outcome: Reply | IControlError, body: Mapping[str, Any], commands: list[Any]
    ) -> None:  # fmt: skip
        if arrived.method not in WRITES or path.startswith("/mgmt/shared/auth"):
            return
        failed = isinstance(outcome, IControlError)
        event = _event(arrived, path, body, failed)
        if isinstance(outcome, Reply) and event == "transaction_opened":
            arrived.transaction_id = str(outcome.document["transId"])
        elif path.startswith("/mgmt/tm/transaction/"):
            arrived.transaction_id = path.split("/")[4]
        shown = {"commands": commands} if commands else arrived.body
        error = None
        if isinstance(outcome, IControlError):
            error = "HTML page" if isinstance(outcome, HtmlError) else outcome.message
        self._log.append(arrived, event, outcome.status, error, shown)

    def _claimed_user(self, headers: Mapping[str, str]) -> str:
        """The user name in the request, not verified: used for faults and the log."""
        name = headers.get("X-F5-Auth-Token", "")
        if name:
            try:
                return self._device.tokens.user_of(name)
            except RestError:
                return ""
        return _basic(headers)[0]

    def _authenticate(self, path: str, headers: Mapping[str, str], peer: str) -> str:
        token = headers.get("X-F5-Auth-Token", "")
        if token:
            return self._device.tokens.user_of(token)
        user, password = _basic(headers)
        if not user:
            raise errors.no_credentials(path, peer)
        if not shared.check_password(self._device, user, password):
            raise errors.unauthorized_html()
        return user

    def _response(self, outcome: Reply | IControlError) -> web.Response:
        if isinstance(outcome, HtmlError):
            headers = {**HEADERS, "WWW-Authenticate": 'Basic realm="Enterprise Manager"'}
            return web.Response(status=outcome.status, text=outcome.message, content_type="text/html", headers=headers)
        if isinstance(outcome, IControlError):
            return _json(outcome.status, outcome.body())
        if outcome.content is not None:
            headers = {**HEADERS, "Content-Range": outcome.content_range, "Content-Type": "application/octet-stream"}
            return web.Response(status=outcome.status, body=outcome.content, headers=headers)
        if outcome.document is None:
            return web.Response(status=outcome.status, headers=HEADERS)
        return _json(outcome.status, outcome.document)


def _json(status: int, document: Any) -> web.Response:
    response = web.Response(status=status, body=msgspec.json.encode(document), headers=HEADERS)
    response.headers["Content-Type"] = "application/json; charset=UTF-8"
    return response


def _basic(headers: Mapping[str, str]) -> tuple[str, str]:
    scheme, _, encoded = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, password = base64.b64decode(encoded).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password


def _body(path: str, raw: bytes) -> Mapping[str, Any]:
    if not raw or path.startswith("/mgmt/shared/file-transfer"):
        return {}
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise errors.invalid_json() from None
    if not isinstance(body, dict):
        raise errors.invalid_json()
    return body


def _logged(method: str, raw: bytes) -> Any:
    if method not in WRITES or not raw:
        return None
    try:
        return without_secrets(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"bytes": len(raw)}


def _event(arrived: InFlight, path: str, body: Mapping[str, Any], failed: bool) -> str:
    if not path.startswith("/mgmt/tm/transaction"):
        return "transaction_queued" if arrived.transaction_id else "write"
    if arrived.method == "DELETE" and "/commands" not in path:
        return "transaction_dropped"
    if path.rstrip("/") == "/mgmt/tm/transaction":
        return "write" if failed else "transaction_opened"
    if body.get("state") == "VALIDATING":
        return "transaction_refused" if failed else "transaction_committed"
    return "write"
