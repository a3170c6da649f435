"""Store ports for ports at a network service: claims on them, and pending changes of VIPs' ports."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import DueClaim, PortClaim, PortToUpdate, VipPortId


class ClaimStore(Protocol):
    """Store port for claims: records of ports that may exist at a network service and have to be deleted
    there. Every method may raise :class:`StoreUnavailable`.
    """

    async def store_claim(self, claim: PortClaim, *, grace_seconds: float) -> None:
        """Store a claim, before its port is created at the network service. The port is due to be deleted
        ``grace_seconds`` later, unless the user of the port (a load balancer, an address of devices) holds
        the claim by then; and as soon as that user's row is removed. Raises :class:`Conflict` with code
        :data:`PORT_BEING_CREATED` if the claim exists.
        """
        ...

    async def abandon_claim(self, claim: PortClaim) -> None:
        """Make a claim due now, so that its port is deleted; a claim that an object holds stays. Stores the
        claim again if it was deleted meanwhile.
        """
        ...

    async def delete_claim(self, claim_id: str) -> None:
        """Delete a claim whose port was deleted, or never created. A claim that an object holds stays. A
        repetition changes nothing.
        """
        ...

    async def take_due_claims(self, *, limit: int, backoff: Backoff) -> tuple[DueClaim, ...]:
        """Return at most ``limit`` claims whose ports are due to be deleted, longest due first; none while
        agents report the history of another database that no operator has accepted.

        Each claim is returned to one caller only and becomes due again after the delay that ``backoff`` gives
        for its attempts. One query if none is due.
        """
        ...


class PortStore(Protocol):
    """Store port for pending changes of VIPs' ports at the network service. The transaction of the accepted
    change stores them. Every method may raise :class:`StoreUnavailable`.
    """

    async def find_due_port(self, load_balancer_id: LoadBalancerId) -> PortToUpdate | None:
        """Return the port of the load balancer's VIP with its wanted options; None: the load balancer is
        gone, or no change of its port is pending.
        """
        ...

    async def record_port_updated(self, port: PortToUpdate) -> bool:
        """Record that the port was updated, so that no change of it is pending any more. Returns False, and
        changes nothing, if the wanted options changed, or the port was placed or lost, meanwhile; or if no
        change was pending any more.
        """
        ...

    async def take_load_balancers_due_for_port_update(
        self, *, limit: int, backoff: Backoff
    ) -> tuple[LoadBalancerId, ...]:
        """Return at most ``limit`` load balancers with pending changes of their ports, longest due first.

        Each is returned to one caller only and becomes due again after the delay that ``backoff`` gives for
        its attempts. One query if none is due.
        """
        ...


class LostPortStore(Protocol):
    """Store port for VIPs' ports that another program or person deleted at the network service. Every method
    may raise :class:`StoreUnavailable`.

    That a port is lost is part of the pending changes of :class:`PortStore`.
    """

    async def take_ports_to_check(self, *, older_seconds: float, limit: int) -> tuple[VipPortId, ...]:
        """Return the next at most ``limit`` ports to check for existence, in the order of their load
        balancers' ids; each is returned to one caller only. Ports of mirrored and held load balancers are
        left out.

        Empty if a round through all ports is complete and began less than ``older_seconds`` ago, or another
        controller was faster. One query if nothing is to be done.
        """
        ...

    async def record_lost_ports(self, ports: Sequence[VipPortId]) -> tuple[LoadBalancerId, ...]:
        """Record that these ports are gone from the network service and have to be recreated, with an event
        for each. Returns the load balancers that still have these ports; the others are left out.
        """
        ...

    async def begin_recreation(self, load_balancer_id: LoadBalancerId) -> bool:
        """Record that an attempt to recreate a load balancer's port begins. Called before each attempt: a
        port made from now on is found and released, whatever fails. Returns False if the port is not
        needed any more.
        """
        ...

    async def record_found_port(self, port: PortToUpdate) -> None:
        """Record that a port noted as lost exists after all: it was missing from the network service's
        answers for a while. The port is due to be bound again.
        """
        ...

    async def record_new_port(self, port: PortToUpdate, port_id: str) -> bool:
        """Record that the lost port was recreated with the id ``port_id``, and has to be bound. Returns
        False, and changes nothing, if the load balancer was deleted or has another port meanwhile.
        """
        ...

    async def record_recreation_failure(self, load_balancer_id: LoadBalancerId, reason: str) -> None:
        """Store why the lost port could not be recreated (cut to 255 characters), for operators and in the
        status reason that the tenant sees. Does nothing if the port is not lost any more.
        """
        ...
