"""Options common to device drivers. Each driver declares its own beside its entry point."""

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg


def https_client_options(*, servers: str, request_timeout: float) -> list[cfg.Opt]:
    """Declare the options of a driver's HTTPS client. ``servers``: the kind of server that the agent connects
    to, in the plural, for help texts; ``request_timeout``: default of the option of that name, in seconds.
    """
    return [
        cfg.StrOpt("ca_file", help=f"PEM file of the CAs of the {servers}' certificates; else the system's."),
        cfg.BoolOpt(
            "verify_tls", default=True, help=f"Verify the {servers}' certificates. Turning it off is logged loudly."
        ),
        cfg.StrOpt(
            "prefix",
            help="First part of the names of all partitions; else the environment. With another prefix the earlier "
            "partitions are no longer managed.",
        ),
        cfg.FloatOpt(
            "connect_timeout",
            default=3.0,
            min=0.1,
            max=300.0,
            help=f"Seconds to make a connection, and of silence after which the {servers} are probed.",
        ),
        cfg.FloatOpt(
            "request_timeout", default=request_timeout, min=0.1, max=600.0, help="Time-out of a request, seconds."
        ),
    ]


def required_credential(values: Mapping[str, Any], name: str) -> str:
    """Return the value of a mandatory option. Raises :class:`ValueError` naming the option if the value is
    empty or None.
    """
    if not values[name]:
        raise ValueError(f"{name}: not set; it is needed to log in to the devices")
    return str(values[name])
