"""A partition's whole configuration as text. Pure.

Reasons for what is not obvious; all of it was tested:

- ``idle-close-on-response``: at a reload the old worker answers one more request on an idle connection instead of
  closing it while the client sends one.
- ``noreuseport``: two HAProxys on one address must be an error; with SO_REUSEPORT the kernel would spread connections
  over both.
- ``transparent``: HAProxy can bind an address that is not on this host (yet).
- ``no strict-limits``: many listeners on a host with a low limit of open files still start.
- ``log`` in backends, for changes of servers' health, without ``option log-health-checks``: that sends one more line
  for each result, and none of them with the reason and the new state. In frontends only with the option
  ``traffic_log``: HAProxy formats a line for every request, a tenth of the request's cost.
- TLS on both sides between peers: a stick table contains clients' addresses, and a tenant's own load balancer can reach
  any port of its host. The peers section and its key belong to one tenant (:mod:`network.peer_keys`).
- TLS as in Mozilla's intermediate profile unless a load balancer sets it otherwise: curves, ciphers, DH parameters of
  2048 bits, no session tickets.
- ``cachesize 0`` where no client may resume a session: for peers alone HAProxy would reserve 4.5 MiB.
- ``fd-hard-limit`` and other sizes of the cache: :mod:`.worker_size`. HAProxy derives its ``maxconn`` from the former.
- ``httpclient.ssl.verify none``: HAProxy has an HTTP client for Lua, which no load balancer uses; by default 2.6 loads
  the system's whole CA bundle for it at each check, start and reload: most of a check's time, and 0.8 MiB a worker.
- server states and the local peer: states of servers and stick tables survive a reload.
- ``no-check-sni-auto``: from 3.3 on a check over TLS would send its Host header as the name (SNI) and verify the
  member's certificate against it; without a ``domain_name`` that is the VIP's address.
- ``timeout connect`` not over ``timeout check`` where HAProxy ends a check at the former (:mod:`.check_timeouts`).
- access logs of tenants: only what a rule raises to ``emerg`` is sent, as ``notice``, because HAProxy logs what is no
  HTTP (``info``) before any rule could limit how many, and sends a frontend's targets word of reloads (``warning``).
  Over TCP by a ``ring``, which has a connection and a buffer of its own and never holds up a request.
- ``contstats``: what a connection has transferred counts every 5 s, and not only when it ends.
- ``set-path /`` before L7 rules, which may be about the path: an empty one, as in ``GET http://host`` or
  ``GET http://host?a``, means ``/`` (RFC 9110, 4.2.3), but 2.6 reads the first without a path, and 3.2 the second, and
  no rule would match.
- ``id``: hashing algorithms place servers by it, so it must not depend on the other servers of the backend.
"""

import functools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import host_and_port
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import NO_CHECK_SNI_ARGUMENT
from evenkeel.haproxyd.haproxy.config.check_timeouts import limit_connect_timeout
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.haproxy.config.live_policies import (
    ANSWER_BACKEND,
    ROOT_PATH_LINE,
    add_live_policy_lines,
    allows_live_policies,
    answer_backend_lines,
    has_policies,
)
from evenkeel.haproxyd.haproxy.config.worker_size import WorkerSize, caches_tls_sessions, open_files_needed, uses_tls
from evenkeel.haproxyd.haproxy.worker_users import WorkerUser
from evenkeel.haproxyd.settings import DaemonSettings

