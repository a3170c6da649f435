"""Deletes ports of VIPs and of devices' addresses at the network service when nothing uses the ports any
more, and after a failed create; a port that is the tenant's own is only unbound.

Claims in the database name the ports. One controller at a time takes a claim, and the claim stays until its
port is deleted or known to be absent, however often that fails. A claim without a port id may belong to a
create request that Neutron is still processing, so "nothing found" counts only :data:`LATE_SECONDS` after the
claim.
"""

import structlog

from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.network import RETRY, DueClaim
from evenkeel.core.ports import ClaimStore, Network

log = structlog.get_logger(__name__)

CLAIMS_PER_LOOK = 20
RELEASES_AT_ONCE = 4
LATE_SECONDS = 600.0
"""Age of a claim after which the network service no longer executes a create request that timed out."""


class PortReleases:
    """Deletes ports at the network service whose claims in the database are due."""

    def __init__(self, claims: ClaimStore, network: Network) -> None:
        self._claims = claims
        self._network = network

    async def process_due(self) -> None:
        """Delete (or unbind, if they are tenants' own) the ports of at most :data:`CLAIMS_PER_LOOK` due
        claims. Raises :class:`NetworkUnavailable` if that prevented some deletes,
        :class:`StoreUnavailable`. A port that the network service refuses to delete is tried again later.
        """
        due = await self._claims.take_due_claims(limit=CLAIMS_PER_LOOK, backoff=RETRY)
        await for_each_concurrently(due, self._release_port, at_once=RELEASES_AT_ONCE)

    async def _release_port(self, due: DueClaim) -> None:
        claim = due.claim
        try:
            found = await self._network.release_vip(claim)
        except Conflict as error:
            log.warning(
                "port not deleted; trying again",
                claim=claim.claim_id,
                attempts=due.attempts,
                reason=str(error),
            )
            return
        # The request that creates the port may still be on its way; the claim stays and is tried again.
        if not found and claim.port_id is None and due.age_seconds < LATE_SECONDS:
            return
        await self._claims.delete_claim(claim.claim_id)
        if found:
            log.info("port deleted", claim=claim.claim_id, port=claim.port_id)
