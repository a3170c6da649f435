"""The demo's proxy: who may use its controls, and which controller it shows."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import ClientSession, web

from evenkeel.demo.cluster import Cluster
from evenkeel.demo.controls import FaultControls
from evenkeel.demo.dashboard_proxy import TOKEN_HEADER, DashboardProxy

HOSTS = ("host-1", "host-2")


class Stage:
    """A proxy before ``controllers``, and a client of it."""

    def __init__(self, proxy: DashboardProxy, controls: FaultControls, session: ClientSession) -> None:
        self.proxy = proxy
        self.controls = controls
        self.session = session
        parts = urlsplit(proxy.url)
        self.root = f"{parts.scheme}://{parts.netloc}"
        self.token = parse_qs(parts.query)["demo"][0]

    async def ask(self, path: str, **more: Any) -> tuple[int, str]:
        async with self.session.request(more.pop("method", "GET"), self.root + path, **more) as answer:
            return answer.status, await answer.text()

    async def control(self, body: Any, token: str | None = None) -> tuple[int, str]:
        headers = {TOKEN_HEADER: self.token if token is None else token}
        return await self.ask("/demo/controls", method="POST", json=body, headers=headers)


@pytest.fixture
def controllers() -> list[str]:
    return []


@pytest.fixture
async def stage(tmp_path: Path, controllers: list[str]) -> AsyncIterator[Stage]:
    cluster = Cluster(tmp_path)
    controls = FaultControls(cluster, HOSTS, lambda text: None)
    proxy = DashboardProxy(lambda: controllers, controls)
    await proxy.start()
    async with ClientSession() as session:
        yield Stage(proxy, controls, session)
    await proxy.close()
    cluster.close()


async def test_proxy_answers_before_a_controller_runs(stage: Stage) -> None:
    assert urlsplit(stage.proxy.url).hostname == "127.0.0.1"
    status, text = await stage.ask("/ui/")
    assert (status, "starting" in text) == (503, True)
    assert (await stage.ask("/evenkeel/v1/status"))[0] == 503


async def test_any_controller_that_answers_is_shown(stage: Stage, controllers: list[str]) -> None:
    asked = []

    async def echo(request: web.Request) -> web.Response:
        asked.append((request.method, request.raw_path, await request.text(), request.headers.get("Authorization")))
        return web.Response(text="here", headers={"x-openstack-request-id": "req-1"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    controllers += ["http://127.0.0.1:1", f"http://127.0.0.1:{runner.addresses[0][1]}"]
    headers = {"Authorization": "Basic x"}
    assert await stage.ask("/v2/lb%2Faas?a=b", method="PUT", data="body", headers=headers) == (200, "here")
    await runner.cleanup()
    assert asked == [("PUT", "/v2/lb%2Faas?a=b", "body", "Basic x")]


async def test_controls_need_the_token_and_the_address(stage: Stage) -> None:
    stage.controls.offered = True
    for token in ("", "wrong", stage.token + "x"):
        assert (await stage.control({"action": "heal"}, token))[0] == 403
    status, _ = await stage.ask("/demo/controls", headers={TOKEN_HEADER: stage.token, "Host": "elsewhere.example.org"})
    assert status == 421
    assert (await stage.ask("/", headers={"Host": "elsewhere.example.org"}))[0] == 421


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"action": "burn"}, "kill, freeze, cut, heal"),
        ({"action": "kill", "host": "host-9"}, "host-1, host-2"),
        ({"action": "kill"}, "host"),
        ([], "action"),
    ],
)
async def test_control_that_is_not_offered_is_refused(stage: Stage, body: Any, told: str) -> None:
    stage.controls.offered = True
    status, text = await stage.control(body)
    assert (status, told in text) == (409, True)


async def test_controls_are_refused_while_the_scenario_runs(stage: Stage) -> None:
    status, text = await stage.control({"action": "kill", "host": "host-1"})
    assert (status, "scenario" in text) == (409, True)
