"""Digests of held load balancers, by which agents compare many at little cost."""

import hashlib
from collections.abc import Mapping

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.contents import replace_contents_by_placeholders

# Equal load balancers must encode to equal bytes, whatever the order in which their dicts were filled.
_ENCODER = msgspec.json.Encoder(order="deterministic")


class DigestCache:
    """Cache of the digests of one partition's load balancers."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[wire.LoadBalancerConfig, str]] = {}

    def digests_of(self, held: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, str]:
        """Return ``{load balancer id: digest of its configuration}`` of the held load balancers, and forget
        the digests of others.
        """
        for name, one in held.items():
            known = self._known.get(name)
            # Held load balancers are replaced and never modified, so identity shows that a digest is still valid.
            if known is None or known[0] is not one:
                self._known[name] = (one, load_balancer_digest(one))
        for name in self._known.keys() - held.keys():
            del self._known[name]
        return {name: word for name, (_, word) in self._known.items()}


def load_balancer_digest(load_balancer: wire.LoadBalancerConfig) -> str:
    """Return 32 hexadecimal digits that are equal for equal load balancers. A certificate, CA file or
    revocation list with a ``sha256`` counts by that digest, not by its content.
    """
    return hashlib.sha256(_ENCODER.encode(replace_contents_by_placeholders(load_balancer))).hexdigest()[:32]
