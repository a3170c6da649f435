"""A PostgreSQL of our own, without fsync, in a temporary directory; every test takes a fresh database of it."""

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
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
    "autovacuum": "off",
}


def binaries() -> Path | None:
    """Where PostgreSQL's programs are: the newest version installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def missing() -> str:
    """Why PostgreSQL cannot be started here; empty if it can."""
    if binaries() is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.getuid() == 0 and _unprivileged_user() is None:
        return "PostgreSQL refuses to run as root and there is no unprivileged user"
    return ""


def _unprivileged_user() -> str | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


class PostgreSQL:
    """One server. ``url`` stays the same over restarts."""

    def __init__(self) -> None:
        found = binaries()
        if found is None:
            raise ServiceFailed(missing())
        self._bin = found
        self._user = _unprivileged_user() if os.getuid() == 0 else None
        self._home = temporary_home("evenkeel-postgresql-")
        self._data = self._home / "data"
        self._log = self._home / "server.log"
        self._names = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        if self._user:
            shutil.chown(self._home, self._user, pwd.getpwnam(self._user).pw_gid)

    @property
    def url(self) -> str:
        """The server's own database ``postgres``; tests take :meth:`create_database`."""
        return self._url("postgres")

    @property
    def running(self) -> bool:
        """Is the server process there?"""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        if not self._data.exists():
            self._initialise()
        options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command = [self._bin / "postgres", "-D", self._data, "-p", str(self.port), "-k", self._home, *options]
        self._process = spawn(command, log=self._log, env=self._environment(), cwd=self._home, user=self._user)
        wait_until_ready(self._serves, self._process, log=self._log, timeout_seconds=START_SECONDS)

    def stop(self) -> None:
        """Stop it properly (fast mode: clients are disconnected)."""
        if self._process is not None:
            terminate(self._process, signal.SIGINT, timeout_seconds=STOP_SECONDS)

    def kill(self) -> None:
        """kill -9, of all its processes."""
        if self._process is not None:
            kill_group(self._process)

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
        self._sql(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that :meth:`create_database` made, whoever is still connected."""
        self._sql(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _sql(self, statement: str) -> None:
        self._run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c", statement)

    def _serves(self) -> bool:
        command = [str(self._bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, env=self._environment(), check=False).returncode == 0

    def _initialise(self) -> None:
        self._run(
            "initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"
        )

    def _run(self, program: str, *arguments: str) -> None:
        outcome = subprocess.run(
            [str(self._bin / program), *arguments],
            env=self._environment(),
            cwd=self._home,
            user=self._user,
            group=self._user and pwd.getpwnam(self._user).pw_gid,
            extra_groups=[] if self._user else None,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        if outcome.returncode:
            raise ServiceFailed(f"{program} failed:\n{outcome.stderr[-2000:]}")

    def _environment(self) -> dict[str, str]:
        return {"HOME": str(self._home), "PATH": f"{self._bin}:/usr/bin:/bin", "LANG": "C.UTF-8", "PGTZ": "UTC"}
