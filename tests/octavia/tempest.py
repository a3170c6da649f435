"""octavia-tempest-plugin's API tests, as they are published, against a stock Octavia with our provider and a Keystone.

``python -m tests.octavia.tempest`` runs all of them, and records the outcomes in ``tempest.json``; with names of
modules (``test_pool``) it runs these and prints what did not pass.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import openstack

from tests.api.stack import PROVIDER as ENVIRONMENT
from tests.api.stack import Stack
from tests.octavia.tempest_runner import PACKAGE
from tests.services import keystone
from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.mariadb import MariaDB
from tests.services.octavia import Octavia
from tests.services.octavia import installed as octavia_installed
from tests.services.openstack import keystone_authtoken

VERSION = "3.5.0"
PROVIDER = "evenkeel-noop"
TABLE = Path(__file__).with_name("tempest.json")
RUNNER = Path(__file__).with_name("tempest_runner.py")
PROCESSES = 2
MODULES = (
    *("test_load_balancer", "test_l7policy", "test_l7rule", "test_amphora", "test_provider", "test_availability_zone"),
    *("test_availability_zone_capabilities", "test_availability_zone_profile", "test_flavor"),
    *("test_flavor_capabilities", "test_flavor_profile"),
    *("test_member", "test_listener", "test_healthmonitor", "test_pool"),
)
"""Those of many kinds come before those of many tests."""
ROLES = ("member", "admin", "observer", "global_observer", "quota_admin")
_CONFIGURATION = """
[DEFAULT]
log_file = {home}/tempest.log
[auth]
admin_username = admin
admin_password = {password}
admin_project_name = admin
admin_domain_name = Default
create_isolated_networks = False
[identity]
uri_v3 = {keystone}
region = R
[service_available]
neutron = False
nova = False
glance = False
cinder = False
swift = False
[network]
project_networks_reachable = True
[oslo_concurrency]
lock_path = {home}/locks
[load_balancer]
test_with_noop = True
provider = {provider}
enabled_provider_drivers = {provider}:a provider
RBAC_test_type = keystone_default_roles
check_interval = 0.2
build_interval = 0.2
lb_build_interval = 0.2
lb_build_timeout = 120
check_timeout = 120
expected_flavor_capability = {flavor}
expected_availability_zone_capability = {zone}
"""


class Outcome(NamedTuple):
    """What became of one test: ``passed``, ``failed`` or ``skipped``, and why."""

    outcome: str
    text: str


def installed() -> Path:
    """The virtual environment of tempest. Raises :class:`NotInstallable`."""
    return environment(
        "octavia-tempest-plugin", VERSION, [f"octavia-tempest-plugin=={VERSION}", "tempest"], compiled=False
    )


class Tempest:
    """Use :meth:`started`."""

    def __init__(self, folder: Path, configuration: Path, octavia: Octavia) -> None:
        self._folder = folder
        self._octavia = octavia
        self._configuration = configuration

    @classmethod
    @contextlib.contextmanager
    def started(cls, folder: Path) -> Iterator["Tempest"]:
        """Run Keystone, Octavia, a controller and an agent until the block ends. Raises :class:`NotInstallable`."""
        installed()
        octavia_venv, keystone_venv = octavia_installed(), keystone.installed()
        with contextlib.ExitStack() as stack:
            database = MariaDB()
            stack.callback(database.close)
            database.start()
            identity = Keystone(keystone_venv)
            stack.callback(identity.close)
            identity.start()
            controller = stack.enter_context(Stack.started(folder / "stack"))
            octavia = Octavia(
                octavia_venv,
                database.create_database(),
                environments={PROVIDER: ENVIRONMENT},
                options={"controllers": controller.url, "report_by": "database", "poll_interval": 0.1},
                login=keystone_authtoken(identity.url, ADMIN_PASSWORD),
            )
            stack.callback(octavia.close)
            octavia.register_providers()
            octavia.start()
            _populate(identity, octavia)
            yield cls(folder, _configured(folder, identity), octavia)

    def logs(self) -> str:
        """What Octavia has logged."""
        return self._octavia.logs()

    def run(self, modules: Sequence[str]) -> dict[str, Outcome]:
        """Run the tests of modules; return the outcome by name of a test."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            files = list(pool.map(self._run_module, modules))
        lines = [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]
        return {line["name"]: Outcome(line["outcome"], line["text"]) for line in lines}

    def _run_module(self, module: str) -> Path:
        file = self._folder / f"{module}.jsonl"
        file.unlink(missing_ok=True)
        plain = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self._folder)}
        names = {"TEMPEST_CONFIG_DIR": str(self._configuration.parent), "TEMPEST_CONFIG": self._configuration.name}
        with (self._folder / f"{module}.log").open("ab") as log:
            command = [installed() / "bin" / "python", "-P", RUNNER, self._folder / "turns", file, module]
            subprocess.run(command, env={**plain, **names}, check=True, stdout=log, stderr=log)
        return file


def _configured(folder: Path, identity: Keystone) -> Path:
    file = folder / "tempest.conf"
    file.write_text(
        _CONFIGURATION.format(
            home=folder,
            password=ADMIN_PASSWORD,
            keystone=identity.url,
            provider=PROVIDER,
            flavor="amp_image_tag:x",
            zone="compute_zone:x",
        )
    )
    return file


def _populate(identity: Keystone, octavia: Octavia) -> None:
    names = {"username": "admin", "password": ADMIN_PASSWORD, "project_name": "admin"}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    login = {"auth_url": identity.url, **names, **domains}
    with openstack.connect(load_envvars=False, load_yaml_config=False, auth=login, region_name="R") as cloud:
        for role in ROLES:
            cloud.identity.create_role(name=f"load-balancer_{role}")
        service = cloud.identity.create_service(type="load-balancer", name="octavia")
        for interface in ("public", "internal", "admin"):
            cloud.identity.create_endpoint(service_id=service.id, interface=interface, region_id="R", url=octavia.url)


def table_of(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    """The recorded form: numbers, and the names of what did not pass."""
    count = {kind: sum(each.outcome == kind for each in outcomes.values()) for kind in ("passed", "failed", "skipped")}
    others = {name: each for name, each in sorted(outcomes.items()) if each.outcome != "passed"}
    return {
        "octavia-tempest-plugin": VERSION,
        **count,
        "skipped_because": {name: each.text for name, each in others.items() if each.outcome == "skipped"},
        "failures": sorted(name for name, each in others.items() if each.outcome == "failed"),
    }


def main() -> None:
    chosen = sys.argv[1:] or list(MODULES)
    folder = Path(os.environ.get("EVENKEEL_TEMPEST_FOLDER") or tempfile.mkdtemp(prefix="evenkeel-tempest-"))
    with Tempest.started(folder) as tempest:
        outcomes = tempest.run(chosen)
        (folder / "logs").write_text(tempest.logs())
    for name, each in outcomes.items():
        if each.outcome != "passed":
            print(f"{each.outcome} {PACKAGE}.{name}\n{each.text}")
    table = table_of(outcomes)
    if not sys.argv[1:]:
        TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps({name: table[name] for name in ("passed", "failed", "skipped")}))


if __name__ == "__main__":
    main()
