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
            help="Seconds for a TLS handshake, and again for the header of a request, to arrive as a whole.",
        ),
        cfg.IntOpt(
            "connections_max",
            default=connections_max,
            min=16,
            help="Connections held at once; at most what the limit of open files allows, less 192. A new one closes "
            "the oldest on which nobody has logged in.",
        ),
        cfg.IntOpt(
            "connections_per_address_max",
            default=100,
            min=0,
            help=f"Of those, from one address (of IPv6: one /64 network){exempt}; 0: no limit.",
        ),
    ]
