"""Challenges of a certificate authority, which come to the load balancers of histories and go with their changes.

They have random numbers of their own, so that the rest of a seed's history is the same with and without them. HAProxy
answers them from memory.
"""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH
from tests.equivalence.requests import Request

TOKENS = ("a-Token", "another_1", "third")
PORT = 80
CHANGED_SHARE = 0.4
"""Of the load balancers at each change."""


class Challenges:
    """Draws what load balancers have of challenges."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(f"{seed} challenges")

    def drawn(self) -> dict[str, Any]:
        """Values of a load balancer's attributes: most are prepared, because nothing but the challenges is changed
        then."""
        tokens = self._rng.sample(TOKENS, self._rng.choice((0, 0, 1, 2)))
        prints = self._rng.choice(("print", "another"))
        prepared = self._rng.random() < 0.9
        return {
            "prepared_for_challenges": prepared,
            "challenges": {token: f"{token}.{prints}" for token in tokens} if prepared else {},
        }

    def changed(self, trees: Mapping[str, ServiceDefinition]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Load balancers whose attributes are changed now, with the new values."""
        for name in sorted(trees):
            values = self.drawn()
            if self._rng.random() < CHANGED_SHARE:
                yield name, values


def requests_for_challenges(tree: ServiceDefinition) -> list[Request]:
    """An authority's requests, also for challenges that are not there; none if there never are any."""
    if not tree.prepared_for_challenges:
        return []
    plain = Request("an authority", tree.vip.address, PORT, over_tls=False)
    return [plain._replace(target=f"{CHALLENGE_PATH}{token}") for token in TOKENS]
