"""Options that limit a server's connections, shared by the API and the daemon beside HAProxy."""

from oslo_config import cfg


def connection_options(
    *, connections_max: int, per_address_max: int, header_seconds: float, spare_files: int, exempt: str = ""
) -> list[cfg.Opt]:
    """Options with the given defaults.

    ``spare_files``: number of open files that a server reserves for other purposes; ``exempt``: text about addresses
    without the limit per address; empty: none.
    """
    return [
        cfg.FloatOpt(
            "header_seconds",
            default=header_seconds,
            min=0.1,
            help="Time-out of a TLS handshake, and of receiving a request's header, seconds.",
        ),
        cfg.IntOpt(
            "connections_max",
            default=connections_max,
            min=16,
            help=f"Maximum number of connections, also limited by the limit of open files less {spare_files}. A "
            "new connection closes the oldest unauthenticated one.",
        ),
        cfg.IntOpt(
            "connections_per_address_max",
            default=per_address_max,
            min=0,
            help=f"Maximum number of connections from one address (IPv6: one /64 network){exempt}; 0: no limit.",
        ),
    ]
