"""Horizon's load balancer panel: each of its views, run as they are, with a real Keystone, against the API."""

import warnings
from collections.abc import Iterator
from typing import Any

import openstack
import pytest
from oslo_config import cfg

from tests.api import bodies
from tests.api.live import LiveServer
from tests.services import horizon as stock
from tests.services import keystone as stock_keystone
from tests.services.horizon import Browser, HorizonServer, Shown
from tests.services.installation import NotInstallable
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.openstack import keystone_authtoken
from tests.waiting import until

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports the standard library's cgi
    from evenkeel.api.identity import keystone

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(1800),
    # the client warns of its own future, which is not ours
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

ALICE, ADMIN = "alice", "admin"
PASSWORD = "alices-secret"
BROKEN = {
    "POST FlavorProfiles": "it creates a flavor instead, without a profile",
}
"""Views that cannot work with Octavia either, and why."""


@pytest.fixture(scope="module")
def horizon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HorizonServer]:
    """With our API in its Keystone's catalogue."""
    try:
        venv, of_keystone = stock.installed(), stock_keystone.installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("horizon")
    identity = Keystone(of_keystone)
    server = HorizonServer(venv, identity.url)
    try:
        identity.start()
        file = folder / "controller.ini"
        file.write_text(keystone_authtoken(identity.url, ADMIN_PASSWORD))
        conf = cfg.ConfigOpts()
        conf(["--config-file", str(file)], project="evenkeel")
        with LiveServer.started(folder, keystone.open_keystone(conf)) as live:
            populate(identity, live.url)
            server.start()
            yield server
    finally:
        server.close()
        identity.close()


def populate(server: Keystone, url: str) -> None:
    """What an operator does once: the catalogue entry, a project and a member of it, a flavor's profile."""
    with connection(server) as admin:
        for kind in ("load-balancer", "network"):  # without Neutron its look-ups are answered by us, too
            service = admin.identity.create_service(type=kind, name="evenkeel")
            admin.identity.create_endpoint(service_id=service.id, interface="public", region_id="R", url=url)
        project = admin.identity.create_project(name="pa")
        person = admin.identity.create_user(name=ALICE, password=PASSWORD, default_project_id=project.id)
        admin.identity.assign_project_role_to_user(project, person, admin.identity.find_role("member"))
    with connection(server) as admin:  # with the new catalogue
        admin.load_balancer.create_flavor_profile(name="plain", provider_name="dev", flavor_data="{}")


def connection(server: Keystone) -> Any:
    """The administrator's."""
    login = {"username": ADMIN, "password": ADMIN_PASSWORD, "project_name": "admin", "auth_url": server.url}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    return openstack.connect(load_envvars=False, load_yaml_config=False, auth={**login, **domains}, region_name="R")


class Panel:
    """The pages of the panel as one user uses them; ``called`` takes the views behind them."""

    def __init__(self, browser: Browser, called: set[str]) -> None:
        self._browser = browser
        self._called = called

    def ask(self, method: str, path: str, body: Any = None) -> Shown:
        shown = self._browser.ask(method, path, body)
        self._called.add(shown.view)
        return shown

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """What an answer with success holds."""
        shown = self.ask(method, path, body)
        assert shown.status in (200, 204), shown
        return shown.body

    def items(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.done("GET", path)["items"]
        return found

    def only(self, path: str) -> dict[str, Any]:
        """The only item of a list."""
        (found,) = self.items(path)
        return found

    def broken(self, method: str, path: str, body: Any) -> None:
        """A view that fails with Octavia, too."""
        shown = self.ask(method, path, body)
        assert shown.view in BROKEN and shown.status >= 400, shown


MEMBERS = [
    {"id": f"new-{number}", "address": f"10.0.1.{number}", "protocol_port": 80, "subnet_id": None, "weight": 1}
    for number in (1, 2)
]
POOL = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "admin_state_up": True}
MONITOR = {
    "name": "alive",
    "type": "HTTP",
    "delay": 5,
    "timeout": 3,
    "max_retries": 3,
    "max_retries_down": 3,
    "http_method": "GET",
    "url_path": "/",
    "expected_codes": "200",
    "admin_state_up": True,
}
LISTENER = {"name": "http", "protocol": "HTTP", "protocol_port": 80, "admin_state_up": True, "connection_limit": -1}


