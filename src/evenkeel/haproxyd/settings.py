"""Settings of the daemon: paths, HAProxy's settings, time-outs in seconds, and limits."""

import re
from pathlib import Path

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import STRICT, AddressRules
from evenkeel.haproxyd import wire


class DaemonSettings(Value):
    """Paths, HAProxy's settings, and limits.

    ``run_dir`` contains the Unix sockets, so its path must be short (:data:`RUN_DIR_CHARS_MAX`).
    """

    name: str
    """Name of this daemon, which is also its HAProxys' name among their peers."""
    state_dir: Path
    run_dir: Path
    keys_dir: Path | None = None
    """Directory in which the daemon creates its directory for private keys; None: in memory, if possible
    (:mod:`disk.keys_dir`).
    """
    haproxy: Path | None = None
    """HAProxy executable to run; None: the system's, else that of the optional package."""

    user: str = ""
    group: str = ""
    """User and group of all workers; empty: a user of its own for each partition, if the daemon has the privileges
    (:mod:`haproxy.worker_users`).
    """
    worker_uid_first: int | None = None
    """First user id of the range for workers, also used as group ids; None: a range that is normally unused."""
    worker_uid_count: int = 5000
    memory_max_mib: int = 2048
    """Limit of the address space of one HAProxy process with one thread. With less than 256, a process could not even
    finish a refused reload."""
    threads: int = 1
    """Threads of one HAProxy process."""
    maxconn: int | None = None
    """Maximum of concurrent connections of one HAProxy; None: sized by its listeners
    (:mod:`haproxy.config.worker_size`), as memory and the limit of open files allow.
    """
    hard_stop_after_seconds: int = 0
    """Maximum life of connections accepted under a configuration that was replaced; 0: no limit."""
    worker_max_reloads: int = 128
    """Maximum of workers with old connections of one partition (:mod:`haproxy.old_workers`)."""
    old_workers_memory_max_mib: int = 0
    """Maximum memory of all old workers of this host in MiB; 0: a quarter of the host's memory."""

    traffic_log: str = ""
    """``address:port`` of the syslog server that gets a line for each request or connection of tenants; empty: none."""

    peers_address: str = ""
    """Address at which HAProxys of other hosts reach this host's to share stick tables; empty: no peers."""
    peers_port_first: int = 10300
    peers_port_last: int = 12299

    nftables_table: str = "evenkeel"
    """nftables table (family ``inet``) in which the kernel forwards datagrams. Each daemon of a network namespace needs
    its own.
    """

    kernel_direct_return: bool = False
    """Whether servers to which the kernel forwards see the clients' addresses: they must answer through this host."""
    kernel_drain_seconds: float = 300.0
    """Time for which connections of a removed server continue, where the kernel forwards TCP."""

    addresses: AddressRules = STRICT
    """Addresses that tenants' load balancers may send to and listen on."""
    management_addresses: tuple[str, ...] = ()
    """Further addresses of this host that load balancers may neither listen on nor send to; those of the API
    and for peers are always excluded.
    """

    start_timeout_seconds: float = 30.0
    reload_timeout_seconds: float = 60.0
    check_timeout_seconds: float = 60.0
    command_timeout_seconds: float = 5.0
    guard_timeout_seconds: float = 20.0
    """Time that a takeover waits for an older owner's change in progress."""
    owner_wait_seconds: float = 30.0
    """Time after its start in which the daemon leaves running HAProxys unchanged, waiting for their owners."""
    restart_min_seconds: float = 0.2
    restart_max_seconds: float = 30.0
    """Shortest and longest pause before the restart of a HAProxy that died; each pause is double the previous one."""
    steady_after_seconds: float = 30.0
    """Time of service after which an exit of HAProxy is no longer considered a part of a crash loop."""

    partitions_max: int = 5000
    load_balancers_max: int = 200
    servers_max: int = 10_000
    """Maximum number of servers per backend."""
    lines_max: int = 5000
    """Maximum number of lines in a frontend or backend."""
    line_chars_max: int = 4000
    """Maximum number of characters in a line: longer than the longest list of ciphers."""
    files_max: int = 2000
    """Maximum number of files per load balancer: a listener may have 200 certificates."""
    file_bytes_max: int = 2 * 1024 * 1024
    """Maximum size of a file in bytes: larger than the largest revocation list as PEM."""
    certificate_bytes_max: int = 128 * 1024
    """Maximum size of a certificate file in bytes, with key and intermediates."""
    files_bytes_max: int = 64 * 1024 * 1024
    """Maximum size of all files of a load balancer together in bytes: they are kept in memory."""
    answer_bytes_max: int = 64 * 1024 * 1024
    """Maximum size in bytes of one answer of HAProxy's runtime API."""

    @property
    def health_log_socket(self) -> Path:
        """Return the path of the socket to which every HAProxy logs its servers' health: datagrams, one message
        each.
        """
        return self.jail_dir / "health"

    @property
    def metrics_socket(self) -> Path:
        """Return the path of the socket to which HAProxys forward requests of their listeners for Prometheus."""
        return self.jail_dir / "metrics"

    @property
    def address_space_mib(self) -> int:
        """Return the address space limit of a HAProxy in MiB: ``memory_max_mib``, and 128 for each further
        thread, for which the C library reserves a heap and a stack.
        """
        return self.memory_max_mib + (self.threads - 1) * THREAD_MIB

    @property
    def jail_dir(self) -> Path:
        """Return the directory that workers of another user see as ``/`` (:mod:`disk.run_dir`)."""
        return self.run_dir / "workers" / "root"

    @property
    def partitions_dir(self) -> Path:
        """Return the directory that contains a directory per partition."""
        return self.state_dir / "partitions"


THREAD_MIB = 128
OLD_WORKERS_LISTED_MAX = 180
"""Maximum number of old workers of one partition: if there are more than 186, HAProxy 2.6 and 2.8 answer ``show proc``
with nothing.
"""
RUN_DIR_CHARS_MAX = 60
"""Maximum length of ``run_dir``: a Unix socket's path has at most 107 bytes, and HAProxy appends to it while it
binds.
"""
_PATH_PATTERN = re.compile(r"/[A-Za-z0-9_./+@-]+")
"""Matches paths that need no quotes in HAProxy's configuration."""

_TABLE_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,59}")


def check_settings(settings: DaemonSettings) -> None:
    """Raise :class:`ValueError`, naming the option, if a path, the length of ``run_dir``, the nftables
    table's or the daemon's name is not allowed.
    """
    paths = {"state_dir": settings.state_dir, "run_dir": settings.run_dir, "keys_dir": settings.keys_dir}
    for what, path in paths.items():
        if path is not None and not _PATH_PATTERN.fullmatch(str(path)):
            raise ValueError(f"{what} = {path}: an absolute path of letters, digits and _ . / + @ - is allowed")
    if len(str(settings.run_dir)) > RUN_DIR_CHARS_MAX:
        raise ValueError(f"run_dir = {settings.run_dir}: at most {RUN_DIR_CHARS_MAX} characters are allowed")
    if not _TABLE_PATTERN.fullmatch(settings.nftables_table):
        raise ValueError(f"nftables_table is {settings.nftables_table[:200]!r}; allowed: {_TABLE_PATTERN.pattern}")
    if not re.fullmatch(wire.NAME_REGEX, settings.name):
        raise ValueError(f"name is {settings.name[:200]!r}; allowed: {wire.NAME_REGEX}")
