"""Options that limit a server's connections: the same for the API and the daemon beside HAProxy."""

from oslo_config import cfg


def connection_options(*, connections_max: int, exempt: str = "") -> list[cfg.Opt]:
    """``connections_max`` is the default of the option of that name; ``exempt``: text about addresses without the limit
    per address; empty: none.
    """
    return [
        cfg.FloatOpt(
            "header_seconds",
            default=10.0,
            min=0.1,
            help="Time-out of a TLS handshake, and of receiving a request's header, seconds.",
        ),
        cfg.IntOpt(
            "connections_max",
            default=connections_max,
            min=16,
            help="Maximum number of connections, also limited by the limit of open files less 192. A "
            "new connection closes the oldest unauthenticated one.",
        ),
        cfg.IntOpt(
            "connections_per_address_max",
            default=100,
            min=0,
            help=f"Maximum number of connections from one address (IPv6: one /64 network){exempt}; 0: no limit.",
        ),
    ]
