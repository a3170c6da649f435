"""The store ports for what was taken of a network service: claims on VIPs, and changes of their ports."""

from typing import Protocol

from evenkeel.core.backoff import Backoff
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.network import DueClaim, DuePort, VipClaim


class ClaimStore(Protocol):
    """What was taken of a network service, and has to be given back to it."""

    async def claim_vip(self, claim: VipClaim, *, grace_seconds: float) -> None:
        """Write down what may be taken. Due ``grace_seconds`` later unless a load balancer holds it by then; and
        from the moment on that that load balancer's row is removed. Raises :class:`Conflict` if there is one."""
        ...

    async def abandon_vip(self, claim: VipClaim) -> None:
        """It is due now, unless a load balancer holds it. Written down again if it was forgotten meanwhile."""
        ...

    async def forget_vip(self, load_balancer_id: LoadBalancerId) -> None:
        """It was given back, or never taken. One that a load balancer holds stays. Repeating it is harmless."""
        ...

    async def take_due_claims(self, *, limit: int, backoff: Backoff) -> tuple[DueClaim, ...]:
        """Claims that are due, longest first, each to one caller only: for all others it is due again after
        what ``backoff`` says of the attempts so far. One query if none is."""
        ...


class PortStore(Protocol):
    """What the network service is still to be told of VIPs' ports. It is written down by the accepted change itself."""

    async def port_of(self, load_balancer_id: LoadBalancerId) -> DuePort | None:
        """What the port is to have, as it is now; None: the load balancer is gone, or its port is as it should be."""
        ...

    async def port_set(self, port: DuePort) -> bool:
        """The network service was told. False: it was changed again meanwhile, and is still to be told."""
        ...

    async def take_due_ports(self, *, limit: int, backoff: Backoff) -> tuple[LoadBalancerId, ...]:
        """Load balancers whose ports are still to be changed, longest first, each to one caller only: for all others
        it is due again after what ``backoff`` says of the attempts so far. One query if none is."""
        ...
