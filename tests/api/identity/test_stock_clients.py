"""The stock clients with HTTP basic against a password file: openstacksdk, and the ``openstack`` command line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack import exceptions

from evenkeel.api.identity.password_file import PasswordFileIdentity
from evenkeel.api.identity.users import watched_users
from evenkeel.cmd import users
from evenkeel.cmd.process.runtime import SystemClock
from tests.api import bodies
from tests.api.client_process import Done, openstack_process
from tests.api.live import LiveServer

PASSWORDS = {"alice": "pass: ward", "bob": "geheim", "root": "r00t"}

# the client warns of its own future, which is not ours
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with three users: two members of different projects, and the administrator."""
    folder = tmp_path_factory.mktemp("basic")
    file = folder / "users"
    with pytest.MonkeyPatch.context() as patch:
        for name, project, roles in (("alice", "pa", "member"), ("bob", "pb", "member"), ("root", "ops", "admin")):
            patch.setattr(users, "read_new_password", lambda name, *, from_stdin: PASSWORDS[name])
            assert users.main(["--file", str(file), "add", name, "--project", project, "--roles", roles]) == 0
    with LiveServer.started(folder, PasswordFileIdentity(watched_users(file), SystemClock())) as server:
        yield server


def connection(live: LiveServer, name: str, password: str | None = None) -> Any:
    """openstacksdk's connection of a user."""
    return openstack.connect(
        load_envvars=False,
        load_yaml_config=False,
        auth_type="http_basic",
        auth={"endpoint": live.url, "username": name, "password": password or PASSWORDS[name]},
        region_name="x",
    )


def test_sdk_logs_in_and_sees_its_own_project_only(live: LiveServer) -> None:
    with connection(live, "alice") as alice, connection(live, "bob") as bob, connection(live, "root") as root:
        made = alice.load_balancer.create_load_balancer(name="web", vip_subnet_id=bodies.SUBNET_ID)
        assert made.project_id == "pa"
        assert [row.id for row in alice.load_balancer.load_balancers()] == [made.id]
        assert list(bob.load_balancer.load_balancers()) == []
        with pytest.raises(exceptions.ForbiddenException):
            bob.load_balancer.get_load_balancer(made.id)
        with pytest.raises(exceptions.ForbiddenException, match="Policy does not allow"):
            bob.load_balancer.create_load_balancer(vip_subnet_id=bodies.SUBNET_ID, project_id="pa")
        assert made.id in [row.id for row in root.load_balancer.load_balancers()]
        assert (
            root.load_balancer.create_load_balancer(vip_subnet_id=bodies.SUBNET_ID, project_id="pb").project_id == "pb"
        )


def test_sdk_with_a_wrong_password_gets_that_reason(live: LiveServer) -> None:
    with connection(live, "alice", "wrong") as alice, pytest.raises(exceptions.HttpException) as caught:
        list(alice.load_balancer.load_balancers())
    assert caught.value.status_code == 401


async def command(live: LiveServer, home: Path, name: str, *words: str) -> Done:
    """Run ``openstack loadbalancer …`` as a user."""
    login = {
        "OS_AUTH_TYPE": "http_basic",
        "OS_ENDPOINT": live.url,
        "OS_USERNAME": name,
        "OS_PASSWORD": PASSWORDS[name],
    }
    return await openstack_process(home, login, *words)


@pytest.mark.timeout(900)
async def test_command_line_logs_in_and_works_by_name(live: LiveServer, tmp_path: Path) -> None:
    create = ("create", "--name", "cli", "--vip-subnet-id", "blue", "--wait", "-f", "json")
    code, made, errors = await command(live, tmp_path, "bob", *create)
    assert code == 0, errors
    assert (made["project_id"], made["provisioning_status"]) == ("pb", "ACTIVE")
    _, shown, _ = await command(live, tmp_path, "bob", "show", "cli", "-f", "json")
    assert shown["id"] == made["id"]
    code, _, errors = await command(live, tmp_path, "alice", "show", made["id"], "-f", "json")
    assert code != 0 and "Policy does not allow this request" in errors
    with connection(live, "bob") as bob:  # who has nothing, another test says, and it may run after this one
        bob.load_balancer.delete_load_balancer(made["id"])
