"""Neutron's API under uWSGI, with ML2 over a database that it is given. No agents, so its message bus leads nowhere,
unless it is given one: then there is its RPC server, too.

Every caller is admin (``auth_strategy = noauth``): whom it believes is not what is tested here.
"""

import json
import os
import urllib.request
from pathlib import Path

from tests.services.mariadb import dump_tables, load_tables
from tests.services.process import Server
from tests.services.templates import make_or_copy

VERSION = "29.0.0"
REQUIREMENTS = (f"neutron=={VERSION}", "pymysql", "pyuwsgi")

_CONF = """\
[DEFAULT]
core_plugin = ml2
service_plugins = router,qos
auth_strategy = noauth
api_paste_config = {venv}/etc/neutron/api-paste.ini
transport_url = {bus}
state_path = {home}
agent_down_time = 600
rpc_workers = 1
rpc_state_report_workers = 0
log_file = {home}/neutron.log
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[database]
connection = {database}
[oslo_concurrency]
lock_path = {home}/lock
[oslo_messaging_notifications]
driver = noop
[quotas]
quota_network = -1
quota_subnet = -1
quota_port = -1
"""

_ML2 = """\
[ml2]
type_drivers = flat,vlan,vxlan,gre,local
project_network_types = vxlan
mechanism_drivers = openvswitch,l2population
extension_drivers = port_security,qos
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199
[ml2_type_vxlan]
vni_ranges = 1000:1999
[ml2_type_gre]
tunnel_id_ranges = 2000:2999
"""

_UWSGI = """\
[uwsgi]
http-socket = 127.0.0.1:{port}
virtualenv = {venv}
module = neutron.wsgi.api:application
master = true
processes = 1
threads = 4
enable-threads = true
lazy-apps = true
need-app = true
die-on-term = true
buffer-size = 65535
# it keeps no connection alive, and clients have to be told
add-header = Connection: close
"""


class Neutron(Server):
    """One API server. All methods block."""

    start_seconds = 600.0

    def __init__(self, venv: Path, database: str, bus: str = "fake://") -> None:
        """``database``: the URL of an empty one on a MariaDB; ``bus``: its oslo.messaging transport."""
        super().__init__("evenkeel-neutron-")
        self._venv = venv
        self._bus = bus
        self._database = database

    @property
    def url(self) -> str:
        """The API's root."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Make the tables, start, and wait until it answers; nothing to do if it runs."""
        if self.running:
            return
        if not (self._home / "neutron.conf").exists():
            self._configure()
            self._make_tables()
        self._begin([self._venv / "bin/pyuwsgi", "--ini", self._home / "uwsgi.ini"])

    def _make_tables(self) -> None:
        """By Neutron's migrations, or as these left them when an earlier run made them."""
        tables = self._home / "tables.sql"
        made: list[str] = []

        def make() -> None:
            self._run(self._venv / "bin/neutron-db-manage", *self._config_files(), "upgrade", "heads")
            made.append(self._database)
            dump_tables(self._database, tables)

        make_or_copy(tables, make, name="neutron-tables", made_by=(VERSION,))
        if not made:
            load_tables(self._database, tables)

    def _config_files(self) -> list[str]:
        return [word for name in ("neutron.conf", "ml2.ini") for word in ("--config-file", str(self._home / name))]

    def _configure(self) -> None:
        driver_url = self._database.replace("mysql://", "mysql+pymysql://") + "?charset=utf8mb4"
        values = {"venv": self._venv, "home": self._home, "database": driver_url, "port": self.port, "bus": self._bus}
        for name, text in (("neutron.conf", _CONF), ("ml2.ini", _ML2), ("uwsgi.ini", _UWSGI)):
            (self._home / name).write_text(text.format(**values))

    def rpc_server(self) -> "NeutronRpc":
        """What answers agents over the bus; to be started after this one."""
        return NeutronRpc(self._venv, self._config_files(), self._environment())

    def _serves(self) -> bool:
        """The first request that the policy judges reads its rules; others meanwhile would be told that they are not
        allowed to. So that one is ours: it makes a network, and takes it away."""
        try:
            made = self._ask("POST", "/networks", {"network": {"name": "first", "project_id": "nobody"}})
            self._ask("DELETE", f"/networks/{json.loads(made)['network']['id']}")
        except OSError:
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> bytes:
        """What it answers. Raises :class:`OSError` also for refusals."""
        content = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(
            f"{self.url}/v2.0{path}", content, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return bytes(answer.read())

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self._venv}/bin:{os.defpath}",
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PYTHONWARNINGS": "ignore",
            "OS_NEUTRON_CONFIG_DIR": str(self._home),
            "OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2.ini",
        }


class NeutronRpc(Server):
    """Neutron's RPC server: agents' reports, and what agents ask. All methods block."""

    start_seconds = 300.0

    def __init__(self, venv: Path, config_files: list[str], environment: dict[str, str]) -> None:
        super().__init__("evenkeel-neutron-rpc-")
        self._venv = venv
        self._files = config_files
        self._with = environment

    def start(self) -> None:
        """Start; nothing to do if it runs."""
        if not self.running:
            self._begin([self._venv / "bin/neutron-rpc-server", *self._files])

    def _serves(self) -> bool:
        """It has started; whether it listens already is seen at the bus."""
        return self.running

    def _environment(self) -> dict[str, str]:
        return self._with