def test_every_view_works_as_with_octavia(horizon: HorizonServer) -> None:
    called: set[str] = set()
    with Browser.of(horizon, ADMIN, ADMIN_PASSWORD) as theirs, Browser.of(horizon, ALICE, PASSWORD) as hers:
        flavor = catalogue(Panel(theirs, called))
        panel = Panel(hers, called)
        load_balancer = wizard(panel, flavor)
        details(panel, load_balancer)
        edits(panel, load_balancer)
        l7(panel)
        members(panel, load_balancer)
        removal(panel, load_balancer)
        leave_catalogue(Panel(theirs, called), flavor)
    assert sorted(called) == horizon.views()


def wizard(panel: Panel, flavor: str) -> str:
    """A load balancer with all below it, by one form; the dashboard makes the rest step by step."""
    assert panel.items("/loadbalancers/") == []
    fields = {"name": "shop", "vip_subnet_id": bodies.SUBNET_ID, "admin_state_up": True, "flavor_id": flavor}
    form = {"loadbalancer": fields, "listener": LISTENER, "pool": POOL, "members": MEMBERS, "monitor": MONITOR}
    made = panel.done("POST", "/loadbalancers/", form)
    until(lambda: len(panel.items("/healthmonitors/")) == 1)
    shown = panel.only("/loadbalancers/?full=true")
    assert (shown["id"], shown["name"], shown["provisioning_status"]) == (made["id"], "shop", "ACTIVE")
    id_: str = made["id"]
    return id_


def details(panel: Panel, load_balancer: str) -> None:
    shown = panel.done("GET", f"/loadbalancers/{load_balancer}/?full=true")
    assert shown["vip_address"] and shown["admin_state_up"] is True
    listener = panel.only(f"/listeners/?loadbalancerId={load_balancer}")
    whole = panel.done("GET", f"/listeners/{listener['id']}/?includeChildResources=true")
    assert [member["address"] for member in whole["members"]] == ["10.0.1.1", "10.0.1.2"]
    assert (whole["pool"]["name"], whole["monitor"]["url_path"]) == ("web", "/")
    pool = panel.only(f"/pools/?loadbalancerId={load_balancer}&listenerId={listener['id']}")
    assert panel.done("GET", f"/pools/{pool['id']}/?includeChildResources=true")["monitor"]["type"] == "HTTP"
    monitor = panel.only(f"/healthmonitors/?poolId={pool['id']}")
    assert panel.done("GET", f"/healthmonitors/{monitor['id']}/")["delay"] == 5


def edits(panel: Panel, load_balancer: str) -> None:
    panel.done("PUT", f"/loadbalancers/{load_balancer}/", {"loadbalancer": {"name": "store", "admin_state_up": True}})
    assert panel.only("/loadbalancers/")["name"] == "store"
    listener, pool = panel.only("/listeners/"), panel.only("/pools/")
    form = {
        "loadbalancer_id": load_balancer,
        "listener": {**LISTENER, "id": listener["id"], "name": "web", "default_pool_id": pool["id"]},
    }
    panel.done("PUT", f"/listeners/{listener['id']}/", form)
    assert panel.only("/listeners/")["name"] == "web"
    monitor = panel.only("/healthmonitors/")
    panel.done("PUT", f"/healthmonitors/{monitor['id']}/", {"monitor": {**MONITOR, "id": monitor["id"], "delay": 9}})
    assert panel.only("/healthmonitors/")["delay"] == 9
    form = {
        "loadbalancer_id": load_balancer,
        "pool": {**POOL, "id": pool["id"], "lb_algorithm": "LEAST_CONNECTIONS"},
        "members": panel.items(f"/pools/{pool['id']}/members/"),
    }
    panel.done("PUT", f"/pools/{pool['id']}/", form)
    assert panel.only("/pools/")["lb_algorithm"] == "LEAST_CONNECTIONS"
    panel.done("DELETE", f"/healthmonitors/{monitor['id']}/")
    assert panel.items("/healthmonitors/") == []
    form = {"loadbalancer_id": load_balancer, "parentResourceId": pool["id"], "monitor": MONITOR}
    panel.done("POST", "/healthmonitors/", form)
    assert panel.only("/healthmonitors/")["name"] == "alive"


