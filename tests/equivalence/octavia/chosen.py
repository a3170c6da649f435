"""The load balancers that are compared."""

from collections.abc import Iterator

from evenkeel.core.service import ServiceDefinition
from tests.equivalence.history import draw
from tests.equivalence.host import HAPROXY

DEFINITIONS = 60
WITHOUT_CERTIFICATES = ("HTTP", "TCP", "HTTPS")
"""Protocols of the listeners that are compared."""
PROGRAM_OF_THE_AMPHORA = "PING"
"""The type of monitors for which an amphora has a program of its own."""


def definitions(first: int = 1) -> Iterator[tuple[int, ServiceDefinition]]:
    """Seed and load balancer, without end."""
    seed = first
    while True:
        tree = next(iter(draw(str(seed), HAPROXY, steps=0).first.values()))
        monitors = [pool.monitor.type for pool in tree.pools if pool.monitor is not None]
        if PROGRAM_OF_THE_AMPHORA not in monitors and tree.listeners and not _with_certificates(tree):
            yield seed, tree
        seed += 1


def _with_certificates(tree: ServiceDefinition) -> bool:
    """What needs certificates on both sides, or TLS settings that Octavia's API always gives."""
    return any(one.protocol not in WITHOUT_CERTIFICATES for one in tree.listeners) or any(
        pool.tls_enabled and (pool.tls_container_ref or pool.ca_tls_container_ref or not pool.tls_ciphers)
        for pool in tree.pools
    )
