"""Options that limit a server's connections, shared by the API and the daemon beside HAProxy."""

from oslo_config import cfg


def connection_options(
    *, connections_max: int, per_address_max: int, header_seconds: float, spare_files: int, exempt: str = ""
) -> list[cfg.Opt]:
    """Return the options that limit a server's connections, with the given defaults.

    ``spare_files``: number of open files that the server reserves for other purposes, stated in the help;
    ``exempt``: clause for the help that names the addresses without a limit per address; empty: there are none.
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
            help=f"Maximum number of connections, at most the limit of open files less {spare_files}. One more closes "
            "the oldest unauthenticated one.",
        ),
        cfg.IntOpt(
            "connections_per_address_max",
            default=per_address_max,
            min=0,
            help=f"Maximum number of connections from one address (IPv6: one /64 network){exempt}; 0: no limit.",
        ),
    ]
