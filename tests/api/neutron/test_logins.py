"""The old command line logs in: with a password, with a token, and by a region of Keystone's catalogue."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.identity.password_file import PasswordFileIdentity
from evenkeel.api.identity.users import watched_users
from evenkeel.cmd import users
from evenkeel.cmd.process.runtime import SystemClock
from tests.api.client_shell import Ran
from tests.api.identity.keystone_stand_in import SERVICE_PASSWORD, StandIn
from tests.api.live import LiveServer
from tests.api.neutron.neutron_shell import neutron

LIST = ("lbaas-loadbalancer-list", "-f", "json")
REGION = "lbaas"


def logged_in(url: str, **environment: str) -> Ran:
    """List load balancers with these variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return neutron(url, *LIST, auth_type=environment["OS_AUTH_TYPE"])


def test_with_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "users"
    monkeypatch.setattr(users, "read_new_password", lambda name, *, from_stdin: "geheim")
    assert users.main(["--file", str(file), "add", "alice", "--project", "pa", "--roles", "member"]) == 0
    with LiveServer.started(tmp_path, PasswordFileIdentity(watched_users(file), SystemClock())) as live:
        known = {"OS_AUTH_TYPE": "http_basic", "OS_USERNAME": "alice"}
        assert logged_in(live.url, **known, OS_PASSWORD="geheim").shown == []
        assert logged_in(live.url, **known, OS_PASSWORD="wrong").code == 1


def test_with_a_token(tmp_path: Path) -> None:
    with LiveServer.started(tmp_path) as live:
        assert logged_in(live.url, OS_AUTH_TYPE="admin_token", OS_TOKEN="any").shown == []


class Catalogue(StandIn):
    """Keystone with an endpoint of type ``network`` in two regions, one of which is ours."""

    ours = ""

    def issue(self, **options: Any) -> str:
        name = super().issue(**options)
        endpoints = [
            {"id": region, "interface": "public", "region": region, "region_id": region, "url": url}
            for region, url in (("R", "http://127.0.0.1:1"), (REGION, self.ours))
        ]
        self._tokens[name]["catalog"].append({"id": "n", "type": "network", "name": "n", "endpoints": endpoints})
        return name


async def test_by_a_region_of_the_catalogue(tmp_path: Path) -> None:
    with LiveServer.started(tmp_path) as live:
        async with Catalogue.serving() as keystone:
            keystone.ours = f"{live.url}/neutron"
            environment = {
                "OS_AUTH_TYPE": "password",
                "OS_AUTH_URL": f"{keystone.url}/v3",
                "OS_USERNAME": "evenkeel",
                "OS_PASSWORD": SERVICE_PASSWORD,
                "OS_PROJECT_NAME": "service",
                "OS_USER_DOMAIN_ID": "default",
                "OS_PROJECT_DOMAIN_ID": "default",
                "OS_REGION_NAME": REGION,
            }
            assert (await asyncio.to_thread(logged_in, "", **environment)).shown == []