# HAProxy's ids are positive signed integers; 30 bits leave room for counting on after a collision.
SERVER_ID_BITS = 0x3FFFFFFF
PEER_KEY, TRUSTED_PEERS = "_peer.pem", "_trusted_peers.pem"
"""Names of the files with keys for peers, stored among load balancers' files, which cannot have these names."""
PEER_CONNECTIONS_MAX = 64
TRAFFIC_LOG_BYTES_MAX = 4096
"""Maximum length of a line of the traffic log; the rest of a longer URL is cut off."""
MASTER_RELOADS_MAX = 1_000_000
"""Maximum of reloads before the master itself ends old workers (from HAProxy 3.3 on 50 by default).

So high that it never does: :mod:`haproxy.old_workers` ends old workers.
"""
ACCESS_LOG_BYTES_MAX = 16_384
"""Maximum length of a line of an access log: enough for lines whose client-given values have at most 256 characters,
and the path 1024, each character written with up to six.
"""
ACCESS_LOG_BUFFER_BYTES = 256 * 1024
"""Memory of each listener for access log lines that wait for a log server over TCP; lines beyond it are lost."""
METRICS_BACKEND = "_metrics"
"""Name of the backend that leads to the daemon's metrics; no load balancer's backend can have this name."""
_METRICS_LINES = (
    "rate-limit sessions 10",
    "option httpclose",
    "http-request deny deny_status 404 unless { path /metrics }",
    "http-request deny deny_status 405 unless { method GET }",
    f"default_backend {METRICS_BACKEND}",
)
_RULE_PATTERN = re.compile(r"acl l7\.")
_ARGUMENTS_FORBIDDING_REUSE = ("send-proxy", "source", "usesrc")
"""Server arguments that tie a server connection to one client, so that it cannot be reused."""

_TLS12_CIPHERS = ":".join(
    f"{exchange}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for exchange in ("ECDHE-ECDSA", "ECDHE-RSA", "DHE-RSA")
)
_TLS13_SUITES = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
TLS_LINES = (
    f"ssl-default-bind-ciphers {_TLS12_CIPHERS}",
    f"ssl-default-bind-ciphersuites {_TLS13_SUITES}",
    "ssl-default-bind-curves X25519:P-256:P-384",
    "ssl-default-bind-options prefer-client-ciphers no-tls-tickets",
    f"ssl-default-server-ciphers {_TLS12_CIPHERS}",
    f"ssl-default-server-ciphersuites {_TLS13_SUITES}",
    "tune.ssl.default-dh-param 2048",
)
"""Lines of the global section for TLS (Mozilla, "Server Side TLS", version 5.7, intermediate)."""
NO_AUTHORITIES_LINE = "httpclient.ssl.verify none"
"""Line of the global section that keeps HAProxy's own HTTP client from loading the system's CA certificates."""
DEFAULTS_SECTION = f"""
defaults
    mode http
    option contstats
    http-reuse aggressive
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    timeout http-keep-alive 15s
.if version_atleast(3.3)
    default-server {NO_CHECK_SNI_ARGUMENT}
.endif
"""


class HaproxyConfig(Value):
    """Configuration that one HAProxy should run. ``load_balancers``: by id; ``peers``: HAProxys of other
    hosts that share its stick tables.
    """

    load_balancers: Mapping[str, wire.LoadBalancerConfig] = {}
    peer: wire.HaproxyPeer | None = None
    """This HAProxy's own entry in the peers section."""
    peer_key: str = ""
    """This HAProxy's certificate and key for peers (:func:`~evenkeel.haproxyd.network.peer_keys.make_peer_key`);
    secret."""
    peers: tuple[wire.HaproxyPeer, ...] = ()
    user: WorkerUser | None = None
    """The user that workers run as, in a chroot; None: the master's user."""
    size: WorkerSize = WorkerSize()
    """The size with which the worker that reads this configuration starts, or was started."""

    @property
    def frontends(self) -> tuple[wire.Frontend, ...]:
        """Return the frontends of all load balancers."""
        return tuple(frontend for one in self.load_balancers.values() for frontend in one.frontends)

    @property
    def supports_live_policies(self) -> bool:
        """Whether the L7 policies of any frontend can change at runtime."""
        return any(map(supports_live_policies, self.frontends))

    def __repr__(self) -> str:
        return f"HaproxyConfig(load_balancers={sorted(self.load_balancers)}, peers={len(self.peers)})"


