"""A real Keystone: users and roles made with the stock command line, tokens, catalogue, revocation."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from oslo_config import cfg

from tests.api import bodies
from tests.api.client_process import openstack_process
from tests.api.live import LiveServer
from tests.services.installation import NotInstallable
from tests.services.keystone import ADMIN_PASSWORD, Keystone, installed
from tests.services.openstack import keystone_authtoken

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports the standard library's cgi
    from evenkeel.api.identity import keystone

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(1200),  # the first one waits for the installation and the start
    # the client warns of its own future, which is not ours
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

OPTIONS = "service_token_roles_required = true\ntoken_cache_time = -1\n"


class Cloud:
    """Keystone, and our API in its catalogue."""

    def __init__(self, identity: Keystone, live: LiveServer) -> None:
        self.identity = identity
        self.live = live

    def connection(self, user: str = "admin", project: str = "admin", password: str = ADMIN_PASSWORD) -> Any:
        """openstacksdk's connection of a user in a project."""
        return openstack.connect(
            load_envvars=False,
            load_yaml_config=False,
            auth={
                "auth_url": self.identity.url,
                "username": user,
                "password": password,
                "project_name": project,
                "user_domain_id": "default",
                "project_domain_id": "default",
            },
            region_name="R",
        )


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Two projects with a member each, and a reader in the first."""
    folder = tmp_path_factory.mktemp("keystone")
    try:
        server = Keystone(installed())
    except NotInstallable as error:
        pytest.skip(str(error))
    try:
        server.start()
        file = folder / "controller.ini"
        file.write_text(keystone_authtoken(server.url, ADMIN_PASSWORD) + OPTIONS)
        conf = cfg.ConfigOpts()
        conf(["--config-file", str(file)], project="evenkeel")
        with LiveServer.started(folder, keystone.open_keystone(conf)) as live:
            made = Cloud(server, live)
            populate(made)
            yield made
    finally:
        server.close()


def populate(cloud: Cloud) -> None:
    """What an operator does once: the catalogue entry, projects and people."""
    with cloud.connection() as admin:
        # without Neutron the command line's look-ups of subnets are answered by us, too
        for kind in ("load-balancer", "network"):
            service = admin.identity.create_service(type=kind, name="evenkeel")
            admin.identity.create_endpoint(service_id=service.id, interface="public", region_id="R", url=cloud.live.url)
        for user, project, role in (("alice", "pa", "member"), ("bob", "pb", "member"), ("rita", "pa", "reader")):
            there = admin.identity.find_project(project) or admin.identity.create_project(name=project)
            person = admin.identity.create_user(name=user, password=f"{user}-secret", default_project_id=there.id)
            admin.identity.assign_project_role_to_user(there, person, admin.identity.find_role(role))


def test_tenants_find_the_api_in_the_catalogue_and_each_its_own_objects(cloud: Cloud) -> None:
    with (
        cloud.connection("alice", "pa", "alice-secret") as alice,
        cloud.connection("bob", "pb", "bob-secret") as bob,
        cloud.connection("rita", "pa", "rita-secret") as rita,
        cloud.connection() as admin,
    ):
        made = alice.load_balancer.create_load_balancer(name="web", vip_subnet_id=bodies.SUBNET_ID)
        assert made.project_id == alice.current_project_id
        assert [row.id for row in rita.load_balancer.load_balancers()] == [made.id]
        assert list(bob.load_balancer.load_balancers()) == []
        assert [row.id for row in admin.load_balancer.load_balancers()] == [made.id]
        with pytest.raises(openstack.exceptions.ForbiddenException, match="Policy does not allow"):
            rita.load_balancer.update_load_balancer(made, name="x")
        with pytest.raises(openstack.exceptions.ForbiddenException, match="Policy does not allow"):
            bob.load_balancer.get_load_balancer(made.id)


def test_a_revoked_token_is_refused_after_a_moment(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystone, "REMEMBERED_SECONDS", 0.0)
    with cloud.connection("bob", "pb", "bob-secret") as bob, cloud.connection() as admin:
        token = bob.auth_token
        path, headers = f"{cloud.live.url}/v2/lbaas/pools", {"X-Auth-Token": token}
        assert admin.session.get(path, headers=headers, authenticated=False).status_code == 200
        admin.identity.delete("/auth/tokens", headers={"X-Subject-Token": token})
        refused = admin.session.get(path, headers=headers, authenticated=False, raise_exc=False)
        assert refused.status_code == 401 and refused.headers["WWW-Authenticate"].startswith("Keystone uri=")


@pytest.mark.timeout(900)
async def test_the_stock_command_line_works_as_in_any_cloud(cloud: Cloud, tmp_path: Path) -> None:
    login = {
        "OS_AUTH_URL": cloud.identity.url,
        "OS_USERNAME": "alice",
        "OS_PASSWORD": "alice-secret",
        "OS_PROJECT_NAME": "pa",
        "OS_USER_DOMAIN_ID": "default",
        "OS_PROJECT_DOMAIN_ID": "default",
        "OS_IDENTITY_API_VERSION": "3",
    }
    create = ("create", "--name", "cli", "--vip-subnet-id", "blue", "--wait", "-f", "json")
    code, made, errors = await openstack_process(tmp_path, login, *create)
    assert code == 0, errors
    assert made["provisioning_status"] == "ACTIVE"
    with cloud.connection("alice", "pa", "alice-secret") as alice:  # the other test of hers may run after this one
        alice.load_balancer.delete_load_balancer(made["id"])
