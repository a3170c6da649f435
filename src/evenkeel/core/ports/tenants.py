"""Store port for load balancers and their children."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from evenkeel.core.control.environments import LoadBalancerProviderFacts
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.chaining import ChainedAddresses, ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.protocol.messages import KeepIrules
from evenkeel.core.resources.model import (
    Child,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    ListenerStatistics,
    LoadBalancerTree,
    Member,
    NewPool,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.core.tls.certificate_references import ChangedReferences
from evenkeel.core.tls.certificates import CheckedCertificate


class TenantStore(Protocol):
    """Store port for load balancers and their children, as the API reads and writes them. Every method may
    raise :class:`StoreUnavailable`.

    Every write is one transaction that locks the load balancer by raising its revision (compare-and-set),
    marks the changed objects PENDING_*, sets the PENDING deadline and returns a :class:`Change`. A write is
    accepted while an earlier one is PENDING, and on an ERROR load balancer; where immutability is strict it
    then raises :class:`Conflict`, but in ERROR not for delete and failover, nor for LBaaS v1 and v2. On a
    load balancer that is marked deleted, held, or mirrored from another system it raises :class:`Conflict`;
    but a repeated delete changes nothing, a mirrored one can be failed over, and :meth:`keep_irules` accepts
    held and mirrored ones. ``project_id`` None means "any project"; else an object of another project raises
    :class:`NotFound`.

    ``certificates``: contents that were read for references new to the listeners and pools; they are stored
    and used from then on. More references than a load balancer may have raise :class:`ObjectLimitReached`. The
    number of queries of a write does not grow with the tree. ``unchained``: addresses that raise :class:`Unsupported`
    if they would chain load balancers (a member of one is another's VIP); writes with one address wait for
    each other, so that of two at the same time the later one finds the earlier.
    """

    async def create_load_balancer(
        self,
        tree: LoadBalancerTree,
        vip: VipPlan | None,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Store a load balancer with all its children, as one change. ``vip``: plan of its VIP; None: it has
        none, because it is made for a pool of LBaaS v1. A health monitor that names a shared one copies
        its attributes. ``certificates``: checked contents of the references in the tree. ``unchained``:
        addresses that must not chain load balancers; None: no check.

        Raises :class:`Conflict` for a VIP address in use, a subnet without a free one, an id that exists,
        objects of the tree that exclude each other, or a shared monitor that has as many pools as it may;
        :class:`QuotaReached` for a quota of the project, :class:`ObjectLimitReached` for a limit of one load
        balancer, :class:`Invalid` without a project, for a provider that is not enabled, for protocols that
        do not match, and for a flavor or availability zone that is gone; :class:`NotFound` for a shared
        monitor, or an object that the tree names but does not have; :class:`Unsupported` for an address in
        ``unchained``; :class:`NetworkUnavailable` if the VIP's port is being deleted.
        """
        ...

    async def update_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        changes: Mapping[str, Any],
        *,
        project_id: ProjectId | None,
        tell_network: bool = False,
    ) -> Change:
        """Change attributes of a load balancer. ``changes``: {attribute: new value}. ``project_id``: the project that
        must have it; None: any. ``tell_network``: the change must also be made on the VIP's port at the network
        service; it is stored as pending until then.

        Raises :class:`NotFound`, :class:`Invalid` for an attribute that cannot be changed, :class:`Conflict` if it is
        marked deleted, held or mirrored, or was made for a pool of LBaaS v1 and the attribute is its port's.
        """
        ...

    async def resize_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        *,
        flavor_id: str,
        enhanced_services: Sequence[str],
        listeners: Sequence[ChangedReferences] = (),
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
    ) -> Change:
        """Give a load balancer another flavor. ``enhanced_services``: names of those in the new flavor. ``listeners``:
        changed references to certificates of its listeners; ``certificates``: checked contents of new references.
        ``project_id``: the project that must have it; None: any.

        Raises :class:`NotFound`, :class:`Invalid` if the flavor was deleted meanwhile, and :class:`Conflict` if a
        listener was changed meanwhile, or the load balancer is marked deleted, held or mirrored.
        """
        ...

    async def fail_over_load_balancer(
        self, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None
    ) -> Change:
        """Give a load balancer a new revision without changes, so that its devices apply it again, and record
        the act as an event. ``project_id``: the project that must have it; None: any. Raises
        :class:`NotFound`, :class:`Conflict` if it is held or marked deleted.
        """
        ...

    async def delete_load_balancer(
        self, load_balancer_id: LoadBalancerId, *, cascade: bool, project_id: ProjectId | None
    ) -> Change:
        """Mark a load balancer and all its children deleted; one that was never placed is removed
        immediately. A repetition changes nothing. ``project_id``: the project that must have it; None:
        any.

        Raises :class:`NotFound`, :class:`Invalid` with code ``has_children`` if it has listeners or pools and
        not ``cascade``, :class:`Conflict` if it is held or mirrored.
        """
        ...

    async def add_listener(
        self,
        row: Listener,
        l7policies: Sequence[L7Policy] = (),
        l7rules: Sequence[L7Rule] = (),
        *,
        new_pools: Sequence[NewPool] = (),
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Add a listener to the load balancer ``row.load_balancer_id``, with L7 policies, whose positions the
        caller has set, and their rules. ``new_pools``: pools created together with the listener, to which
        it and its policies may refer. ``certificates``: checked contents of the references in listener and
        pools. ``unchained``: addresses of new members that must not be VIPs of other load balancers; None:
        no check. ``project_id``: the project that must have the load balancer; None: any.

        Raises :class:`NotFound` for the load balancer and for a pool that is not its own, :class:`Invalid`
        for a pool with the wrong protocol, :class:`Conflict` if the load balancer has a listener on the port
        or has no VIP, an id exists, a policy has too many rules, or two members of a new pool have one
        address and port; :class:`QuotaReached`, :class:`ObjectLimitReached`, :class:`Unsupported` for an
        address in ``unchained``.
        """
        ...

    async def add_l7policy(
        self,
        row: L7Policy,
        rules: Sequence[L7Rule],
        *,
        new_pool: NewPool | None = None,
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Add an L7 policy with rules to the listener ``row.listener_id``, at ``row.position`` or after the
        last policy if that is less; later policies move up. ``new_pool``: pool to which it redirects, if
        that is created with it. ``unchained``: addresses of new members that must not be VIPs of other
        load balancers; None: no check. ``certificates``: checked contents of the references in the new
        pool. ``project_id``: the project that must have the listener; None: any.

        Raises :class:`NotFound` for the listener and for a pool of another load balancer, :class:`Invalid`
        for a pool with the wrong protocol, :class:`Conflict` if there are too many rules, an id exists, two
        members of the new pool have one address and port, or the listener is marked deleted;
        :class:`QuotaReached`, :class:`ObjectLimitReached`, :class:`Unsupported` for an address in
        ``unchained``.
        """
        ...

    async def add_l7rule(self, row: L7Rule, *, project_id: ProjectId | None) -> Change:
        """Add a rule to the policy ``row.l7policy_id``. ``project_id``: the project that must have the
        policy; None: any.

        Raises :class:`NotFound` for the policy, :class:`Conflict` if it has the maximum number of rules or is
        marked deleted, :class:`QuotaReached`, :class:`ObjectLimitReached`.
        """
        ...

    async def add_rate_limit_policy(self, row: RateLimitPolicy, *, project_id: ProjectId | None) -> Change:
        """Add a rate limit policy without rules to the listener ``row.listener_id``. ``project_id``: the
        project that must have the listener; None: any.

        Raises :class:`NotFound` for the listener, :class:`Conflict` if it has the maximum number of policies
        or is marked deleted, :class:`ObjectLimitReached`.
        """
        ...

    async def add_rate_limit_rule(self, row: RateLimitRule, *, project_id: ProjectId | None) -> Change:
        """Add a rule to the policy ``row.rate_limit_policy_id``. ``project_id``: the project that must have
        the policy; None: any.

        Raises :class:`NotFound` for the policy, :class:`Conflict` if it has the maximum number of rules or is
        marked deleted, :class:`ObjectLimitReached`.
        """
        ...

    async def add_pool(
        self,
        row: Pool,
        members: Sequence[Member],
        monitor: HealthMonitor | None,
        *,
        listener_id: str | None,
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Add a pool with its members and its monitor (None: none). ``listener_id``: listener whose default
        pool it becomes; then ``row.load_balancer_id`` may be empty. None: no listener's. ``unchained``:
        addresses of members that must not be VIPs of other load balancers; None: no check.
        ``certificates``: checked contents of the references in the pool. ``project_id``: the project that
        must have the load balancer or listener; None: any.

        Raises :class:`NotFound`, also for a listener of another load balancer; :class:`Invalid` if the
        listener's protocol does not match the pool's; :class:`Conflict` if the listener has a default pool,
        or two members have one address and port; :class:`QuotaReached`, :class:`ObjectLimitReached`,
        :class:`Unsupported` for an address in ``unchained``.
        """
        ...

    async def add_members(
        self, rows: Sequence[Member], *, project_id: ProjectId | None, unchained: ChainQuery | None = None
    ) -> Change:
        """Add one or more members of one pool, all or none. The caller has set ``pool_id`` of each;
        ``load_balancer_id`` and ``project_id`` are filled in. ``unchained``: addresses of members that
        must not be VIPs of other load balancers; None: no check. ``project_id``: the project that must
        have the pool; None: any.

        Raises :class:`NotFound` for the pool, :class:`Conflict` if two members have one address and port, or
        the pool has such a member, :class:`QuotaReached`, :class:`ObjectLimitReached`, :class:`Unsupported`
        for an address in ``unchained``.
        """
        ...

    async def add_health_monitor(self, row: HealthMonitor, *, project_id: ProjectId | None) -> Change:
        """Add a health monitor to the pool ``row.pool_id``. ``project_id``: the project that must have the
        pool; None: any.

        Raises :class:`NotFound` for the pool, :class:`Conflict` if it has a monitor or is marked deleted,
        :class:`QuotaReached`.
        """
        ...

    async def replace_members(
        self,
        pool_id: str,
        members: Sequence[Member],
        *,
        additive_only: bool,
        project_id: ProjectId | None,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Make the pool's members exactly ``members``, matched by (address, port): add, change and delete
        what differs; with ``additive_only`` delete none. Unchanged members keep status and revision.
        ``unchained``: addresses of members that must not be VIPs of other load balancers; None: no check.
        ``project_id``: the project that must have the pool; None: any.

        Raises :class:`NotFound` for the pool, :class:`Conflict` if two of ``members`` have one address and
        port, :class:`QuotaReached`, :class:`ObjectLimitReached`, :class:`Unsupported` for an address in
        ``unchained``.
        """
        ...

    async def update_child(
        self,
        kind: type[Child],
        child_id: str,
        changes: Mapping[str, Any],
        *,
        parent_id: str | None = None,
        certificates: Sequence[CheckedCertificate] = (),
        project_id: ProjectId | None,
    ) -> Change:
        """Change attributes of a child of a load balancer. ``changes``: {attribute: new value}.
        ``parent_id``: pool of a member, or policy of a rule; None: not checked. ``certificates``: checked
        contents of references in ``changes``. ``project_id``: the project that must have the child; None:
        any.

        An L7 policy with a new position moves there; the policies in between move, too. Raises
        :class:`NotFound`, also for a pool of another load balancer; :class:`Conflict` if the child is marked
        deleted; :class:`Invalid` for an attribute that cannot be changed, or a pool with the wrong protocol;
        :class:`ObjectLimitReached` for too many references.
        """
        ...

    async def keep_irules(self, call: KeepIrules) -> tuple[Change, ...]:
        """Store the iRules that an adoption keeps on listeners of the caller's shard, in any status of their
        load balancers; return one change for each listener.

        Raises :class:`Conflict` if one of the iRules cannot be kept, or a listener is none of the shard's;
        :class:`SessionLost` unless the agent owns the shard; then nothing is stored.
        """
        ...

    async def delete_child(
        self,
        kind: type[Child],
        child_id: str,
        *,
        parent_id: str | None = None,
        restrict: bool = False,
        project_id: ProjectId | None,
    ) -> Change:
        """Mark a child and its own children deleted; one of a load balancer that was never placed is removed
        immediately. A repetition changes nothing. ``parent_id``: pool of a member, or policy of a rule;
        None: not checked.

        A listener's pool stays. Without ``restrict``, a pool to which an L7 policy redirects is refused. With
        it, a listener with L7 policies and a pool with a health monitor are refused, and L7 policies that
        redirect to the pool become REJECT. Raises :class:`NotFound`, :class:`Conflict` for a refused delete.
        """
        ...

    async def get(
        self, kind: type[Any], object_id: str, *, parent_id: str | None = None, project_id: ProjectId | None
    ) -> Any:
        """Return one object of the class ``kind``, also one marked deleted, with the ids of its children.
        ``parent_id``: pool of a member, or policy of a rule; None: not checked. ``project_id``: the project that must
        have it; None: any. Raises :class:`NotFound`.
        """
        ...

    async def served_by(
        self, kind: type[Any], object_id: str, *, project_id: ProjectId | None
    ) -> LoadBalancerProviderFacts:
        """Return the facts that never change about the load balancer that the object is or belongs to: its
        id, project, environment and others; one query. ``project_id``: the project that must have the
        object; None: any. Raises :class:`NotFound`, also for an object of another project.
        """
        ...

    async def list(self, kind: type[Any], query: ListQuery, *, parent_id: str | None = None) -> Page:
        """Return a page of objects of the class ``kind`` that match the query, also objects marked deleted.
        ``parent_id``: only members of this pool, or rules of this policy; None: all. Raises
        :class:`NotFound` if there is no such parent, which is looked up for an empty page only;
        :class:`Invalid` for unknown filter or sort names and markers, and for filter values of a wrong
        type.
        """
        ...

    async def tree(
        self, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None, statuses_only: bool = False
    ) -> LoadBalancerTree:
        """Return all objects of one load balancer, including objects marked deleted. ``project_id``: the project that
        must have it; None: any. Raises :class:`NotFound`.

        ``statuses_only``: for status trees. Members and pools have only what these show (ids of the object and its
        parents, name, statuses, address and port, of pools protocol and algorithm); the other children lack
        descriptions and tags, except for listeners' tags.
        """
        ...

    async def find_chained(self, query: ChainQuery) -> ChainedAddresses:
        """Return the addresses of the query that would chain load balancers: addresses of its members that are VIPs of
        other load balancers, and its VIPs that are members of others. At most two queries.
        """
        ...

    async def find_pending(self, load_balancer_ids: Collection[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        """Return the load balancers out of ``load_balancer_ids`` whose provisioning status is PENDING_CREATE,
        PENDING_UPDATE or PENDING_DELETE; one query.
        """
        ...

    async def statistics(
        self, load_balancer_id: LoadBalancerId, *, listener_id: str | None = None
    ) -> ListenerStatistics:
        """Return the traffic totals of one listener or, with ``listener_id`` None, the sum over the load
        balancer's listeners; zeros if there are none, or nothing is counted yet. One query.
        """
        ...
