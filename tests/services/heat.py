"""A real Heat of our own: its engine and its API, over MariaDB and RabbitMQ. It believes a Keystone, and works for its
users by trusts, as is the default. It is installed in a virtual environment of its own."""

import urllib.error
import urllib.request
from pathlib import Path

from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.process import Server

VERSION = "27.0.1"
REQUIREMENTS = (f"openstack-heat=={VERSION}", "pymysql")

_SERVE = """
import ctypes
import os
import signal
import subprocess
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


configuration = ["--config-file", os.environ["HOME"] + "/heat.conf"]
engine = os.path.join(os.path.dirname(sys.executable), "heat-engine")
subprocess.Popen([sys.executable, engine, *configuration], preexec_fn=die_with_parent)
sys.argv[1:] = configuration

from heat.api.openstack.wsgi import init_application

make_server("127.0.0.1", int(os.environ["PORT"]), init_application(), Threads, Quiet).serve_forever()
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
[keystone_authtoken]
www_authenticate_uri = {keystone}
{login}
project_name = admin
project_domain_id = default
[trustee]
{login}
"""
_LOGIN = """\
auth_url = {keystone}
auth_type = password
username = admin
password = {password}
user_domain_id = default"""


def installed() -> Path:
    """The virtual environment that it is in. Raises :class:`NotInstallable`."""
    return environment("heat", VERSION, REQUIREMENTS)


class Heat(Server):
    """One engine and one API. ``token``, ``project_id``: of who may ask whether they serve."""

    start_seconds = 300.0

    def __init__(
        self, venv: Path, keystone: Keystone, *, database: str, bus: str, region: str, token: str, project_id: str
    ) -> None:
        super().__init__("evenkeel-heat-")
        self._programs = venv / "bin"
        self._token = token
        self._project_id = project_id
        login = _LOGIN.format(keystone=keystone.url, password=ADMIN_PASSWORD)
        driver_url = database.replace("mysql://", "mysql+pymysql://") + "?charset=utf8mb4"
        values = {
            "bus": bus.replace("amqp://", "rabbit://"),
            "region": region,
            "database": driver_url,
            "venv": venv,
            "keystone": keystone.url,
        }
        (self._home / "heat.conf").write_text(_CONFIGURATION.format(**values, login=login))
        (self._home / "serve.py").write_text(_SERVE)

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

    def _serves(self) -> bool:
        url = f"http://127.0.0.1:{self.port}/v1/{self._project_id}/build_info"
        try:
            asked = urllib.request.Request(url, headers={"X-Auth-Token": self._token})
            urllib.request.urlopen(asked, timeout=20.0).close()
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PYTHONWARNINGS": "ignore"}
        return {**path, "HOME": str(self._home), "PORT": str(self.port)}
