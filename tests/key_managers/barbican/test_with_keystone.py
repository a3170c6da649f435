"""A real Barbican that believes a real Keystone, logged in to as the documentation tells operators to."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.key_manager_options import open_key_manager
from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import KeyManager
from evenkeel.core.tls.certificates import Secret
from evenkeel.key_managers.parsing import certificate_bundle
from tests.key_managers.authority import INTERMEDIATE, LEAF
from tests.services import barbican, keystone
from tests.services.barbican import BarbicanServer
from tests.services.installation import NotInstallable
from tests.services.keystone import ADMIN_PASSWORD, Keystone

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),  # the SDK's, of itself
]

BUNDLE = certificate_bundle("any", LEAF.pem + INTERMEDIATE.pem, Secret(LEAF.key_pem()))
CONFIGURATION = """
[certificates]
key_manager = barbican
[barbican]
auth_type = password
auth_url = {url}
username = evenkeel
password = of-evenkeel
user_domain_name = Default
region_name = R
"""


class Cloud:
    """Both, with two projects, a person in each, and our user, who is a member of every project of the domain."""

    def __init__(self, server: Keystone, key_manager: BarbicanServer) -> None:
        self.keystone = server
        self.projects: dict[str, ProjectId] = {}
        with self.connection("admin", "admin", ADMIN_PASSWORD) as admin:
            identity = admin.identity
            service = identity.create_service(type="key-manager", name="barbican")
            identity.create_endpoint(service_id=service.id, interface="public", region_id="R", url=key_manager.url)
            member = identity.find_role("member")
            for name in ("pa", "pb"):
                project = identity.create_project(name=name, domain_id="default")
                person = identity.create_user(name=f"person-of-{name}", password="of-a-person", domain_id="default")
                identity.assign_project_role_to_user(project, person, member)
                self.projects[name] = ProjectId(project.id)
            ours = identity.create_user(name="evenkeel", password="of-evenkeel", domain_id="default")
            inherited = f"/OS-INHERIT/domains/default/users/{ours.id}/roles/{member.id}/inherited_to_projects"
            assert identity.put(inherited).status_code == 204

    def connection(self, user: str, project: str, password: str) -> Any:
        """openstacksdk's."""
        auth = {"auth_url": self.keystone.url, "username": user, "password": password, "project_name": project}
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        return openstack.connect(load_envvars=False, load_yaml_config=False, auth=auth | domains, region_name="R")

    def secret(self, project: str, content: bytes) -> str:
        """Stored by the person of a project; its reference."""
        body = {
            "payload": base64.b64encode(content).decode(),
            "payload_content_type": "application/octet-stream",
            "payload_content_encoding": "base64",
        }
        with self.connection(f"person-of-{project}", project, "of-a-person") as person:
            made = person.key_manager.post("/secrets", json=body)
            assert made.status_code == 201, made.text
            return str(made.json()["secret_ref"])


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    try:
        identity, venv = Keystone(keystone.installed()), barbican.installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    identity.start()
    key_manager = BarbicanServer(venv, identity)
    key_manager.start()
    yield Cloud(identity, key_manager)
    key_manager.close()
    identity.close()


@pytest.fixture
def manager(cloud: Cloud, tmp_path: Path) -> Iterator[KeyManager]:
    file = tmp_path / "evenkeel.ini"
    file.write_text(CONFIGURATION.format(url=cloud.keystone.url))
    opened = open_key_manager(
        load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
    )
    assert opened.key_manager is not None
    yield opened.key_manager
    opened.close()


async def test_each_project_reads_its_own_and_no_others(cloud: Cloud, manager: KeyManager) -> None:
    for mine, other in (("pa", "pb"), ("pb", "pa")):
        reference = cloud.secret(mine, LEAF.pkcs12(INTERMEDIATE))

        assert await manager.certificate(reference, cloud.projects[mine]) == BUNDLE
        with pytest.raises(CertificateNotFound):
            await manager.certificate(reference, cloud.projects[other])


async def test_a_project_that_does_not_exist_is_no_missing_certificate(cloud: Cloud, manager: KeyManager) -> None:
    reference = cloud.secret("pa", LEAF.pkcs12(INTERMEDIATE))

    with pytest.raises(KeyManagerUnavailable, match="refuses the controllers' login"):
        await manager.certificate(reference, ProjectId("0" * 32))
