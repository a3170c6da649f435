"""What the daemon is told at its start. Every wait has an end and every size a limit."""

import re
from pathlib import Path

from evenkeel.core.addresses import STRICT, AddressRules
from evenkeel.core.values import Value
from evenkeel.haproxyd import wire


class DaemonSettings(Value):
    """Where things are, how HAProxy is run, and how much is taken.

    ``run_dir`` holds the Unix sockets, so it must be short (:data:`RUN_DIR_CHARS_MAX`).
    """

    name: str
    """This daemon's name: what its HAProxys are called among their peers."""
    state_dir: Path
    run_dir: Path
    keys_dir: Path | None = None
    """Where the daemon makes its folder for private keys; None: in memory, if it can (:mod:`disk.keys_dir`)."""
    haproxy: Path | None = None
    """The HAProxy to run; None: the system's, else the one of the optional package."""

    user: str = ""
    group: str = ""
    """What all workers run as; empty: each partition's as its own user, if the daemon may
    (:mod:`haproxy.worker_users`)."""
    worker_uid_first: int | None = None
    """First of those users' ids, which are those of their groups too; None: a range that nobody should have."""
    worker_uid_count: int = 5000
    memory_max_mib: int = 2048
    """Address space of one process of HAProxy's with one thread. One with less than 256 could not even end a reload
    that was refused."""
    threads: int = 1
    maxconn: int | None = None
    """Connections that one HAProxy takes at once; None: as many as memory and the limit of open files allow."""
    hard_stop_after_seconds: int = 600
    """How long connections may go on after the configuration they were made under was replaced."""
    worker_max_reloads: int = 24
    """How many reloads a worker's old connections outlive. A worker that is left for them keeps some 10 to 20 MB."""

    peers_address: str = ""
    """Where other hosts' HAProxys reach those of this one, to share stick tables; empty: they don't."""
    peers_port_first: int = 10300
    peers_port_last: int = 12299

    addresses: AddressRules = STRICT
    """Which ones tenants' load balancers may send to and listen at."""
    management_addresses: tuple[str, ...] = ()
    """More addresses of this host that no load balancer may listen at; the API's and the peers' never are."""

    start_timeout_seconds: float = 30.0
    reload_timeout_seconds: float = 60.0
    check_timeout_seconds: float = 60.0
    command_timeout_seconds: float = 5.0
    guard_timeout_seconds: float = 20.0
    """How long a takeover waits for a change of an older owner that is under way."""
    owner_wait_seconds: float = 30.0
    """How long a daemon that begins leaves a HAProxy that runs as it is, for its owner to say what it is to do."""
    restart_min_seconds: float = 0.2
    restart_max_seconds: float = 30.0
    """How long a HAProxy that died waits for its next start: the shortest, doubled each time up to the longest."""
    steady_after_seconds: float = 30.0
    """A HAProxy that ran this long is in no crash loop."""

    partitions_max: int = 5000
    load_balancers_max: int = 200
    servers_max: int = 10_000
    """Of one backend."""
    lines_max: int = 5000
    """Of one frontend or backend."""
    line_chars_max: int = 4000
    """More than the longest list of ciphers."""
    files_max: int = 2000
    """Of one load balancer: a listener may have 200 certificates."""
    file_bytes_max: int = 2 * 1024 * 1024
    """More than the largest revocation list as PEM."""
    certificate_bytes_max: int = 128 * 1024
    """With its key and intermediates."""
    files_bytes_max: int = 64 * 1024 * 1024
    """Of one load balancer: they are kept in memory."""
    answer_bytes_max: int = 64 * 1024 * 1024
    """What is read of one answer of HAProxy's."""

    @property
    def health_log_socket(self) -> Path:
        """Where every HAProxy says what became of its servers: datagrams, one message each."""
        return self.jail_dir / "health"

    @property
    def metrics_socket(self) -> Path:
        """Where HAProxys pass on what their listeners for Prometheus are asked."""
        return self.jail_dir / "metrics"

    @property
    def address_space_mib(self) -> int:
        """Of a process with that many threads, for each of which the C library reserves a heap and a stack."""
        return self.memory_max_mib + (self.threads - 1) * THREAD_MIB

    @property
    def jail_dir(self) -> Path:
        """What workers of another user see as ``/`` (:mod:`disk.run_dir`)."""
        return self.run_dir / "workers" / "root"

    @property
    def partitions_dir(self) -> Path:
        """A folder per partition."""
        return self.state_dir / "partitions"


THREAD_MIB = 128
RUN_DIR_CHARS_MAX = 60
"""A Unix socket's path ends at 107 bytes, and HAProxy adds to it while it binds."""
_PATH = re.compile(r"/[A-Za-z0-9_./+@-]+")
"""What needs no quotes in HAProxy's configuration."""


def check_settings(settings: DaemonSettings) -> None:
    """Raises :class:`ValueError` naming the option that cannot be used."""
    paths = {"state_dir": settings.state_dir, "run_dir": settings.run_dir, "keys_dir": settings.keys_dir}
    for what, path in paths.items():
        if path is not None and not _PATH.fullmatch(str(path)):
            raise ValueError(f"{what} = {path}: an absolute path of letters, digits and _ . / + @ - is allowed")
    if len(str(settings.run_dir)) > RUN_DIR_CHARS_MAX:
        raise ValueError(f"run_dir = {settings.run_dir}: at most {RUN_DIR_CHARS_MAX} characters are allowed")
    if not re.fullmatch(wire.NAME, settings.name):
        raise ValueError(f"name is {settings.name[:200]!r}; allowed: {wire.NAME}")