def compose_config(
    partition: str,
    config: HaproxyConfig,
    layout: PartitionLayout,
    settings: DaemonSettings,
    fragment_of: Callable[[wire.LoadBalancerConfig], str] | None = None,
) -> str:
    """Return the text of the whole configuration file, in an order that depends on the content only.

    ``fragment_of``: returns the sections of one load balancer, as from a cache; None:
    :func:`load_balancer_sections`.
    """
    if fragment_of is None:
        fragment_of = functools.partial(load_balancer_sections, traffic_log=settings.traffic_log)
    parts = [
        _global_section(partition, config, layout, settings),
        _peers_section(config, layout, settings),
        DEFAULTS_SECTION,
    ]
    if layout.server_states is not None:
        parts.append("    load-server-state-from-file global\n")
    parts.extend(fragment_of(config.load_balancers[name]) for name in sorted(config.load_balancers))
    if any(frontend.metrics for one in config.load_balancers.values() for frontend in one.frontends):
        parts.append(_metrics_backend(partition, settings))
    if config.supports_live_policies:
        parts.append(_render_section(f"\nbackend {ANSWER_BACKEND}", answer_backend_lines()))
    return "".join(parts)


def _global_section(partition: str, config: HaproxyConfig, layout: PartitionLayout, settings: DaemonSettings) -> str:
    lines = [
        *([f"hard-stop-after {settings.hard_stop_after_seconds}s"] if settings.hard_stop_after_seconds else []),
        f"mworker-max-reloads {MASTER_RELOADS_MAX}",
        "noreuseport",
        "no strict-limits",
        f"nbthread {settings.threads}",
        f"localpeer {settings.name}",
        f"default-path origin {layout.files_dir}",
        f"log {settings.health_log_socket} format local local0 notice",
        f"log-tag {partition}",
        # `expose-fd listeners` lets another process take over the listening sockets through this socket (`-x`).
        f"stats socket {layout.worker_socket} mode 600 level admin expose-fd listeners",
        "stats timeout 60s",
        *TLS_LINES,
        NO_AUTHORITIES_LINE,
        *_worker_size_lines(config),
    ]
    if layout.server_states is not None:
        lines.append(f"server-state-file {layout.server_states}")
    if settings.maxconn:
        lines.append(f"maxconn {settings.maxconn}")
    if config.user:
        lines.extend((f"chroot {settings.jail_dir}", f"uid {config.user.uid}", f"gid {config.user.gid}"))
    return _render_section(
        f"# Written by evenkeel-haproxyd; changes here are undone. Add a local.cfg for {partition}.\nglobal", lines
    )


def _worker_size_lines(config: HaproxyConfig) -> Iterator[str]:
    if config.size.connections:
        yield f"fd-hard-limit {open_files_needed(config.size.connections, tuple(config.load_balancers.values()))}"
    if not caches_tls_sessions(config.frontends):
        # only where there is TLS, so that other configurations stay as they are
        if config.peer or any(map(uses_tls, config.frontends)):
            yield "tune.ssl.cachesize 0"
    elif config.size.tls_sessions:
        yield f"tune.ssl.cachesize {config.size.tls_sessions}"


def _peers_section(config: HaproxyConfig, layout: PartitionLayout, settings: DaemonSettings) -> str:
    """Render the ``peers`` section, which exists also if there is only the local peer, through which a worker
    passes its stick tables to the next worker.
    """
    lines = (
        _peer_lines(config.peer, config.peers, layout, settings)
        if config.peer
        else _local_peer_lines(config, layout, settings)
    )
    return _render_section(f"\npeers {wire.PEERS_SECTION}", lines)


def _peer_lines(
    local: wire.HaproxyPeer, peers: Iterable[wire.HaproxyPeer], layout: PartitionLayout, settings: DaemonSettings
) -> Iterable[str]:
    identity, trusted = layout.files_dir / PEER_KEY, layout.files_dir / TRUSTED_PEERS
    tls = f"ssl crt {identity} ca-file {trusted} verify required ssl-min-ver TLSv1.3"
    # connections that send no request must not use up those that tenants' clients need
    yield f"bind {host_and_port(local.address, local.port)} maxconn {PEER_CONNECTIONS_MAX} {tls}"
    yield f"default-server {tls}"
    yield f"server {settings.name}"
    for peer in sorted(peers, key=lambda peer: peer.name):
        # A peer without a certificate cannot be verified.
        if peer.name != settings.name and peer.certificate:
            yield f"server {peer.name} {host_and_port(peer.address, peer.port)}"


