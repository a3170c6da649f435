"""octavia-tempest-plugin's API tests, as they are published, against a stock Octavia with our provider and a Keystone.

``python -m tests.octavia.tempest`` runs all of them (632; an hour on a busy machine), or those of the modules that are
named (``test_pool``), records the outcomes in ``tempest.json``, and prints what failed.

The tests are unmodified; around them, two things differ from a plain installation. Octavia's no-op network gives each
VIP an address of its own (:mod:`tests.services.octavia`), and the provider agent reports with ``report_by = database``
and looks at the database ten times a second, which saves CPU.
"""

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import openstack

from evenkeel.devices.noop.capabilities import CAPABILITIES
from tests.api.stack import PROVIDER as ENVIRONMENT
from tests.api.stack import Stack
from tests.octavia.tempest_runner import PACKAGE
from tests.services import keystone
from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.mariadb import MariaDB
from tests.services.octavia import VERSION as OCTAVIA_VERSION
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

    def run(self, modules: Sequence[str]) -> dict[str, dict[str, Outcome]]:
        """Run the tests of modules; return the outcome by name of a test, by module."""
        with ThreadPoolExecutor(PROCESSES) as pool:
            return dict(zip(modules, pool.map(self._run_module, modules), strict=True))

    def _run_module(self, module: str) -> dict[str, Outcome]:
        file = self._folder / f"{module}.jsonl"
        plain = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self._folder)}
        names = {"TEMPEST_CONFIG_DIR": str(self._configuration.parent), "TEMPEST_CONFIG": self._configuration.name}
        # -P: a module beside the runner has the name of the package tempest
        command = [
            str(installed() / "bin" / "python"),
            "-P",
            str(RUNNER),
            str(self._folder / "turns"),
            str(file),
            module,
        ]
        with (self._folder / f"{module}.log").open("ab") as log:
            subprocess.run(command, env={**plain, **names}, check=True, stdout=log, stderr=log)
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return {line["name"]: Outcome(line["outcome"], line["text"]) for line in lines}


def _configured(folder: Path, identity: Keystone) -> Path:
    file = folder / "tempest.conf"
    file.write_text(
        _CONFIGURATION.format(
            home=folder,
            password=ADMIN_PASSWORD,
            keystone=identity.url,
            provider=PROVIDER,
            flavor=_expected(CAPABILITIES.flavor_metadata),
            zone=_expected(CAPABILITIES.availability_zone_metadata),
        )
    )
    return file


def _expected(settings: Mapping[str, str] | None) -> str:
    """A setting that the provider offers, and its description, as tempest is told what to expect."""
    name, description = next(iter((settings or {}).items()))
    return f"{name}:{description}"


def _populate(identity: Keystone, octavia: Octavia) -> None:
    names = {"username": "admin", "password": ADMIN_PASSWORD, "project_name": "admin"}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    login = {"auth_url": identity.url, **names, **domains}
    cloud: Any
    with (
        warnings.catch_warnings(action="ignore"),  # the SDK's own future
        openstack.connect(load_envvars=False, load_yaml_config=False, auth=login, region_name="R") as cloud,
    ):
        for role in ROLES:
            cloud.identity.create_role(name=f"load-balancer_{role}")
        service = cloud.identity.create_service(type="load-balancer", name="octavia")
        for interface in ("public", "internal", "admin"):
            cloud.identity.create_endpoint(service_id=service.id, interface=interface, region_id="R", url=octavia.url)


def row_of(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """The recorded form of one module: how many passed, and what did not."""
    named = sorted(outcomes.items())
    return {
        "passed": sum(each.outcome == "passed" for _, each in named),
        "skipped": {name: each.text for name, each in named if each.outcome == "skipped"},
        "failed": [name for name, each in named if each.outcome == "failed"],
    }


def record(outcomes: Mapping[str, Mapping[str, Outcome]]) -> None:
    """Write down the outcomes of modules; those of others stay as they were recorded for the same versions."""
    versions = {"octavia": OCTAVIA_VERSION, "octavia-tempest-plugin": VERSION}
    before = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    kept = before.get("modules", {}) if before.get("versions") == versions else {}
    modules = kept | {module: row_of(each) for module, each in outcomes.items()}
    table = {"versions": versions, "modules": {module: modules[module] for module in MODULES if module in modules}}
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="evenkeel-tempest-"))
    try:
        with Tempest.started(folder) as tempest:
            outcomes = tempest.run(sys.argv[1:] or MODULES)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    record(outcomes)
    for module, each in outcomes.items():
        row = row_of(each)
        print(f"{module}: {row['passed']} passed, {len(row['skipped'])} skipped, {len(row['failed'])} failed")
        for name in row["failed"]:
            print(f"{PACKAGE}.{name}\n{each[name].text}")


if __name__ == "__main__":
    main()
