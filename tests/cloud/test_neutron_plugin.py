"""Neutron forwards requests for load balancers to a controller, whom the caller's own token convinces."""

import contextlib
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.subnet import SUBNET
from tests.cloud.cloud import ADMIN, DEMO, OTHER, Cloud, Login
from tests.cloud.conftest import IN_A_CLOUD
from tests.network.neutron_server.server import REQUIREMENTS, VERSION, Neutron
from tests.services.installation import NotInstallable, environment
from tests.services.keystone import ADMIN_PASSWORD
from tests.services.mariadb import MariaDB, missing
from tests.services.openstack import keystone_authtoken

pytestmark = IN_A_CLOUD

SOURCES = Path(__file__).parents[2] / "packages" / "evenkeel-neutron" / "src"


class PluggedNeutron(Neutron):
    """A Neutron that believes a Keystone, with the service plugin."""

    def __init__(self, venv: Path, database: str, cloud: Cloud) -> None:
        super().__init__(venv, database)
        self._cloud = cloud

    def _configure(self) -> None:
        super()._configure()
        file = self._home / "neutron.conf"
        text = file.read_text().replace("auth_strategy = noauth", "auth_strategy = keystone")
        text = text.replace("service_plugins = router,qos", "service_plugins = router,evenkeel")
        login = keystone_authtoken(self._cloud.keystone.url, ADMIN_PASSWORD)
        file.write_text(f"{text}{login}\n[evenkeel]\ncontrollers = http://127.0.0.1:1, {self._cloud.url}\n")
        points = self._home / "plugins" / "evenkeel_neutron-0.dist-info"
        points.mkdir(parents=True)
        (points / "METADATA").write_text("Metadata-Version: 2.1\nName: evenkeel-neutron\nVersion: 0\n")
        plugin = "evenkeel = evenkeel_neutron.plugin:EvenKeelPlugin"
        (points / "entry_points.txt").write_text(f"[neutron.service_plugins]\n{plugin}\n")

    def _serves(self) -> bool:
        try:
            self._ask("GET", "/networks")
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == 401
        except OSError:
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return super()._environment() | {"PYTHONPATH": f"{self._home / 'plugins'}{os.pathsep}{SOURCES}"}


@pytest.fixture(scope="module")
def neutron(cloud: Cloud) -> Iterator[PluggedNeutron]:
    """One of the cloud."""
    if reason := missing():
        pytest.skip(reason)
    try:
        venv = environment("neutron", VERSION, REQUIREMENTS)
    except NotInstallable as error:
        pytest.skip(str(error))
    with contextlib.ExitStack() as stack:
        database = MariaDB()
        stack.callback(database.close)
        database.start()
        made = PluggedNeutron(venv, database.create_database(), cloud)
        stack.callback(made.close)
        made.start()
        yield made


@contextlib.contextmanager
def caller(neutron: Neutron, cloud: Cloud, login: Login) -> Iterator[httpx.Client]:
    """A client of Neutron's endpoint."""
    with cloud.connection(login) as connection:
        token = {"X-Auth-Token": str(connection.auth_token)}
    with httpx.Client(base_url=f"{neutron.url}/v2.0", headers=token, timeout=120.0) as client:
        yield client


def made(client: httpx.Client, name: str) -> dict[str, Any]:
    body = {"loadbalancer": {"name": name, "vip_subnet_id": SUBNET.id}}
    answer = client.post("/lbaas/loadbalancers", json=body)
    assert answer.status_code == 201, answer.text
    shown: dict[str, Any] = answer.json()["loadbalancer"]
    return shown


def test_load_balancers_are_those_of_the_callers_project(neutron: PluggedNeutron, cloud: Cloud) -> None:
    with caller(neutron, cloud, DEMO) as demo, caller(neutron, cloud, OTHER) as other:
        root = made(demo, "web")
        path = f"/lbaas/loadbalancers/{root['id']}"
        assert [each["name"] for each in demo.get("/lbaas/loadbalancers").json()["loadbalancers"]] == ["web"]
        assert other.get("/lbaas/loadbalancers").json()["loadbalancers"] == []
        assert other.get(path).status_code == 404
        assert other.delete(path).status_code == 404
        changed = demo.put(path, json={"loadbalancer": {"description": "ü/%"}})
        assert (changed.status_code, changed.json()["loadbalancer"]["description"]) == (200, "ü/%")
        assert demo.get("/lbaas/loadbalancers", params={"description": "ü/%"}).json()["loadbalancers"] != []
        assert demo.delete(path).status_code == 204


def test_links_to_further_pages_lead_through_neutron(neutron: PluggedNeutron, cloud: Cloud) -> None:
    with caller(neutron, cloud, DEMO) as demo:
        roots = [made(demo, name) for name in ("one", "two")]
        names = []
        url = "/lbaas/loadbalancers?limit=1&fields=name"
        while url:
            page = demo.get(url).json()
            names += [each["name"] for each in page["loadbalancers"]]
            links = {each["rel"]: each["href"] for each in page.get("loadbalancers_links", ())}
            url = links.get("next", "")
            assert not url or url.startswith(f"{neutron.url}/v2.0/lbaas/loadbalancers?")
        assert names == ["one", "two"]
        for root in roots:
            assert demo.delete(f"/lbaas/loadbalancers/{root['id']}").status_code == 204


def test_refusals_are_the_controllers_and_neutrons(neutron: PluggedNeutron, cloud: Cloud) -> None:
    with caller(neutron, cloud, DEMO) as demo:
        refused = demo.post("/lbaas/loadbalancers", json={"loadbalancer": {"colour": "blue"}})
        assert refused.status_code == 400 and "colour" in refused.json()["NeutronError"]["message"]
        assert demo.get("/lbaas/nothing").status_code == 404
        demo.headers["X-Auth-Token"] = "nonsense"
        assert demo.get("/lbaas/loadbalancers").status_code == 401


def test_extension_is_announced_and_neutrons_own_api_goes_on(neutron: PluggedNeutron, cloud: Cloud) -> None:
    with caller(neutron, cloud, ADMIN) as admin:
        assert admin.get("/extensions/lbaasv2").json()["extension"]["alias"] == "lbaasv2"
        network = admin.post("/networks", json={"network": {"name": "net"}})
        assert network.status_code == 201
        assert admin.delete(f"/networks/{network.json()['network']['id']}").status_code == 204
