"""Giving VIPs back to the network service: after the confirmed delete, and after every create that failed.

The claims in the database say what is due; each is taken by one controller at a time and stays until it was given back,
however often that fails. One whose load balancer was never stored may be of a request that Neutron is still working on,
so "nothing found" is believed only after a while.
"""

import structlog

from evenkeel.controller.loops import for_each
from evenkeel.core.errors import Conflict
from evenkeel.core.network import RETRY, DueClaim
from evenkeel.core.ports import ClaimStore, Network

log = structlog.get_logger(__name__)

CLAIMS_PER_LOOK = 20
RELEASES_AT_ONCE = 4
LATE_SECONDS = 600.0
"""A request that timed out is carried out within that time, or never."""


class VipReleases:
    """Looks for claims that are due, and gives back what they name."""

    def __init__(self, claims: ClaimStore, network: Network) -> None:
        self._claims = claims
        self._network = network

    async def look(self) -> None:
        """Once. Raises :class:`NetworkUnavailable` if that is why some could not be given back."""
        due = await self._claims.take_due_claims(limit=CLAIMS_PER_LOOK, backoff=RETRY)
        await for_each(due, self._release, at_once=RELEASES_AT_ONCE)

    async def _release(self, due: DueClaim) -> None:
        claim = due.claim
        try:
            found = await self._network.release_vip(claim)
        except Conflict as error:
            log.warning(
                "a VIP's port is not given back; trying again",
                load_balancer=claim.load_balancer_id,
                attempts=due.attempts,
                reason=str(error),
            )
            return
        if not found and claim.port_id is None and due.age_seconds < LATE_SECONDS:
            return
        await self._claims.forget_vip(claim.load_balancer_id)
        if found:
            log.info("a VIP's port was given back", load_balancer=claim.load_balancer_id, port=claim.port_id)
