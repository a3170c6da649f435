"""Accepted writes, and the work that follows from them for agents."""

from evenkeel.core.control.shards import OwnershipTerm, ShardOwner
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import LoadBalancerTree, Resource


class RecheckRequest(Value):
    """A request to the owner of a shard to read its devices again: their content, or statuses, may differ from what the
    owner last observed.
    """

    owner: ShardOwner
    """The agent to which the request goes; an empty ``shard_id`` means all shards that this agent serves."""
    load_balancer_ids: tuple[LoadBalancerId, ...] = ()
    complete: bool = False
    """True: read the whole shard, including load balancers believed to be applied."""


class Change(Value):
    """An accepted write that is committed in the database and not yet on the device."""

    load_balancer_id: LoadBalancerId
    revision: int
    environment: str
    owner: ShardOwner | None
    """The acting agent; None: no agent acts for the shard now, and the next acting agent finds the change."""
    placed: bool
    """False: the load balancer has no shard yet, and the scheduler must place it."""
    resources: tuple[Resource, ...] = ()
    """The objects that the write created or changed, in their present state."""
    tell_network: bool = False
    """True if the VIP's port has to be updated: see :class:`evenkeel.core.ports.PortStore`."""
    tree: LoadBalancerTree | None = None
    """The whole load balancer if the write created it; else None."""
    self_contained: bool = True
    """False: the service definition of ``tree`` depends on settings of the store, so its agent has to request it."""
    term: OwnershipTerm | None = None
    """Ownership term of the owner, for the creation of a load balancer whose tree is all that its devices need; else
    None.
    """
