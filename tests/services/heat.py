"""A real Heat of our own: its engine and its API, over MariaDB and RabbitMQ. It believes a Keystone, and works for its
users by trusts, as is the default. It is installed in a virtual environment of its own."""

import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.openstack import WSGI_SERVER, OpenStackServer, keystone_authtoken, login

VERSION = "27.0.1"
REQUIREMENTS = (f"openstack-heat=={VERSION}", "pymysql")

_PROGRAM = """
import ctypes
import signal
import subprocess
import sys


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


configuration = ["--config-file", os.environ["HOME"] + "/heat.conf"]
engine = os.path.join(os.path.dirname(sys.executable), "heat-engine")
subprocess.Popen([sys.executable, engine, *configuration], preexec_fn=die_with_parent)
sys.argv[1:] = configuration

from heat.api.openstack.wsgi import init_application

serve(init_application())
"""

_CONFIGURATION = """
[DEFAULT]
transport_url = {bus}
num_engine_workers = 1
region_name_for_services = {region}
[database]
connection = {database}
[paste_deploy]
api_paste_config = {venv}/etc/heat/api-paste.ini
[clients_keystone]
auth_uri = {keystone}
[oslo_messaging_notifications]
driver = noop
[trustee]
{login}
"""


def installed() -> Path:
    """The virtual environment that it is in. Raises :class:`NotInstallable`."""
    return environment("heat", VERSION, REQUIREMENTS)


class Heat(OpenStackServer):
    """One engine and one API. ``token``, ``project_id``: of who may ask whether they serve."""

    start_seconds = 300.0

    def __init__(
        self, venv: Path, keystone: Keystone, *, database: str, bus: str, region: str, token: str, project_id: str
    ) -> None:
        super().__init__("evenkeel-heat-")
        self._programs = venv / "bin"
        self._token = token
        self._project_id = project_id
        credentials = (keystone.url, ADMIN_PASSWORD)
        driver_url = database.replace("mysql://", "mysql+pymysql://") + "?charset=utf8mb4"
        values = {
            "bus": bus.replace("amqp://", "rabbit://"),
            "region": region,
            "database": driver_url,
            "venv": venv,
            "keystone": keystone.url,
        }
        text = _CONFIGURATION.format(**values, login=login(*credentials))
        (self._home / "heat.conf").write_text(text + keystone_authtoken(*credentials))
        (self._home / "serve.py").write_text(WSGI_SERVER + _PROGRAM)

    @property
    def url(self) -> str:
        """Its endpoint, as it is in a catalogue."""
        return f"http://127.0.0.1:{self.port}/v1/%(tenant_id)s"

    def start(self) -> None:
        """Make its tables, start and wait until the engine answers through the API; nothing to do if it runs."""
        if self.running:
            return
        self._run(self._programs / "heat-manage", "--config-file", str(self._home / "heat.conf"), "db_sync")
        self._begin([self._programs / "python", self._home / "serve.py"])

    def _asked(self) -> urllib.request.Request:
        url = f"http://127.0.0.1:{self.port}/v1/{self._project_id}/build_info"
        return urllib.request.Request(url, headers={"X-Auth-Token": self._token})

    def _more_environment(self) -> Mapping[str, str]:
        return {"PYTHONWARNINGS": "ignore"}
