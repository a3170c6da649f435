"""A real Barbican of our own: SQLite, its software crypto plugin, one process with threads. It believes a Keystone, or,
without one, the headers that keystonemiddleware would set. It is installed in a virtual environment of its own."""

import base64
import os
from pathlib import Path

from tests.services.installation import environment
from tests.services.keystone import ADMIN_PASSWORD, Keystone
from tests.services.openstack import WSGI_SERVER, OpenStackServer, keystone_authtoken
from tests.services.templates import make_or_copy

VERSION = "23.0.0"
VARIABLE = "EVENKEEL_TEST_BARBICAN"

_PROGRAM = """
from paste import deploy

serve(deploy.loadapp("config:" + os.environ["HOME"] + "/paste.ini", name="main"))
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


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else environment("barbican", VERSION, [f"barbican=={VERSION}"])


def headers(project_id: str) -> dict[str, str]:
    """Of who may make and read secrets of the project."""
    user = {"X-User-Id": f"user-of-{project_id}", "X-Roles": "creator,member"}
    return {"X-Identity-Status": "Confirmed", "X-Project-Id": project_id, **user}


class BarbicanServer(OpenStackServer):
    """One Barbican; ``keystone``: who says whom it may believe."""

    start_seconds = 180.0

    def __init__(self, venv: Path, keystone: Keystone | None = None) -> None:
        super().__init__("evenkeel-barbican-")
        self._programs = venv / "bin"
        self._key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        self._folder = self._home / ".barbican"  # where Barbican looks, whatever it is started with
        self._folder.mkdir()
        (self._home / "serve.py").write_text(WSGI_SERVER + _PROGRAM)
        (self._home / "paste.ini").write_text(_PASTE.format(login="login" if keystone else ""))
        self._login = keystone_authtoken(keystone.url, ADMIN_PASSWORD) if keystone else ""

    def start(self) -> None:
        """Make its database, start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        text = _CONFIGURATION.format(home=self._home, port=self.port, key=self._key)
        (self._folder / "barbican.conf").write_text(text + self._login)
        if not (database := self._home / "barbican.db").exists():
            make_or_copy(database, self._make_database, name="barbican-database", made_by=(VERSION,))
        self._begin([self._programs / "python", self._home / "serve.py"])

    def _make_database(self) -> None:
        self._run(self._programs / "barbican-manage", "db", "upgrade", "-d", f"sqlite:///{self._home}/barbican.db")