def _local_peer_lines(config: HaproxyConfig, layout: PartitionLayout, settings: DaemonSettings) -> Iterable[str]:
    """Yield the lines of a ``peers`` section without peers on other hosts: a Unix socket of the workers'
    user, at which a worker passes its stick tables to the next one, and the local peer.
    """
    owner = f" uid {config.user.uid} gid {config.user.gid}" if config.user else ""
    yield f"bind unix@{layout.peer_socket} mode 600{owner}"
    yield f"server {settings.name}"


def _metrics_backend(partition: str, settings: DaemonSettings) -> str:
    """Render the backend of listeners for Prometheus, which leads to the daemon.

    The daemon receives only partition and listener of a request, and at most two requests at once from each
    HAProxy.
    """
    lines = (
        "timeout queue 5s",
        "timeout server 20s",
        "http-reuse never",
        f"http-request set-uri /{partition}/%[fe_name]",
        f"server daemon unix@{settings.metrics_socket} maxconn 2",
    )
    return _render_section(f"\nbackend {METRICS_BACKEND}", lines)


def _render_section(head: str, lines: Iterable[str]) -> str:
    return "".join((head, "\n", *(f"    {line}\n" for line in lines)))


class ConfigComposer:
    """Renders one partition's configuration repeatedly. Caches the last text and the sections of each load
    balancer, because most changes concern one of them.
    """

    def __init__(self, partition: str, layout: PartitionLayout, settings: DaemonSettings) -> None:
        self._partition = partition
        self._layout = layout
        self._settings = settings
        self._fragments: dict[str, tuple[wire.LoadBalancerConfig, str]] = {}
        self._last: tuple[HaproxyConfig, str] | None = None

    def compose_text(self, config: HaproxyConfig) -> str:
        """Return the text of :func:`compose_config`, with unchanged parts taken from a cache."""
        if self._last is None or self._last[0] is not config:
            text = compose_config(self._partition, config, self._layout, self._settings, self._cached_fragment)
            self._last = (config, text)
            # Only present load balancers stay cached; otherwise the cache would grow with each one that comes and goes.
            self._fragments = {name: self._fragments[name] for name in config.load_balancers}
        return self._last[1]

    def _cached_fragment(self, load_balancer: wire.LoadBalancerConfig) -> str:
        known = self._fragments.get(load_balancer.id)
        if known is None or known[0] is not load_balancer:
            known = self._fragments[load_balancer.id] = (
                load_balancer,
                load_balancer_sections(load_balancer, self._settings.traffic_log),
            )
        return known[1]


def load_balancer_sections(load_balancer: wire.LoadBalancerConfig, traffic_log: str = "") -> str:
    """Render the configuration sections of one load balancer. ``traffic_log``: ``address:port`` of the
    traffic log, as in the settings; empty: none.
    """
    parts = [f"\n# load balancer {load_balancer.id}\n"]
    parts.extend(
        _ring_section(frontend.name, log)
        for frontend in load_balancer.frontends
        if (log := frontend.access_log) is not None
    )
    parts.extend(_frontend_section(frontend, traffic_log) for frontend in load_balancer.frontends)
    parts.extend(_backend_section(backend) for backend in load_balancer.backends)
    return "".join(parts)


def _frontend_section(frontend: wire.Frontend, traffic_log: str) -> str:
    arguments = " ".join(("transparent", *frontend.bind_arguments))
    lines = [f"bind {host_and_port(bind.address, bind.port)} {arguments}" for bind in frontend.binds]
    if frontend.maxconn is not None:
        lines.append(f"maxconn {frontend.maxconn}")
    if "mode tcp" not in frontend.lines:
        lines.append("option idle-close-on-response")
    policy_lines = _insert_root_path(frontend.lines)
    lines.extend(add_live_policy_lines(policy_lines) if supports_live_policies(frontend) else policy_lines)
    if frontend.access_log is not None:
        lines.append(_access_log_line(frontend.name, frontend.access_log))
    if frontend.metrics:
        lines.extend(_METRICS_LINES)
    elif traffic_log:
        lines.extend(_traffic_log_lines(traffic_log, frontend))
    return _render_section(f"frontend {frontend.name}", lines)


