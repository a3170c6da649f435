"""A real Keystone of our own: SQLite, Fernet tokens, one process with threads. It is installed in a virtual environment
of its own, because it needs other versions of what we need too."""

import getpass
import os
import urllib.error
import urllib.request
from pathlib import Path

from tests.services.installation import environment
from tests.services.process import Server

VERSION = "30.0.0"
VARIABLE = "EVENKEEL_TEST_KEYSTONE"
ADMIN_PASSWORD = "bootstrapped"

_SERVE = """
import os
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from keystone.server.wsgi import initialize_public_application


class Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


application = initialize_public_application()
make_server("127.0.0.1", int(os.environ["PORT"]), application, Threads, Quiet).serve_forever()
"""

_CONFIGURATION = """
[DEFAULT]
max_param_size = 64
[database]
connection = sqlite:///{home}/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = {home}/fernet
[fernet_receipts]
key_repository = {home}/fernet
[credential]
key_repository = {home}/credential
[identity]
# the passwords are known to everybody
password_hash_rounds = 4
"""


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else environment("keystone", VERSION, [f"keystone=={VERSION}"])


class Keystone(Server):
    """One Keystone with the user ``admin``."""

    start_seconds = 300.0

    def __init__(self, venv: Path) -> None:
        super().__init__("evenkeel-keystone-")
        self._programs = venv / "bin"
        self._file = self._home / "keystone.conf"
        self._file.write_text(_CONFIGURATION.format(home=self._home))
        for name in ("fernet", "credential"):
            (self._home / name).mkdir(mode=0o700)
        (self._home / "serve.py").write_text(_SERVE)

    @property
    def url(self) -> str:
        """Where clients log in."""
        return f"http://127.0.0.1:{self.port}/v3"

    def start(self) -> None:
        """Make its database and keys, start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        if not (self._home / "keystone.db").exists():
            self._set_up()
        self._begin([self._programs / "python", self._home / "serve.py"])

    def _set_up(self) -> None:
        user = getpass.getuser()
        owner = ("--keystone-user", user, "--keystone-group", user)
        urls = [word for kind in ("public", "internal", "admin") for word in (f"--bootstrap-{kind}-url", self.url)]
        for command in (
            ("db_sync",),
            ("fernet_setup", *owner),
            ("credential_setup", *owner),
            ("bootstrap", "--bootstrap-password", ADMIN_PASSWORD, "--bootstrap-region-id", "R", *urls),
        ):
            self._run(self._programs / "keystone-manage", "--config-file", str(self._file), *command)

    def _serves(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5.0).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PORT": str(self.port),
            "OS_KEYSTONE_CONFIG_FILES": str(self._file),
        }
