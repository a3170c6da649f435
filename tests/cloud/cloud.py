"""A small cloud: a real Keystone, controllers and an agent as processes, both kinds of our API in the catalogue."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import openstack

from tests.api.stack import Stack
from tests.services.keystone import ADMIN_PASSWORD, Keystone

REGION = "R"
PROVIDER = "amphora"
"""What strangers' suites call the provider. The devices behind it are no-op ones."""
DOMAINS = {"user_domain_id": "default", "project_domain_id": "default"}


class Login(NamedTuple):
    """A user and the project in which one works."""

    user: str
    project: str
    password: str


ADMIN = Login("admin", "admin", ADMIN_PASSWORD)
DEMO = Login("demo", "demo", "demo-secret")
OTHER = Login("alt_demo", "alt_demo", "alt-secret")


class Cloud:
    """Use :meth:`started`."""

    def __init__(self, folder: Path, keystone: Keystone) -> None:
        self.folder = folder
        self.keystone = keystone
        self.url = ""

    @classmethod
    @contextlib.contextmanager
    def started(cls, folder: Path, venv: Path) -> Iterator[Self]:
        """Run until the block ends. ``venv``: where Keystone is installed."""
        keystone = Keystone(venv)
        try:
            keystone.start()
            cloud = cls(folder, keystone)
            with cloud.connection(ADMIN) as admin:
                token = {"X-Auth-Token": str(admin.auth_token)}
            with Stack.started(folder / "stack", provider=PROVIDER, options=cloud._options(), headers=token) as stack:
                cloud.url = stack.url
                cloud._populate()
                yield cloud
        finally:
            keystone.close()

    def auth(self, login: Login) -> dict[str, str]:
        """How a client says who it is."""
        names = {"username": login.user, "password": login.password, "project_name": login.project}
        return {"auth_url": self.keystone.url, **names, **DOMAINS}

    def connection(self, login: Login) -> Any:
        """openstacksdk's."""
        return openstack.connect(load_envvars=False, load_yaml_config=False, auth=self.auth(login), region_name=REGION)

    @property
    def region(self) -> str:
        """All of it is in one."""
        return REGION

    def offer(self, kind: str, url: str) -> None:
        """A service of the catalogue."""
        with self.connection(ADMIN) as admin:
            service = admin.identity.create_service(type=kind, name=kind)
            for interface in ("public", "internal", "admin"):
                admin.identity.create_endpoint(service_id=service.id, interface=interface, region_id=REGION, url=url)

    def clouds_yaml(self, **logins: Mapping[str, Any]) -> Path:
        """A file of these clouds, each with the ``auth`` of a login (JSON is YAML)."""
        path = self.folder / "clouds.yaml"
        clouds = {name: {"auth": auth, "region_name": REGION, "verify": False} for name, auth in logins.items()}
        path.write_text(json.dumps({"clouds": clouds}))
        return path

    def _options(self) -> dict[str, dict[str, object]]:
        url = self.keystone.url
        names = {"username": "admin", "password": ADMIN_PASSWORD, "project_name": "admin"}
        login = {"www_authenticate_uri": url, "auth_url": url, "auth_type": "password", **names, **DOMAINS}
        return {"identity": {"kind": "keystone"}, "keystone_authtoken": dict(login), "api": {"rate_limit": 0}}

    def _populate(self) -> None:
        """What an operator does once: the catalogue, projects and people."""
        for kind in ("load-balancer", "network"):
            self.offer(kind, self.url)
        with self.connection(ADMIN) as admin:
            identity = admin.identity
            role = identity.find_role("member")
            for login in (DEMO, OTHER):
                project = identity.create_project(name=login.project, domain_id="default")
                person = identity.create_user(name=login.user, password=login.password, domain_id="default")
                identity.assign_project_role_to_user(project, person, role)
