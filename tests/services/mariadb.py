"""A MariaDB of our own, without fsync, in a temporary directory; every test takes a fresh database of it.

Its settings are those of its makers, not Debian's: the default character set is latin1, so that a table which does not
say what it needs shows.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.services.process import Server, ServiceFailed, free_port, unprivileged_user

USER = "evenkeel"
PASSWORD = "s3cret-of-the-database"
_SERVER = "mariadbd"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_USERS = ("mysql", "nobody")
_SETTINGS = {
    "bind-address": "127.0.0.1",
    "skip-name-resolve": "1",
    "max-connections": "300",
    "innodb-flush-log-at-trx-commit": "2",  # what was committed survives the server's death, not the machine's
    "innodb-doublewrite": "0",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "innodb-fast-shutdown": "1",
}


def _program(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def missing() -> str:
    """Why MariaDB cannot be started here; empty if it can."""
    if any(_program(name) is None for name in (_SERVER, "mariadb-install-db", "mariadb", "mariadb-admin")):
        return "MariaDB is not installed (Debian: mariadb-server)"
    if os.getuid() == 0 and unprivileged_user(_USERS) is None:
        return "MariaDB refuses to run as root and there is no unprivileged user"
    return ""


class MariaDB(Server):
    """One server. ``url`` stays the same over restarts. ``settings`` are added to the server's command line."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        if reason := missing():
            raise ServiceFailed(reason)
        super().__init__("evenkeel-mariadb-", _USERS)
        self._data = self._home / "data"
        self._names = itertools.count(1)
        self._settings = _SETTINGS | (settings or {})

    @property
    def url(self) -> str:
        """The server's own database ``mysql``; tests take :meth:`create_database`."""
        return self._url("mysql")

    def start(self, *more: str) -> None:
        """Start and wait until clients are served; nothing to do if it runs. ``more`` are arguments of this start."""
        if self.running:
            return
        if not self._data.exists():
            self._initialise()
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        command = [
            *(_SERVER, "--no-defaults", f"--datadir={self._data}", f"--tmpdir={self._home}"),
            *(f"--socket={self._socket}", f"--port={self.port}", f"--pid-file={self._home / 'pid'}"),
            *(*options, *more),
        ]
        self._begin(command)
        self._grant_when_it_may()

    def create_database(self) -> str:
        """The URL of a new, empty database. Takes some ten milliseconds; may be called inside a running loop."""
        name = f"test_{os.getpid()}_{next(self._names)}"
        self.sql(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that :meth:`create_database` made, whoever is still connected."""
        name = url.rpartition("/")[2]
        sessions = self.sql(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'").split()
        for session in sessions:
            with contextlib.suppress(ServiceFailed):  # it has ended meanwhile
                self.sql(f"KILL {session}")
        # one in the middle of a transaction holds the tables until it has noticed
        self.sql(f"SET lock_wait_timeout = 60; DROP DATABASE IF EXISTS {name}")

    def sql(self, statements: str) -> str:
        """Run statements as the server's owner; what they answer, without headings."""
        arguments = ("--no-defaults", f"--socket={self._socket}", "--user=root", "--batch", "--skip-column-names")
        return self._run("mariadb", *arguments, "--force", f"--execute={statements}")

    @property
    def _socket(self) -> Path:
        return self._home / "socket"

    def _url(self, database: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def _grant_when_it_may(self) -> None:
        """A node of a cluster answers before it takes statements."""
        until = time.monotonic() + self.start_seconds
        while True:
            try:
                return self._grant()
            except ServiceFailed:
                if not self.running or time.monotonic() > until:
                    raise
            time.sleep(0.2)

    def _grant(self) -> None:
        self.sql(
            f"CREATE USER IF NOT EXISTS {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            f" GRANT ALL ON *.* TO {USER}@'127.0.0.1'"
        )

    def _serves(self) -> bool:
        command = ["mariadb-admin", "--no-defaults", f"--socket={self._socket}", "--user=root", "ping"]
        return subprocess.run(command, env=self._environment(), check=False, capture_output=True).returncode == 0

    def _initialise(self) -> None:
        self._run(
            "mariadb-install-db",
            *("--no-defaults", f"--datadir={self._data}", f"--tmpdir={self._home}", "--skip-test-db"),
            *("--auth-root-authentication-method=normal", "--innodb-log-file-size=32M"),
            user=self._user,
        )

    def _environment(self) -> dict[str, str]:
        return {"HOME": str(self._home), "PATH": _PATH, "LANG": "C.UTF-8", "TZ": "UTC"}


PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")


def cluster_missing() -> str:
    """Why a Galera cluster cannot be started here; empty if it can."""
    if reason := missing():
        return reason
    if not PROVIDER.exists() or _program("rsync") is None:
        return "Galera is not installed (Debian: galera-4, rsync)"
    return ""


class Galera:
    """A Galera cluster of two nodes, both of which take writes."""

    def __init__(self) -> None:
        ports = [free_port() for _ in range(2)]
        self.nodes = tuple(MariaDB(_node_settings(port, ports[0])) for port in ports)

    def start(self) -> None:
        """Start both nodes; the second copies the first."""
        first, second = self.nodes
        first.start("--wsrep-new-cluster")
        second.start()

    def close(self) -> None:
        """Stop for good."""
        for node in self.nodes:
            node.close()

    def create_database(self) -> tuple[str, ...]:
        """The URLs of a new, empty database, one by each node."""
        url = self.nodes[0].create_database()
        return tuple(node.url.replace("/mysql", f"/{url.rpartition('/')[2]}") for node in self.nodes)


def _node_settings(port: int, first_port: int) -> dict[str, str]:
    """What makes a server a node that others reach at ``port``."""
    transfer = free_port()
    return {
        "wsrep-on": "ON",
        "wsrep-provider": str(PROVIDER),
        "wsrep-cluster-name": "evenkeel",
        "wsrep-cluster-address": f"gcomm://127.0.0.1:{first_port}",
        "wsrep-node-address": f"127.0.0.1:{port}",
        "wsrep-sst-method": "rsync",
        "wsrep-sst-receive-address": f"127.0.0.1:{transfer}",
        "wsrep-provider-options": (
            f"base_host=127.0.0.1;base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};"
            f"ist.recv_addr=127.0.0.1:{free_port()};gcache.size=32M"
        ),
        "binlog-format": "ROW",
        "innodb-autoinc-lock-mode": "2",
    }
