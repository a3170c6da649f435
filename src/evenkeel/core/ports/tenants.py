"""Store port for load balancers and their children."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from evenkeel.core.control.environments import ServedBy
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.chaining import Chained, ChainQuery
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
    """Store port for load balancers and their children, as the API reads and writes them.

    Every write is one transaction that locks the load balancer by raising its revision (compare-and-set), marks the
    changed objects PENDING_*, sets the PENDING deadline and returns a :class:`Change`. A write is accepted while an
    earlier one is PENDING, and on an ERROR load balancer, unless immutability is strict; on one marked deleted it
    raises :class:`Conflict`. ``project_id`` None means "any project"; else an object of another project raises
    :class:`NotFound`.

    ``certificates``: contents that were read for references new to the listeners and pools; they are stored and used
    from then on. More references than a load balancer may have raise :class:`LimitMet`. Constant number of queries
    whatever the size of the tree. ``unchained``: addresses that raise :class:`Unsupported` if they would chain load
    balancers (a member of one is another's VIP); writes with one address wait for each other, so that of two at the
    same time the later one finds the earlier.
    """

    async def create_load_balancer(
        self,
        tree: LoadBalancerTree,
        vip: VipPlan | None,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change:
        """Store a whole tree; without a VIP if it is made for a pool of LBaaS v1. A health monitor that names a shared
        one copies its attributes. Raises :class:`Conflict` for a VIP address in use or an id that exists,
        :class:`Invalid` for a flavor or availability zone that is gone, :class:`NotFound` for a shared monitor.
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
        """Change attributes of a load balancer. ``tell_network``: the VIP's port has to be updated, see
        :class:`~evenkeel.core.ports.vips.PortStore`.
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
        """Give a load balancer another flavor, which names these enhanced services, and changes these listeners. Raises
        :class:`~evenkeel.core.kit.errors.Invalid` if the flavor was deleted meanwhile, and :class:`Conflict` if a
        listener was changed meanwhile.
        """
        ...

    async def fail_over_load_balancer(
        self, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None
    ) -> Change:
        """Let devices apply the load balancer again: a new revision without changes."""
        ...

    async def delete_load_balancer(
        self, load_balancer_id: LoadBalancerId, *, cascade: bool, project_id: ProjectId | None
    ) -> Change:
        """Mark a load balancer deleted; one that was never placed is removed immediately. Repeating it is harmless.

        Raises :class:`Invalid` if it has listeners or pools and not ``cascade``.
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
        """Add a listener; ``row.load_balancer_id`` and the policies' positions are set. ``new_pools``: pools created
        together with the listener, to which it and its policies may refer.

        Raises :class:`Conflict` if the load balancer has a listener on the port.
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
        """Add an L7 policy to the listener ``row.listener_id``, at ``row.position`` or after the last policy if that is
        less; later policies move up. ``new_pool``: its redirect pool, if created with it.

        Raises :class:`NotFound` for a pool of another load balancer, :class:`Invalid` for one with the wrong protocol.
        """
        ...

    async def add_l7rule(self, row: L7Rule, *, project_id: ProjectId | None) -> Change:
        """Add a rule to the policy ``row.l7policy_id``. Raises :class:`Conflict` if it has the maximum number
        of rules.
        """
        ...

    async def add_rate_limit_policy(self, row: RateLimitPolicy, *, project_id: ProjectId | None) -> Change:
        """Add a rate limit policy without rules to the listener ``row.listener_id``. Raises :class:`Conflict` if it has
        the maximum number of policies.
        """
        ...

    async def add_rate_limit_rule(self, row: RateLimitRule, *, project_id: ProjectId | None) -> Change:
        """Add a rule to the policy ``row.rate_limit_policy_id``. Raises :class:`Conflict` if it has the maximum number
        of rules.
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
        """Add a pool with members and monitor.

        ``row.load_balancer_id`` may be empty if ``listener_id`` is given: then the pool becomes the default pool of
        that listener. Raises :class:`Conflict` if the listener has a default pool.
        """
        ...

    async def add_members(
        self, rows: Sequence[Member], *, project_id: ProjectId | None, unchained: ChainQuery | None = None
    ) -> Change:
        """Add one or more members of one pool, all or none. ``pool_id`` of each is set, ``load_balancer_id`` is filled
        in.

        Raises :class:`Conflict` if the pool has a member at the same address and port.
        """
        ...

    async def add_health_monitor(self, row: HealthMonitor, *, project_id: ProjectId | None) -> Change:
        """Add a health monitor to the pool ``row.pool_id``. Raises :class:`Conflict` if the pool has a monitor."""
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
        """Make the pool's members exactly ``members``, matched by (address, port); if ``additive_only``, keep other
        members.
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
        """Change attributes of a child; ``parent_id``: pool of a member, or policy of a rule.

        An L7 policy with a new position moves there; the policies in between move, too.
        """
        ...

    async def keep_irules(self, call: KeepIrules) -> tuple[Change, ...]:
        """Store the iRules that an adoption keeps on listeners of the caller's shard, in any status of their load
        balancers.

        Raises :class:`Conflict` if one of the iRules cannot be kept, :class:`SessionLost`; then nothing is stored.
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
        """Mark a child and its own children deleted. Raises :class:`Conflict` for a pool to which an L7 policy sends.

        ``restrict``: raise :class:`Conflict` also for a listener with L7 policies and a pool with a health monitor; L7
        policies that redirect to the pool become REJECT instead of refusing.
        """
        ...

    async def get(
        self, kind: type[Any], object_id: str, *, parent_id: str | None = None, project_id: ProjectId | None
    ) -> Any:
        """Return one object with the ids of its children. Raises :class:`NotFound`."""
        ...

    async def served_by(self, kind: type[Any], object_id: str, *, project_id: ProjectId | None) -> ServedBy:
        """Return the environment of the load balancer that the object is or belongs to; one query. Raises
        :class:`NotFound`.
        """
        ...

    async def list(self, kind: type[Any], query: ListQuery, *, parent_id: str | None = None) -> Page:
        """Return a page of objects. Raises :class:`Invalid` for unknown filter or sort names and markers."""
        ...

    async def tree(
        self, load_balancer_id: LoadBalancerId, *, project_id: ProjectId | None, statuses_only: bool = False
    ) -> LoadBalancerTree:
        """Return all objects of one load balancer, including objects marked deleted. Raises :class:`NotFound`.

        ``statuses_only``: for status trees. Members and pools have only what these show (ids of the object and its
        parents, name, statuses, address and port); the other children lack descriptions and tags, except for
        listeners' tags.
        """
        ...

    async def chained(self, query: ChainQuery) -> Chained:
        """Return the addresses of the query that would chain load balancers, because a member would be another one's
        VIP; at most two queries.
        """
        ...

    async def pending(self, load_balancer_ids: Collection[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        """Return the load balancers out of ``load_balancer_ids`` whose provisioning status is PENDING; one query."""
        ...

    async def statistics(
        self, load_balancer_id: LoadBalancerId, *, listener_id: str | None = None
    ) -> ListenerStatistics:
        """Return the totals of one listener or, summed, of the load balancer."""
        ...
