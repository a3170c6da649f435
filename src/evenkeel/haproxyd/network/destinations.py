"""Lists the destinations to which a load balancer makes this host connect: servers, targets of health checks
and targets of access logs. Pure.
"""

import itertools
from collections.abc import Iterator

from evenkeel.haproxyd import wire

_ADDRESS, _PORT = "addr", "port"
"""Server arguments that redirect health checks."""

Destination = tuple[str, str, int]
"""Description, address and port of a destination."""


def load_balancer_destinations(load_balancer: wire.LoadBalancerConfig) -> Iterator[Destination]:
    """Yield ``(description, address, port)`` of all destinations of a load balancer: servers, targets of
    health checks and of access logs. Addresses are in the notation of the configuration.
    """
    for frontend in load_balancer.frontends:
        if frontend.access_log is not None:
            yield f"frontend {frontend.name}: access_log", frontend.access_log.address, frontend.access_log.port
    for backend in load_balancer.backends:
        for server in backend.servers:
            where = f"backend {backend.name}: server {server.name}"
            yield where, server.address, server.port
            if server.ping_address is not None:
                yield f"{where}: ping_address", server.ping_address, server.ping_port or server.port
            elif server.ping_port is not None:
                yield f"{where}: ping_port", server.address, server.ping_port
            yield from _health_check_destinations(where, server)


def _health_check_destinations(description: str, server: wire.BackendServer) -> Iterator[Destination]:
    words = server_argument_words(server)
    after = list(itertools.zip_longest(words, words[1:], fillvalue=""))
    addresses = [value.removeprefix("[").removesuffix("]") for name, value in after if name == _ADDRESS]
    ports = [int(value) for name, value in after if name == _PORT and value.isascii() and value.isdigit()]
    if addresses or ports:
        for address in addresses or [server.address]:
            for port in ports or [server.port]:
                yield f"{description}: addr", address, port


def server_argument_words(server: wire.BackendServer) -> tuple[str, ...]:
    """Return a server's arguments split at white space, which are HAProxy's words provided that they contain
    no quotes.
    """
    return tuple(word for text in server.arguments for word in text.split())
