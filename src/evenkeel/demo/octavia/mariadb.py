"""Commands of a MariaDB that listens on a Unix socket only and belongs to the demo. Only looks for programs;
starts nothing.
"""

import os
import shutil
from pathlib import Path

_SEARCH_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_REQUIRED_PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "mariadb-admin")


def missing_reason() -> str:
    """Return the reason why MariaDB cannot be started here; empty if it can."""
    if absent := [name for name in _REQUIRED_PROGRAMS if shutil.which(name, path=_SEARCH_PATH) is None]:
        return (
            f"Octavia needs MariaDB, and {absent[0]} is not installed. On Debian and Ubuntu: "
            "apt-get install mariadb-server (the demo starts a server of its own; the system's may stay stopped)"
        )
    return ""


class MariadbCommands:
    """Commands of the server whose data are in ``data`` and whose socket is ``socket`` (107 bytes at most).

    There is no TCP port, and root has no password: access to the server is access to the socket's directory.
    """

    def __init__(self, data: Path, socket: Path) -> None:
        self._data = data
        self._socket = socket
        # it refuses to run as root unless it is asked for by name
        self._user = ("--user=root",) if os.getuid() == 0 else ()

    @property
    def initialise_command(self) -> list[str]:
        """Command that creates the data directory with the system's tables."""
        return self._build_command(
            "mariadb-install-db",
            f"--datadir={self._data}",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
            *self._user,
        )

    @property
    def serve_command(self) -> list[str]:
        """Command that runs the server."""
        return self._build_command(
            "mariadbd",
            f"--datadir={self._data}",
            f"--socket={self._socket}",
            f"--pid-file={self._data}/server.pid",
            "--skip-networking",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-buffer-pool-size=64M",
            *self._user,
        )

    @property
    def ping_command(self) -> list[str]:
        """Command that succeeds once the server answers."""
        return self._build_command("mariadb-admin", f"--socket={self._socket}", "--user=root", "ping")

    def create_database_command(self, name: str) -> list[str]:
        """Return the command that creates a database unless there is one of this name."""
        statement = f"CREATE DATABASE IF NOT EXISTS {name}"
        return self._build_command("mariadb", f"--socket={self._socket}", "--user=root", f"--execute={statement}")

    def url(self, database: str) -> str:
        """Return the URL of a database for SQLAlchemy."""
        return f"mysql+pymysql://root@localhost/{database}?unix_socket={self._socket}"

    def _build_command(self, program: str, *arguments: str) -> list[str]:
        return [shutil.which(program, path=_SEARCH_PATH) or program, "--no-defaults", *arguments]
