"""A PostgreSQL of our own, without fsync, in a temporary directory; every test takes a fresh database of it."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import trustme

from tests.services.process import Server, ServiceFailed, run_tool, unprivileged_user
from tests.services.sharing import shared
from tests.services.templates import make_or_copy, version_of

_USERS = ("postgres", "nobody")
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "400",
    "shared_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
    "autovacuum": "off",
    # nobody restores or follows it: its log need hold no more than a restart needs
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "jit": "off",  # tables without statistics look large, and compiling a query takes longer than running it
}
_INITDB = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
_DROP_SECONDS = 180.0


def binaries() -> Path | None:
    """Where PostgreSQL's programs are: the newest version installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def missing() -> str:
    """Why PostgreSQL cannot be started here; empty if it can."""
    if binaries() is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.getuid() == 0 and unprivileged_user(_USERS) is None:
        return "PostgreSQL refuses to run as root and there is no unprivileged user"
    return ""


def _is_gone(pid: int) -> bool:
    """It has ended, be it that nobody has asked how yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Databases:
    """Databases of a running server at ``port``."""

    port: int

    @property
    def url(self) -> str:
        """The server's own database ``postgres``; tests take :meth:`create_database`."""
        return self._url("postgres")

    def create_database(self) -> str:
        """The URL of a new, empty database. Takes some ten milliseconds; may be called inside a running loop."""
        name = f"test_{uuid.uuid4().hex}"
        self._sql(f"CREATE DATABASE {name}")
        return self._url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that :meth:`create_database` made, whoever is still connected."""
        give_up_at = time.monotonic() + _DROP_SECONDS
        while True:
            try:
                return self._sql(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")
            except ServiceFailed as failure:  # those whom it disconnects have five seconds to go
                if "being accessed by other users" not in str(failure) or time.monotonic() > give_up_at:
                    raise

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _sql(self, statement: str) -> None:
        psql = ("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url, "-c", statement)
        run_tool(psql, env={"PATH": f"{binaries()}:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}, cwd=Path("/"))


class SharedPostgreSQL(Databases):
    """The server of all workers of a run: nobody stops or configures it."""

    def __init__(self, port: int) -> None:
        self.port = port

    @classmethod
    @contextmanager
    def opened(cls, servers: Path) -> Iterator[Self]:
        """``servers``: :func:`tests.services.sharing.directory_of_run`."""
        with shared(servers, start_postgresql, start_seconds=PostgreSQL.start_seconds) as place:
            yield cls(place["port"])


def start_postgresql(stack: ExitStack, _servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run."""
    server = PostgreSQL()
    stack.callback(server.close)
    server.start()
    return {"homes": [str(server.home)], "port": server.port}


class PostgreSQL(Databases, Server):
    """One server of its user's own. ``url`` stays the same over restarts."""

    stop_signal = signal.SIGINT  # fast mode: clients are disconnected

    def __init__(self, **settings: str) -> None:
        """``settings``: instead of those that are good for many small tests."""
        found = binaries()
        if found is None:
            raise ServiceFailed(missing())
        super().__init__("evenkeel-postgresql-", _USERS)
        self._bin = found
        self._data = self._home / "data"
        self._settings = {**_SETTINGS, **settings}

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""
        if self.running:
            return
        if not self._data.exists():
            self._initialise()
        options = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        places = ("-D", self._data, "-p", str(self.port), "-k", self._home)
        self._begin([self._bin / "postgres", *places, *options])

    def kill(self) -> None:
        """kill -9, of all its processes. Each is the leader of a group, and their memory keeps a new server from
        starting: they are waited for."""
        if not self.running:
            return
        self.freeze()  # it starts no more
        children = self._children()
        super().kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        while not all(_is_gone(child) for child in children):
            time.sleep(0.01)

    def _children(self) -> list[int]:
        assert self._process is not None
        pid = self._process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def use_certificate(self, leaf: trustme.LeafCert | None) -> None:
        """Serve TLS with it, beside connections without TLS; None: no TLS any more."""
        if leaf is None:
            self._sql("ALTER SYSTEM RESET ssl")
        else:
            files = {"server.crt": leaf.cert_chain_pems[0].bytes(), "server.key": leaf.private_key_pem.bytes()}
            for name, content in files.items():
                path = self._data / name
                path.write_bytes(content)
                path.chmod(0o600)
                if self._user is not None:
                    shutil.chown(path, self._user)
            self._sql("ALTER SYSTEM SET ssl = on")
        self._sql("SELECT pg_reload_conf()")

    def _serves(self) -> bool:
        command = [str(self._bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, env=self._environment(), check=False).returncode == 0

    def _initialise(self) -> None:
        def make() -> None:
            self._run(self._bin / "initdb", "-D", str(self._data), *_INITDB, user=self._user)

        made_by = (version_of(self._bin / "initdb"), str(self._user), *_INITDB)
        make_or_copy(self._data, make, name="postgresql-data", made_by=made_by)

    def _environment(self) -> dict[str, str]:
        return {"HOME": str(self._home), "PATH": f"{self._bin}:/usr/bin:/bin", "LANG": "C.UTF-8", "PGTZ": "UTC"}
