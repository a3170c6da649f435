"""Options of ``[evenkeel]`` in ``neutron.conf``."""

from typing import Any
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel_neutron.forwarding import ForwarderSettings

OPTION_GROUP = "evenkeel"
OPTIONS: list[Any] = [
    cfg.ListOpt(
        "controllers",
        default=["http://127.0.0.1:9876"],
        help="Root URLs of Even Keel's controllers; another one is tried if one cannot be reached.",
    ),
    cfg.StrOpt("ca_file", help="CA certificates that sign the controllers' certificates; unset: those of the system."),
    cfg.FloatOpt(
        "connect_timeout", default=2.0, min=0.1, max=60.0, help="Seconds in which a controller must take a connection."
    ),
    cfg.FloatOpt("read_timeout", default=60.0, min=1.0, max=600.0, help="Seconds in which a controller must answer."),
]


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return the options for ``oslo-config-generator``."""
    return [(OPTION_GROUP, OPTIONS)]


def register_opts(conf: Any) -> None:
    """Register the options in a configuration."""
    conf.register_opts(OPTIONS, group=OPTION_GROUP)


def parse_settings(conf: Any) -> ForwarderSettings:
    """Return the settings. Raises :class:`ValueError` without a controller, and for a controller that is no
    root URL.
    """
    options = conf[OPTION_GROUP]
    urls = tuple(_root_url(url) for url in options.controllers)
    if not urls:
        raise ValueError(
            f"[{OPTION_GROUP}] controllers: at least one root URL is needed, such as http://127.0.0.1:9876"
        )
    return ForwarderSettings(
        urls=urls,
        ca_file=options.ca_file,
        connect_seconds=options.connect_timeout,
        read_seconds=options.read_timeout,
    )


def _root_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError(
            f"[{OPTION_GROUP}] controllers: {url!r} is no root URL such as https://controller-1.example.net:9876"
        )
    return f"{parts.scheme}://{parts.netloc}"
