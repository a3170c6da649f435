"""A real Barbican of our own: SQLite, its software crypto plugin, one process with threads. It believes a Keystone, or,
without one, the headers that keystonemiddleware would set. It is installed in a virtual environment of its own."""

import base64
import os
import urllib.error
import urllib.request
from pathlib import Path

from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.process import Server

VERSION = "23.0.0"
VARIABLE = "EVENKEEL_TEST_BARBICAN"

_SERVE = """
import os
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from paste import deploy


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


application = deploy.loadapp("config:" + os.environ["HOME"] + "/paste.ini", name="main")
make_server("127.0.0.1", int(os.environ["PORT"]), application, Threads, Quiet).serve_forever()
"""

_PASTE = """
[composite:main]
use = egg:Paste#urlmap
/: barbican_version
/v1: barbican_api
[pipeline:barbican_version]
pipeline = request_id microversion versionapp
[pipeline:barbican_api]
pipeline = request_id {login} context microversion apiapp
[app:apiapp]
paste.app_factory = barbican.api.app:create_main_app
[app:versionapp]
paste.app_factory = barbican.api.app:create_version_app
[filter:request_id]
paste.filter_factory = oslo_middleware.request_id:RequestId.factory
[filter:login]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:context]
paste.filter_factory = barbican.api.middleware.context:ContextMiddleware.factory
[filter:microversion]
paste.filter_factory = barbican.api.middleware.microversion:MicroversionMiddleware.factory
"""

_CONFIGURATION = """
[DEFAULT]
host_href = http://127.0.0.1:{port}
[database]
connection = sqlite:///{home}/barbican.db
[secretstore]
enabled_secretstore_plugins = store_crypto
[crypto]
enabled_crypto_plugins = simple_crypto
[simple_crypto_plugin]
kek = {key}
[queue]
enable = false
"""

_LOGIN = """
[keystone_authtoken]
www_authenticate_uri = {url}
auth_url = {url}
auth_type = password
username = admin
password = {password}
user_domain_id = default
project_name = admin
project_domain_id = default
"""


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else environment("barbican", VERSION, [f"barbican=={VERSION}"])


def headers(project_id: str) -> dict[str, str]:
    """Of who may make and read secrets of the project."""
    user = {"X-User-Id": f"user-of-{project_id}", "X-Roles": "creator,member"}
    return {"X-Identity-Status": "Confirmed", "X-Project-Id": project_id, **user}


class BarbicanServer(Server):
    """One Barbican; ``keystone``: who says whom it may believe."""

    start_seconds = 180.0

    def __init__(self, venv: Path, keystone: Keystone | None = None) -> None:
        super().__init__("evenkeel-barbican-")
        self._programs = venv / "bin"
        self._key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        self._folder = self._home / ".barbican"  # where Barbican looks, whatever it is started with
        self._folder.mkdir()
        (self._home / "serve.py").write_text(_SERVE)
        (self._home / "paste.ini").write_text(_PASTE.format(login="login" if keystone else ""))
        self._login = _LOGIN.format(url=keystone.url, password=ADMIN_PASSWORD) if keystone else ""

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Make its database, start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        text = _CONFIGURATION.format(home=self._home, port=self.port, key=self._key)
        (self._folder / "barbican.conf").write_text(text + self._login)
        self._run(self._programs / "barbican-manage", "db", "upgrade", "-d", f"sqlite:///{self._home}/barbican.db")
        self._begin([self._programs / "python", self._home / "serve.py"])

    def _serves(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5.0).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code < 500  # 300: it lists its versions
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        return {**path, "HOME": str(self._home), "PORT": str(self.port)}
