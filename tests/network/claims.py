"""What a network driver sees of the store, in memory."""

from evenkeel.core.networking.network import PortClaim


class Claims:
    """Claims that stand, and those that were abandoned."""

    def __init__(self) -> None:
        self.standing: dict[str, PortClaim] = {}
        self.abandoned: list[str] = []

    async def store_claim(self, claim: PortClaim, *, grace_seconds: float) -> None:
        assert grace_seconds > 0
        self.standing[claim.claim_id] = claim

    async def abandon_claim(self, claim: PortClaim) -> None:
        self.abandoned.append(claim.claim_id)

    async def delete_claim(self, load_balancer_id: str) -> None:
        self.standing.pop(load_balancer_id, None)
