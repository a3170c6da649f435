"""Store port for load balancers that come from another system, with the ids that they had there."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.control.imports import StoredLoadBalancer
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.tls.certificates import CheckedCertificate


class ImportStore(Protocol):
    """Store port for imported load balancers. No quota applies to an import. Every method may raise
    :class:`StoreUnavailable`.

    A *held* load balancer is still served by the other system, which alone changes it: no device gets it, and
    tenants cannot change it until it is released. All others are tenants' own from the moment they are
    stored.
    """

    async def find_stored_load_balancer(self, load_balancer_id: LoadBalancerId) -> StoredLoadBalancer | None:
        """Return the load balancer with this id, also a mirrored one and one marked deleted; None if there is none."""
        ...

    async def check_creation(self, tree: LoadBalancerTree, plan: VipPlan) -> None:
        """Check that the load balancer can be created: its ids and its addresses are free, its limits are
        kept, and its objects fit together. Stores nothing.

        Raises :class:`Conflict` for an id of another object, a VIP address in use, or objects that exclude
        each other; :class:`NotFound` for an object that the tree names but does not have; :class:`Invalid`
        for protocols that do not match; :class:`ObjectLimitReached`.
        """
        ...

    async def create_imported(
        self,
        tree: LoadBalancerTree,
        plan: VipPlan,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Store an imported load balancer with its children, by the plan of its VIP. ``certificates``:
        checked contents of the references in the tree. ``unchained``: addresses that must not chain load
        balancers; None: no check.

        Raises the errors of :meth:`check_creation`; :class:`Conflict` for a subnet without a free address;
        :class:`Invalid` without a project, or for a provider that is not enabled; :class:`Unsupported` for an
        address in ``unchained``; :class:`NetworkUnavailable` if the VIP's port is being deleted.
        """
        ...

    async def update_held(
        self, tree: LoadBalancerTree, certificates: Sequence[CheckedCertificate] = ()
    ) -> Change | None:
        """Make a held load balancer equal to the tree, as one change; None: nothing differs. Its VIP's port
        is not touched. ``certificates``: checked contents of the references in the tree.

        Raises :class:`NotFound` for the load balancer, or an object that the tree names but does not have;
        :class:`Conflict` if it is not held, mirrored or marked deleted, an id is another object's, or objects
        exclude each other; :class:`Invalid` for an attribute that never changes, or protocols that do not
        match; :class:`ObjectLimitReached`.
        """
        ...

    async def set_held(self, load_balancer_id: LoadBalancerId, held: bool) -> Change | None:
        """Hold or release an imported load balancer; returns None if it is so already. Released: devices get
        it, and its VIP's port is bound to them. Held: it is removed from its devices, and the port is
        unbound.

        Raises :class:`NotFound`, and :class:`Conflict` for one that mirrors another system's or is marked
        deleted.
        """
        ...

    async def discard_held(self, load_balancer_id: LoadBalancerId) -> Change:
        """Mark a held load balancer deleted; its VIP's port stays as it is.

        Raises :class:`NotFound`, and :class:`Conflict` if it is not held, mirrors another system's, is marked deleted
        already, or its port is not unbound yet.
        """
        ...
