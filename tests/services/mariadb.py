"""A MariaDB of our own, without fsync, in a temporary directory; every test takes a fresh database of it.

Its settings are those of its makers, not Debian's: the default character set is latin1, so that a table which does not
say what it needs shows.
"""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

from tests.services.process import (
    ServiceFailed,
    free_port,
    kill_group,
    spawn,
    temporary_home,
    terminate,
    wait_until_ready,
)

START_SECONDS = 60.0
STOP_SECONDS = 30.0
USER = "evenkeel"
PASSWORD = "s3cret-of-the-database"
_SERVER = "mariadbd"
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
    return shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


def missing() -> str:
    """Why MariaDB cannot be started here; empty if it can."""
    if any(_program(name) is None for name in (_SERVER, "mariadb-install-db", "mariadb", "mariadb-admin")):
        return "MariaDB is not installed (Debian: mariadb-server)"
    if os.getuid() == 0 and _unprivileged_user() is None:
        return "MariaDB refuses to run as root and there is no unprivileged user"
    return ""


def _unprivileged_user() -> str | None:
    for name in ("mysql", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


class MariaDB:
    """One server. ``url`` stays the same over restarts. ``settings`` are added to the server's command line."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        if reason := missing():
            raise ServiceFailed(reason)
        self._user = _unprivileged_user() if os.getuid() == 0 else None
        self._home = temporary_home("evenkeel-mariadb-")
        self._data = self._home / "data"
        self._log = self._home / "server.log"
        self._names = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = _SETTINGS | (settings or {})
        self.port = free_port()
        if self._user:
            shutil.chown(self._home, self._user, pwd.getpwnam(self._user).pw_gid)

    @property
    def url(self) -> str:
        """The server's own database ``mysql``; tests take :meth:`create_database`."""
        return self._url("mysql")

    @property
    def running(self) -> bool:
        """Is the server process there?"""
        return self._process is not None and self._process.poll() is None

    def start(self, *more: str) -> None:
        """Start and wait until clients are served; nothing to do if it runs. ``more`` are arguments of this start."""
        if self.running:
            return
        if not self._data.exists():
            self._initialise()
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        command = [
            *(_program(_SERVER) or _SERVER, "--no-defaults", f"--datadir={self._data}", f"--tmpdir={self._home}"),
            *(f"--socket={self._socket}", f"--port={self.port}", f"--pid-file={self._home / 'pid'}"),
            *(*options, *more),
        ]
        self._process = spawn(command, log=self._log, env=self._environment(), cwd=self._home, user=self._user)
        wait_until_ready(self._serves, self._process, log=self._log, timeout_seconds=START_SECONDS)
        self._grant()

    def stop(self) -> None:
        """Stop it properly."""
        if self._process is not None:
            terminate(self._process, signal.SIGTERM, timeout_seconds=STOP_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            kill_group(self._process)

    def freeze(self) -> None:
        """Let it hang, with its connections open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop for good."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def create_database(self) -> str:
        """The URL of a new, empty database. Takes some ten milliseconds; may be called inside a running loop."""
        name = f"test_{os.getpid()}_{next(self._names)}"
        self.sql(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that :meth:`create_database` made, whoever is still connected."""
        name = url.rpartition("/")[2]
        sessions = self.sql(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'").split()
        # one in the middle of a transaction would hold the tables
        self.sql(f"SET lock_wait_timeout = 10; {self._kills(sessions)} DROP DATABASE IF EXISTS {name}")

    def sql(self, statements: str) -> str:
        """Run statements as the server's owner; what they answer, without headings."""
        arguments = ("--no-defaults", f"--socket={self._socket}", "--user=root", "--batch", "--skip-column-names")
        return self._run("mariadb", *arguments, "--force", f"--execute={statements}")

    @staticmethod
    def _kills(sessions: list[str]) -> str:
        return "".join(f"KILL {session}; " for session in sessions)

    @property
    def _socket(self) -> Path:
        return self._home / "socket"

    def _url(self, database: str) -> str:
        return f"mysql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def _grant(self) -> None:
        self.sql(
            f"CREATE USER IF NOT EXISTS {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
            f" GRANT ALL ON *.* TO {USER}@'127.0.0.1'"
        )

    def _serves(self) -> bool:
        command = [_program("mariadb-admin") or "", "--no-defaults", f"--socket={self._socket}", "--user=root", "ping"]
        return subprocess.run(command, env=self._environment(), check=False, capture_output=True).returncode == 0

    def _initialise(self) -> None:
        self._run(
            "mariadb-install-db",
            *("--no-defaults", f"--datadir={self._data}", f"--tmpdir={self._home}", "--skip-test-db"),
            *("--auth-root-authentication-method=normal", "--innodb-log-file-size=32M"),
            as_user=True,
        )

    def _run(self, program: str, *arguments: str, as_user: bool = False) -> str:
        user = self._user if as_user else None
        outcome = subprocess.run(
            [_program(program) or program, *arguments],
            env=self._environment(),
            cwd=self._home,
            user=user,
            group=user and pwd.getpwnam(user).pw_gid,
            extra_groups=[] if user else None,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        if outcome.returncode:
            raise ServiceFailed(f"{program} failed:\n{(outcome.stderr or outcome.stdout)[-2000:]}")
        return outcome.stdout

    def _environment(self) -> dict[str, str]:
        return {"HOME": str(self._home), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


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
