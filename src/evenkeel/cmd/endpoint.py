"""Where the API is reached: the bound socket, its URL, and the file that tells it."""

import socket
from pathlib import Path

from oslo_config import cfg


def listen(conf: cfg.ConfigOpts) -> socket.socket:
    """The bound socket. Raises :class:`ValueError`."""
    host = conf.api.bind_host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, conf.api.bind_port))
    except OSError as error:
        listening.close()
        raise ValueError(f"api.bind_host, api.bind_port: {host}:{conf.api.bind_port}: {error.strerror}") from error
    return listening


def url_of(listening: socket.socket, conf: cfg.ConfigOpts) -> str:
    """The API's URL on this host."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if conf.api.ssl_cert_file else 'http'}://{host}:{port}"


def announce(endpoint_file: str | None, url: str) -> None:
    """Write the API's URL to a file, for a parent process that chose port 0."""
    if endpoint_file:
        Path(endpoint_file).write_text(f"{url}\n")
