"""An endpoint below a path, as openstacksdk uses it through a proxy that removes the path."""

import asyncio
from pathlib import Path
from typing import Any

import openstack
import pytest
from aiohttp import ClientSession, web

from evenkeel.cmd.controllers.serving import api_path_prefix
from tests.cmd.apiserver import load, serving

PREFIX = "/load-balancer"


async def proxy_to(address: str, **headers: str) -> tuple[web.AppRunner, str]:
    """A proxy that removes the prefix, and its URL with the prefix."""

    async def forward(request: web.Request) -> web.Response:
        sent = {"Host": request.host, "Content-Type": "application/json", **headers}
        url = f"http://{address}{request.raw_path.removeprefix(PREFIX) or '/'}"
        async with ClientSession() as session, session.request(request.method, url, headers=sent) as answer:
            return web.Response(body=await answer.read(), status=answer.status, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", PREFIX + "{rest:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}{PREFIX}"


def listed(url: str) -> list[Any]:
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth={"endpoint": url}, region_name="x"
    )
    try:
        return list(connection.load_balancer.load_balancers())
    finally:
        connection.close()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(
    ("options", "headers"),
    [("path_prefix = /load-balancer", {}), ("", {"X-Forwarded-Prefix": PREFIX})],
    ids=["by option", "by header"],
)
async def test_openstacksdk_uses_an_endpoint_below_a_path(
    tmp_path: Path, options: str, headers: dict[str, str]
) -> None:
    async with serving(tmp_path, f"[api]\n{options}\n[identity]\nkind = none\n") as (address, _):
        runner, url = await proxy_to(address, **headers)
        try:
            async with ClientSession() as session, session.get(f"{url}/") as answer:
                links = {link["href"] for one in (await answer.json())["versions"] for link in one["links"]}
            assert links == {f"{url}/v2"}
            assert await asyncio.to_thread(listed, url) == []
        finally:
            await runner.cleanup()


def test_bad_path_prefix_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"api\.path_prefix: 'cloud' is not a path prefix\. Allowed: /name"):
        api_path_prefix(load(tmp_path, "[api]\npath_prefix = cloud\n"))
