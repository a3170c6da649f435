"""Which network a controller's file names; and logging in to a Keystone, as far as keystoneauth is asked to."""

import json
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.options import network_options
from evenkeel.cmd.options.network_options import OpenedNetwork, open_network
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.network.builtin import BuiltinNetwork
from tests.network.claims import Claims

PASSWORD = "s3cret-of-neutron"
NO_SDK_NOISE = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


def opened(tmp_path: Path, text: str) -> OpenedNetwork:
    file = tmp_path / "controller.ini"
    file.write_text(text)
    groups = {"network": network_options.NETWORK_OPTIONS, "neutron": network_options.NEUTRON_OPTIONS}
    store: Any = SimpleNamespace(operators=Claims(), claims=Claims(), device_ports=Claims())
    return open_network(load_configuration("controller", ["--config-file", str(file)], groups=groups), store)


def test_the_builtin_network_is_the_default(tmp_path: Path) -> None:
    it = opened(tmp_path, "")
    assert isinstance(it.network, BuiltinNetwork)
    assert not it.gives_back


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[network]\ndriver = nova\n", r"\[network\] driver: .*builtin.*neutron"),
        ("[network]\ndriver = neutron\n", r"neutron\.auth_type: not set"),
        ("[network]\ndriver = neutron\n[neutron]\nauth_type = telepathy\n", r"neutron: .*telepathy"),
        ("[network]\ndriver = neutron\n[neutron]\nauth_type = password\n", r"neutron: .*auth_url"),
        (
            "[network]\ndriver = neutron\n[neutron]\nauth_type = none\nendpoint = http://x\ncafile = /no/such\n",
            r"neutron\.cafile: /no/such: no such file",
        ),
        ("[network]\ndriver = neutron\n[neutron]\noperation_timeout = 0\n", r"\[neutron\] operation_timeout"),
    ],
)
def test_invalid_option_is_named_at_start(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        opened(tmp_path, text)


class Cloud:
    """A Keystone and a Neutron with one subnet."""

    def __init__(self) -> None:
        self.url = ""
        self.tokens_asked_for: list[str | None] = []

    async def log_in(self, request: web.Request) -> web.Response:
        body = json.loads(await request.text())
        user = body["auth"]["identity"]["password"]["user"]
        self.tokens_asked_for.append(user["name"])
        if user["password"] != PASSWORD:
            return web.json_response({"error": {"code": 401, "message": "no"}}, status=401)
        urls = {"internal": f"{self.url}/inside/", "public": f"{self.url}/outside/"}
        endpoints = [
            {"interface": name, "url": url, "region": "one", "region_id": "one", "id": name}
            for name, url in urls.items()
        ]
        catalog = [{"type": "network", "name": "neutron", "id": "1", "endpoints": endpoints}]
        times = {"issued_at": "2026-01-01T00:00:00.000000Z", "expires_at": "2096-01-01T00:00:00.000000Z"}
        token = {"catalog": catalog, "methods": ["password"], "user": {"id": "u"}, "project": {"id": "p"}, **times}
        return web.json_response({"token": token}, status=201, headers={"X-Subject-Token": "the-token"})

    async def keystone(self, _request: web.Request) -> web.Response:
        links = [{"rel": "self", "href": f"{self.url}/v3/"}]
        return web.json_response({"version": {"id": "v3.14", "status": "stable", "links": links}})

    async def neutron(self, _request: web.Request) -> web.Response:
        links = [{"rel": "self", "href": f"{self.url}/inside/v2.0/"}]
        return web.json_response({"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})

    async def subnets(self, request: web.Request) -> web.Response:
        if request.headers.get("X-Auth-Token") != "the-token":
            return web.json_response({}, status=401)
        return web.json_response({"subnets": [{"id": "s1", "name": "blue"}]})

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.get("/v3", self.keystone),
                web.post("/v3/auth/tokens", self.log_in),
                web.get("/inside/", self.neutron),
                web.get("/inside/v2.0/subnets", self.subnets),
            ]
        )
        return app


@pytest.fixture
async def cloud() -> AsyncIterator[Cloud]:
    made = Cloud()
    runner = web.AppRunner(made.app())
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}"
    yield made
    await runner.cleanup()


def file_for(cloud: Cloud, password: str) -> str:
    return f"""
[network]
driver = neutron
[neutron]
auth_type = password
auth_url = {cloud.url}/v3
username = evenkeel
password = {password}
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = one
operation_timeout = 120
"""


@NO_SDK_NOISE
async def test_a_user_and_password_find_neutron_in_the_catalogue(tmp_path: Path, cloud: Cloud) -> None:
    with closing(opened(tmp_path, file_for(cloud, PASSWORD))) as it:
        for _ in range(2):
            (subnet,) = await it.network.look_up("subnets", {"name": ["blue"]}, project_id=None)
            assert subnet["id"] == "s1"
        assert cloud.tokens_asked_for == ["evenkeel"], "the token is kept"
        assert it.gives_back


@NO_SDK_NOISE
async def test_a_refused_password_is_reported_without_it(tmp_path: Path, cloud: Cloud) -> None:
    with closing(opened(tmp_path, file_for(cloud, "wr0ng-password"))) as it:
        with pytest.raises(NetworkUnavailable, match="credentials") as raised:
            await it.network.look_up("subnets", {}, project_id=None)
        assert "wr0ng" not in str(raised.value)
