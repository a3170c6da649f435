"""A MariaDB of our own, without fsync, in a temporary directory; every test takes a fresh database of it.

Its settings are those of its makers, not Debian's: the default character set is latin1, so that a table which does not
say what it needs shows.
"""

import contextlib
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests.services.process import Server, ServiceFailed, free_port, run_tool, unprivileged_user
from tests.services.sharing import shared
from tests.services.templates import make_or_copy, version_of

USER = "evenkeel"
PASSWORD = "s3cret-of-the-database"
_SERVER = "mariadbd"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_USERS = ("mysql", "nobody")
_SETTINGS = {
    "bind-address": "127.0.0.1",
    "skip-name-resolve": "1",
    "max-connections": "600",
    "innodb-flush-log-at-trx-commit": "2",  # what was committed survives the server's death, not the machine's
    "debug-no-sync": "1",  # of its logs of table definitions: six syncs for each table
    "innodb-doublewrite": "0",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "innodb-fast-shutdown": "1",
}
_INSTALL = ("--skip-test-db", "--auth-root-authentication-method=normal", "--innodb-log-file-size=32M")


def _program(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def missing() -> str:
    """Why MariaDB cannot be started here; empty if it can."""
    if any(_program(name) is None for name in (_SERVER, "mariadb-install-db", "mariadb", "mariadb-admin")):
        return "MariaDB is not installed (Debian: mariadb-server)"
    if os.getuid() == 0 and unprivileged_user(_USERS) is None:
        return "MariaDB refuses to run as root and there is no unprivileged user"
    return ""


class Databases:
    """Databases of a running server, which listens on ``port`` and, for its owner, on the socket in its ``home``."""

    port: int
    home: Path

    @property
    def url(self) -> str:
        """The server's own database ``mysql``; tests take :meth:`create_database`."""
        return self._url("mysql")

    def create_database(self) -> str:
        """The URL of a new, empty database. Takes some ten milliseconds; may be called inside a running loop."""
        name = f"test_{uuid.uuid4().hex}"
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
        command = ("mariadb", *arguments, "--force", f"--execute={statements}")
        return run_tool(command, env=_environment(self.home), cwd=self.home)

    @property
    def _socket(self) -> Path:
        return self.home / "socket"

    def _url(self, database: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"


def dump_tables(url: str, file: Path) -> None:
    """Write all tables of a database, with their rows, to a file of SQL."""
    _run_client("mariadb-dump", url, file.parent, "--no-tablespaces", "--single-transaction", f"--result-file={file}")


def load_tables(url: str, file: Path) -> None:
    """Make the tables of :func:`dump_tables` in an empty database."""
    _run_client("mariadb", url, file.parent, f"--execute=source {file}")


def _run_client(program: str, url: str, folder: Path, *options: str) -> None:
    place = urlsplit(url)
    login = (f"--host={place.hostname}", f"--port={place.port}", f"--user={place.username}")
    secret = f"--password={place.password}"
    command = (program, "--no-defaults", *login, secret, *options, place.path.removeprefix("/"))
    run_tool(command, env=_environment(folder), cwd=folder)


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": _PATH, "LANG": "C.UTF-8", "TZ": "UTC"}


class SharedMariaDB(Databases):
    """The server, or a node of the cluster, of all workers of a run: nobody stops or configures it."""

    def __init__(self, place: dict[str, Any]) -> None:
        self.port = place["port"]
        self.home = Path(place["home"])

    @classmethod
    @contextmanager
    def opened(cls, servers: Path) -> Iterator[Self]:
        """``servers``: :func:`tests.services.sharing.directory_of_run`."""
        with shared(servers, start_mariadb, start_seconds=MariaDB.start_seconds) as place:
            yield cls(place)


def start_mariadb(stack: ExitStack, _servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run."""
    server = MariaDB()
    stack.callback(server.close)
    server.start()
    return {"homes": [str(server.home)], "home": str(server.home), "port": server.port}


class MariaDB(Databases, Server):
    """One server of its user's own. ``url`` stays the same over restarts. ``settings`` go to its command line, too."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        if reason := missing():
            raise ServiceFailed(reason)
        super().__init__("evenkeel-mariadb-", _USERS)
        self._data = self._home / "data"
        self._settings = _SETTINGS | (settings or {})

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
        def make() -> None:
            places = (f"--datadir={self._data}", f"--tmpdir={self._home}")
            self._run("mariadb-install-db", "--no-defaults", *places, *_INSTALL, user=self._user)

        made_by = (version_of(Path(_program(_SERVER) or _SERVER)), str(self._user), *_INSTALL)
        make_or_copy(self._data, make, name="mariadb-data", made_by=made_by)

    def _environment(self) -> dict[str, str]:
        return _environment(self._home)


PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")


def cluster_missing() -> str:
    """Why a Galera cluster cannot be started here; empty if it can."""
    if reason := missing():
        return reason
    if not PROVIDER.exists() or _program("rsync") is None:
        return "Galera is not installed (Debian: galera-4, rsync)"
    return ""


def _at_each(nodes: tuple[Databases, ...]) -> tuple[str, ...]:
    """The URLs of a new, empty database, one by each node."""
    url = nodes[0].create_database()
    return tuple(node.url.replace("/mysql", f"/{url.rpartition('/')[2]}") for node in nodes)


class SharedGalera:
    """The cluster of all workers of a run: nobody stops or configures its nodes."""

    def __init__(self, places: list[dict[str, Any]]) -> None:
        self.nodes = tuple(SharedMariaDB(place) for place in places)

    @classmethod
    @contextmanager
    def opened(cls, servers: Path) -> Iterator[Self]:
        """``servers``: :func:`tests.services.sharing.directory_of_run`."""
        with shared(servers, start_galera, start_seconds=2 * MariaDB.start_seconds) as place:
            yield cls(place["nodes"])

    def create_database(self) -> tuple[str, ...]:
        """The URLs of a new, empty database, one by each node."""
        return _at_each(self.nodes)


def start_galera(stack: ExitStack, _servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run."""
    cluster = Galera()
    stack.callback(cluster.close)
    cluster.start()
    nodes = [{"home": str(node.home), "port": node.port} for node in cluster.nodes]
    return {"homes": [node["home"] for node in nodes], "nodes": nodes}


class Galera:
    """A Galera cluster of two nodes, both of which take writes, of its user's own."""

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
        return _at_each(self.nodes)


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