def supports_live_policies(frontend: wire.Frontend) -> bool:
    """Whether the frontend is loaded with the lines that let its L7 policies change at runtime."""
    # An access log shows that a backend answered, where the loaded lines answer in the frontend.
    return has_policies(frontend.lines) or (
        frontend.access_log is None and not frontend.metrics and allows_live_policies(frontend.lines)
    )


def _insert_root_path(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frontend's lines, with a line that makes an empty path ``/`` before the first L7 rule;
    without such a rule unchanged.

    The line comes after all ``tcp-request`` lines, which HAProxy wants first.
    """
    place = next((place for place, line in enumerate(lines) if _RULE_PATTERN.match(line)), None)
    return lines if place is None else (*lines[:place], ROOT_PATH_LINE, *lines[place:])


def _access_log_line(name: str, target: wire.LogTarget) -> str:
    where = f"ring@{_ring_name(name)}" if target.protocol == "tcp" else f"udp@{_target_address(target)}"
    return f"log {where} len {ACCESS_LOG_BYTES_MAX} format rfc5424 local1 emerg notice"


def _ring_section(name: str, target: wire.LogTarget) -> str:
    """Render the section that sends a frontend's access log over TCP; empty for UDP."""
    if target.protocol != "tcp":
        return ""
    lines = (
        "format rfc5424",
        f"maxlen {ACCESS_LOG_BYTES_MAX}",
        f"size {ACCESS_LOG_BUFFER_BYTES}",
        "timeout connect 5s",
        "timeout server 10s",
        f"server target {_target_address(target)}",
    )
    return _render_section(f"ring {_ring_name(name)}", lines)


def _ring_name(frontend: str) -> str:
    return f"log_{frontend}"


def _target_address(target: wire.LogTarget) -> str:
    return host_and_port(target.address, target.port)


def _traffic_log_lines(address: str, frontend: wire.Frontend) -> Iterable[str]:
    """Yield lines that log each request or connection, except connections without data, such as port scans.

    A frontend has one format for all its logs: that of its access log, if it has one.
    """
    yield f"log udp@{address} len {TRAFFIC_LOG_BYTES_MAX} format rfc5424 local1 info"
    if frontend.access_log is None:
        yield f"option {'tcp' if 'mode tcp' in frontend.lines else 'http'}log"
    yield "option dontlognull"


def _backend_section(backend: wire.Backend) -> str:
    lines = ["log global"]
    lines.extend(["http-reuse never"] if _forbids_connection_reuse(backend) else [])
    lines.extend(limit_connect_timeout(backend.lines))
    ids = server_ids(tuple(server.name for server in backend.servers))
    lines.extend(_server_line(server, ids[server.name]) for server in backend.servers)
    return _render_section(f"backend {backend.name}", lines)


def _forbids_connection_reuse(backend: wire.Backend) -> bool:
    return any(word.startswith(_ARGUMENTS_FORBIDDING_REUSE) for server in backend.servers for word in server.arguments)


def _server_line(server: wire.BackendServer, number: int) -> str:
    words = ["server", server.name, host_and_port(server.address, server.port), *server_line_words(server, number)]
    if not server.admin_up:
        words.append("disabled")
    return " ".join(words)


def server_line_words(server: wire.BackendServer, number: int) -> tuple[str, ...]:
    """Return the arguments of a server after its address, the same in the file and in runtime commands.
    ``number``: the server's id.
    """
    backup = ("backup",) if server.backup else ()
    return ("id", str(number), "weight", str(server.weight), *backup, *server.arguments)


@functools.lru_cache(maxsize=4096)
def server_ids(names: tuple[str, ...]) -> dict[str, int]:
    """Return ``{name: id}`` of a backend's servers; an id depends on the name only, except after a collision.
    The result is cached, and must not be changed.
    """
    ids: dict[str, int] = {}
    taken: set[int] = set()
    # in a fixed order, so that collisions are resolved alike in every run
    for name in sorted(names):
        # HAProxy requires an id greater than 0.
        number = zlib.crc32(name.encode()) & SERVER_ID_BITS or 1
        while number in taken:
            number += 1
        taken.add(number)
        ids[name] = number
    return ids


def server_address(server: wire.BackendServer) -> str:
    """Return address and port of a server in the syntax of the runtime API."""
    return host_and_port(server.address, server.port)
