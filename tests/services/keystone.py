"""A real Keystone of our own: SQLite, Fernet tokens, one process with threads. It is installed in a virtual environment
of its own, because it needs other versions of what we need too."""

import contextlib
import getpass
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tests.services.installation import environment
from tests.services.openstack import WSGI_SERVER, OpenStackServer
from tests.services.templates import make_or_copy

VERSION = "30.0.0"
VARIABLE = "EVENKEEL_TEST_KEYSTONE"
ADMIN_PASSWORD = "bootstrapped"

_PROGRAM = """
from keystone.server.wsgi import initialize_public_application

serve(initialize_public_application())
"""

_CONFIGURATION = """
[DEFAULT]
max_param_size = 64
[database]
connection = sqlite:///{home}/data/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = {home}/data/fernet
[fernet_receipts]
key_repository = {home}/data/fernet
[credential]
key_repository = {home}/data/credential
[identity]
# the passwords are known to everybody
password_hash_rounds = 4
"""


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else environment("keystone", VERSION, [f"keystone=={VERSION}"])


class Keystone(OpenStackServer):
    """One Keystone with the user ``admin``."""

    start_seconds = 300.0

    def __init__(self, venv: Path) -> None:
        super().__init__("evenkeel-keystone-")
        self._programs = venv / "bin"
        self._file = self._home / "keystone.conf"
        self._file.write_text(_CONFIGURATION.format(home=self._home))
        (self._home / "serve.py").write_text(WSGI_SERVER + _PROGRAM)

    @property
    def url(self) -> str:
        """Where clients log in."""
        return f"http://127.0.0.1:{self.port}/v3"

    def start(self) -> None:
        """Make its database and keys, start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        if not (data := self._home / "data").exists():
            made_by = (VERSION, _CONFIGURATION, ADMIN_PASSWORD)
            make_or_copy(data, self._set_up, name="keystone-data", made_by=made_by)
            self._move_endpoints(data / "keystone.db")
        self._begin([self._programs / "python", self._home / "serve.py"])

    def _move_endpoints(self, database: Path) -> None:
        """Its entry in its own catalogue: the data may come from one that was at another port."""
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE endpoint SET url = ?", (self.url,))

    def _set_up(self) -> None:
        for name in ("fernet", "credential"):
            (self._home / "data" / name).mkdir(mode=0o700, parents=True)
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

    def _more_environment(self) -> Mapping[str, str]:
        return {"OS_KEYSTONE_CONFIG_FILES": str(self._file)}
