"""Addresses of servers: bound sockets, the API's URL, and the file that contains the URL."""

import socket
from ipaddress import ip_address
from pathlib import Path

from oslo_config import cfg

from evenkeel.core.networking.addresses import host_and_port


def bound_socket(section: str, host: str, port: int) -> socket.socket:
    """Bind a TCP socket to host and port, the options ``bind_host`` and ``bind_port`` of ``section``; it does
    not listen yet. Raises :class:`ValueError`, naming the options, if that fails.
    """
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Connections of an earlier process that are in TIME_WAIT would keep the address busy for a minute after a
    # restart.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        place = f"{section}.bind_host, {section}.bind_port: {host_and_port(host, port)}"
        raise ValueError(f"{place}: {error.strerror or error}") from error
    return made


def api_socket(conf: cfg.ConfigOpts) -> socket.socket:
    """Bind the API's socket; it does not listen yet. Raises :class:`ValueError` like :func:`bound_socket`."""
    return bound_socket("api", conf.api.bind_host, conf.api.bind_port)


def api_url(listening: socket.socket, conf: cfg.ConfigOpts) -> str:
    """Return the API's URL on this host, with the address of the socket."""
    host, port = listening.getsockname()[:2]
    return f"{_api_scheme(conf)}://{host_and_port(host, port)}"


def api_url_for_other_hosts(listening: socket.socket, conf: cfg.ConfigOpts) -> str:
    """Return the API's URL for other hosts: with this host's name if the API listens on all addresses."""
    host, port = listening.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = socket.gethostname()
    return f"{_api_scheme(conf)}://{host_and_port(host, port)}"


def _api_scheme(conf: cfg.ConfigOpts) -> str:
    return "https" if conf.api.ssl_cert_file else "http"


def write_endpoint_file(endpoint_file: str | None, url: str) -> None:
    """Write the API's URL to the file ``endpoint_file``, for a program that chose port 0; None: nothing is
    written. Raises :class:`OSError`.
    """
    if endpoint_file:
        Path(endpoint_file).write_text(f"{url}\n")
