"""Digests of held load balancers, for cheap comparison of many."""

import hashlib
from collections.abc import Mapping

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.contents import with_identities

# Equal load balancers must encode to equal bytes, whatever the order in which their dicts were filled.
_ENCODER = msgspec.json.Encoder(order="deterministic")


class Digests:
    """Digests of one partition's load balancers; each is computed once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[wire.LoadBalancerConfig, str]] = {}

    def digests_of(self, held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, str]:
        """Digests of the configuration of held load balancers, by their id."""
        for name, one in held.items():
            known = self._known.get(name)
            # Held load balancers are replaced and never modified, so identity shows that a digest is still valid.
            if known is None or known[0] is not one:
                self._known[name] = (one, digest(one))
        for name in self._known.keys() - held.keys():
            del self._known[name]
        return {name: word for name, (_, word) in self._known.items()}


def digest(one: wire.LoadBalancerConfig) -> str:
    """Digest that is equal for equal load balancers. A held content is represented by its own digest, if it has one."""
    return hashlib.sha256(_ENCODER.encode(with_identities(one))).hexdigest()[:32]
