"""A stand-in for Keystone v3, as far as validating tokens goes: versions, a service's login, and the token's data."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from aiohttp import web

SERVICE_PASSWORD = "service-secret"
_DOMAIN = {"id": "default", "name": "Default"}


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class StandIn:
    """Tokens by hand. Use :meth:`serving`."""

    def __init__(self) -> None:
        self._tokens: dict[str, dict[str, Any]] = {}
        self._runner: web.AppRunner | None = None
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator[Self]:
        """Serve on a free port."""
        server = cls()
        app = web.Application()
        app.add_routes(
            [
                web.get("/", server._versions),
                web.get("/v3", server._version),
                web.get("/v3/", server._version),
                web.post("/v3/auth/tokens", server._log_in),
                web.get("/v3/auth/tokens", server._validate),
            ]
        )
        server._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await server._runner.setup()
        site = web.TCPSite(server._runner, "127.0.0.1", 0)
        await site.start()
        port = server._runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}"
        try:
            yield server
        finally:
            await server.stop()

    async def stop(self) -> None:
        """Be gone."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def options(self, *, token_cache_time: int) -> str:
        """What an operator writes into the controller's file."""
        return (
            "[keystone_authtoken]\n"
            f"www_authenticate_uri = {self.url}\n"
            f"auth_url = {self.url}\n"
            "auth_type = password\n"
            "username = evenkeel\n"
            f"password = {SERVICE_PASSWORD}\n"
            "user_domain_id = default\n"
            "project_name = service\n"
            "project_domain_id = default\n"
            "service_token_roles_required = true\n"
            f"token_cache_time = {token_cache_time}\n"
            "http_request_max_retries = 0\n"
        )

    def issue(self, *, roles: Sequence[str], project_id: str = "", system: bool = False) -> str:
        """A new token of alice's."""
        now = datetime.now(UTC)
        token: dict[str, Any] = {
            "methods": ["password"],
            "user": {"id": "user-1", "name": "alice", "domain": _DOMAIN},
            "audit_ids": [uuid.uuid4().hex],
            "issued_at": _time(now),
            "expires_at": _time(now + timedelta(hours=1)),
            "roles": [{"id": f"id-of-{role}", "name": role} for role in roles],
            "catalog": [self._identity()],
        }
        if project_id:
            token["project"] = {"id": project_id, "name": project_id, "domain": _DOMAIN}
        if system:
            token["system"] = {"all": True}
        name = uuid.uuid4().hex
        self._tokens[name] = token
        return name

    def revoke(self, token: str) -> None:
        """It is none any more."""
        del self._tokens[token]

    def _identity(self) -> dict[str, Any]:
        endpoints = [
            {"id": interface, "interface": interface, "region": "R", "region_id": "R", "url": f"{self.url}/v3"}
            for interface in ("public", "internal", "admin")
        ]
        return {"id": "identity", "type": "identity", "name": "keystone", "endpoints": endpoints}

    def _described(self) -> dict[str, Any]:
        link = {"rel": "self", "href": f"{self.url}/v3/"}
        return {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": [link]}

    async def _versions(self, request: web.Request) -> web.Response:
        return web.json_response({"versions": {"values": [self._described()]}}, status=300)

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": self._described()})

    async def _log_in(self, request: web.Request) -> web.Response:
        user = (await request.json())["auth"]["identity"]["password"]["user"]
        if user["password"] != SERVICE_PASSWORD:
            return web.json_response({"error": {"code": 401}}, status=401)
        name = self.issue(project_id="service", roles=["service", "admin"])
        return web.json_response({"token": self._tokens[name]}, status=201, headers={"X-Subject-Token": name})

    async def _validate(self, request: web.Request) -> web.Response:
        if request.headers.get("X-Auth-Token") not in self._tokens:
            return web.json_response({"error": {"code": 401}}, status=401)
        token = self._tokens.get(request.headers.get("X-Subject-Token", ""))
        if token is None:
            return web.json_response({"error": {"code": 404}}, status=404)
        return web.json_response({"token": token})