def l7(panel: Panel) -> None:
    listener = panel.only("/listeners/")["id"]
    policy = {"action": "REDIRECT_TO_URL", "redirect_url": "http://example.test/", "name": "away", "position": 1}
    made = panel.done(
        "POST", "/l7policies/", {"parentResourceId": listener, "l7policy": {**policy, "admin_state_up": True}}
    )
    path = f"/l7policies/{made['id']}/"
    rule = {
        "type": "PATH",
        "compare_type": "STARTS_WITH",
        "rule_value": "/old",
        "admin_state_up": True,
        "invert": False,
    }
    ruled = panel.done("POST", f"{path}l7rules/", {"l7rule": rule})
    assert panel.only(f"/l7policies/?listenerId={listener}")["name"] == "away"
    assert panel.done("GET", f"{path}?includeChildResources=true")["l7policy"]["rules"][0]["id"] == ruled["id"]
    assert panel.only(f"{path}l7rules/")["rule_value"] == "/old"
    assert panel.done("GET", f"{path}l7rules/{ruled['id']}/")["type"] == "PATH"
    panel.done("PUT", path, {"l7policy": {**policy, "id": made["id"], "name": "gone", "admin_state_up": True}})
    assert panel.only(f"/l7policies/?listenerId={listener}")["name"] == "gone"
    changed = {"l7rule": {**rule, "id": ruled["id"], "rule_value": "/older"}}
    panel.done("PUT", f"{path}l7rules/{ruled['id']}/", changed)
    assert panel.only(f"{path}l7rules/")["rule_value"] == "/older"
    panel.done("DELETE", f"{path}l7rules/{ruled['id']}/")
    panel.done("DELETE", path)
    assert panel.items(f"/l7policies/?listenerId={listener}") == []


def members(panel: Panel, load_balancer: str) -> None:
    pool = panel.only("/pools/")["id"]
    path = f"/pools/{pool}/members/"
    first, second = panel.items(path)
    third = {**MEMBERS[0], "id": "new", "address": "10.0.1.3"}
    panel.done("PUT", path, {"loadbalancer_id": load_balancer, "members": [first, third]})
    until(lambda: [row["address"] for row in panel.items(path)] == ["10.0.1.1", "10.0.1.3"])
    assert panel.ask("GET", f"{path}{second['id']}/").status != 200  # settled: the list is of the same rows
    panel.done("PUT", f"{path}{first['id']}/", {"weight": 7, "admin_state_up": True, "name": "one"})
    assert panel.done("GET", f"{path}{first['id']}/")["weight"] == 7
    panel.done("DELETE", f"{path}{first['id']}/")
    assert [row["address"] for row in panel.items(path)] == ["10.0.1.3"]


def catalogue(panel: Panel) -> str:
    """A flavor, as the administrator makes one; returns its id."""
    assert [provider["name"] for provider in panel.items("/providers/")] == ["dev"]
    assert panel.items("/availabilityzones/") == []
    new = {"name": "other", "provider_name": "dev", "flavor_data": "{}"}
    panel.broken("POST", "/flavorprofiles/", {"flavor_profile": new})
    profile = panel.only("/flavorprofiles/")
    path = f"/flavorprofiles/{profile['id']}/"
    panel.done("PUT", path, {"flavor_profile": {**new, "id": profile["id"], "name": "usual"}})
    assert panel.done("GET", path)["name"] == "usual"
    flavor = {"name": "bronze", "flavor_profile_id": profile["id"], "enabled": True}
    id_: str = panel.done("POST", "/flavors/", {"flavor": flavor})["id"]
    return id_


def leave_catalogue(panel: Panel, flavor: str) -> None:
    path = f"/flavors/{flavor}/"
    panel.done("PUT", path, {"flavor": {"id": flavor, "name": "copper", "enabled": True}})
    assert panel.done("GET", path)["name"] == panel.only("/flavors/")["name"] == "copper"
    panel.done("DELETE", path)
    panel.done("DELETE", f"/flavorprofiles/{panel.only('/flavorprofiles/')['id']}/")
    assert panel.items("/flavors/") == panel.items("/flavorprofiles/") == []


def removal(panel: Panel, load_balancer: str) -> None:
    pool, listener = panel.only("/pools/")["id"], panel.only("/listeners/")["id"]
    panel.done("DELETE", f"/pools/{pool}/")
    assert panel.items("/pools/") == []
    form = {"loadbalancer_id": load_balancer, "parentResourceId": listener, "pool": POOL, "members": MEMBERS}
    made = panel.done("POST", "/pools/", form)
    until(lambda: len(panel.items(f"/pools/{made['id']}/members/")) == 2)
    panel.done("DELETE", f"/listeners/{listener}/")
    form = {"loadbalancer_id": load_balancer, "listener": {**LISTENER, "protocol_port": 81}}
    assert panel.done("POST", "/listeners/", form)["protocol_port"] == 81
    panel.done("DELETE", f"/loadbalancers/{load_balancer}/")
    assert [panel.items(f"/{kind}/") for kind in ("loadbalancers", "listeners", "pools", "healthmonitors")] == [[]] * 4
