"""Store port for the operators' API."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from evenkeel.core.control.agents import Agent, AgentEnhancedServices, AgentLiveness
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.events import Event
from evenkeel.core.control.histories import History
from evenkeel.core.control.lists import FoundPage, ListQuery, LoadBalancerSummary, Page
from evenkeel.core.control.move_requests import MovableLoadBalancer, MoveProgress, MoveRequest, MoveTargetGroup
from evenkeel.core.control.orphans import OrphanedLoadBalancer, OrphanedPartition, OrphanSummary
from evenkeel.core.control.overview import ControllerHeartbeat, OwnershipOverview, Revision
from evenkeel.core.control.shards import Shard, ShardCount, ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.plans import PlanAnswer
from evenkeel.core.kit.countdowns import RemovalCountdowns
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.networking.networks import DeclaredNetwork
from evenkeel.core.resources.model import Subnet
from evenkeel.core.tls.certificates import ReferencedCertificate, ReferenceQuery
from evenkeel.core.tls.own_certificates import OwnCertificate


class OperatorStore(Protocol):
    """Store port for the operators' API. Every method may raise :class:`StoreUnavailable`; every write that
    changes something records the act as an event, except :meth:`add_plan_inquiry`.
    """

    async def environments(self) -> tuple[Environment, ...]:
        """Return all environments, sorted by name. One query."""
        ...

    async def add_environment(self, environment: Environment) -> Environment:
        """Store an environment, and return it. Nothing changes if one with equal attributes exists; raises
        :class:`Conflict`, naming the differences, if one with this name differs.
        """
        ...

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        """Return the agents of an environment (None: of all) with their load, sorted by environment, group
        and host. The numbers of load balancers were counted at the same time as those of
        :meth:`load_balancer_summary`, so they may be some seconds old. Constant number of queries.
        """
        ...

    async def agent_liveness(self) -> tuple[AgentLiveness, ...]:
        """Return the liveness of all agents, sorted by id; one query, however many shards they serve."""
        ...

    async def agent(self, agent_id: AgentId) -> Agent:
        """Return one agent, with its load counted now. Raises :class:`NotFound`."""
        ...

    async def enhanced_services(self, environment: str | None = None) -> tuple[AgentEnhancedServices, ...]:
        """Return the enhanced services that each agent of an environment (None: of all) last reported, sorted
        by environment, group and host. One query.
        """
        ...

    async def update_environment(self, name: str, changes: Mapping[str, Any]) -> Environment:
        """Change attributes of an environment ({attribute: new value}): ``description``, ``failback``,
        ``breaker_share``, ``breaker_agents``, ``vip_networks_allowed``, ``vip_networks_denied``. Raises
        :class:`NotFound`, :class:`Invalid` for another attribute, or a value that is not allowed.
        """
        ...

    async def device_group_for_moves(self, environment: str, group_number: int) -> MoveTargetGroup | None:
        """Return the device group; None if no agent of it has ever registered. One query."""
        ...

    async def movable_load_balancers(
        self, *, load_balancer_id: LoadBalancerId | None = None, project_id: str = "", environment: str = ""
    ) -> tuple[MovableLoadBalancer, ...]:
        """Return one load balancer or, with ``load_balancer_id`` None, all load balancers of a project in an
        environment, with what decides whether they can be moved to another device group; sorted by id,
        empty if there are none. One query.
        """
        ...

    async def begin_moves(self, request: MoveRequest) -> tuple[Change, ...]:
        """Begin to move the load balancers of the request to another device group, all or none; return the
        changes for hints to agents. Raises :class:`NotFound` for a load balancer; :class:`Conflict` if one
        of them is being moved, on that group, not placed or marked deleted, or the group has no agent for
        a new shard, or no capacity.
        """
        ...

    async def moves(
        self, *, load_balancer_id: LoadBalancerId | None = None, only_open: bool = False
    ) -> tuple[MoveProgress, ...]:
        """Return the last move of each load balancer to another device group, moves under way first, then the
        newest; at most 1000. ``load_balancer_id``: only of this one; None: of all. ``only_open``: only
        moves under way. One query.
        """
        ...

    async def end_move(self, load_balancer_id: LoadBalancerId, *, back: bool) -> tuple[Change, ...]:
        """Let a move go back (``back``), or end a step that waits for devices that are off, or for the operator's
        routing; returns the changes for hints to agents. Raises :class:`NotFound` without a move, :class:`Conflict`
        in a step that cannot end in this way.
        """
        ...

    async def history(self) -> History:
        """Return the current history of the database."""
        ...

    async def renew_history(self) -> History:
        """Begin a new history after the database was restored or lost commits, and return it: every agent
        applies everything it serves again, and placed ACTIVE load balancers are PENDING_UPDATE until then.
        """
        ...

    async def orphan_summary(self) -> OrphanSummary:
        """Return counts of orphans (objects on devices that the database does not contain), and when the
        first is removed. Constant number of queries.
        """
        ...

    async def removal_countdowns(self) -> RemovalCountdowns:
        """Return what is removed automatically when its grace time is over, and in how many seconds: unused
        ports at the network service, the oldest events, and records of deleted load balancers. One query.
        """
        ...

    async def accept_history(self, history_id: str) -> History:
        """Accept a history that agents reported and this database never had, and return the current history:
        an operator confirms that this database is the right one.

        Objects that it does not contain may be removed from devices again. A repetition changes nothing.
        Raises :class:`NotFound` if no agent reported such a history.
        """
        ...

    async def resume_environment(self, name: str) -> Environment:
        """Close the environment's circuit breaker, and return the environment: agents silent until now count
        as permanently lost, and their shards move. A repetition changes nothing. Raises :class:`NotFound`.
        """
        ...

    async def delete_environment(self, name: str) -> None:
        """Delete an environment with its device groups and empty shards. Raises :class:`NotFound`;
        :class:`Conflict` while it has agents or load balancers, also load balancers marked deleted.
        """
        ...

    async def set_agent_admin_state(self, agent_id: AgentId, up: bool) -> Agent:
        """Set an agent's administrative state, and return the agent. Down means drained: the agent gets no
        new shards, and shards it serves are handed over, release before acquire. A repetition changes
        nothing. Raises :class:`NotFound`.
        """
        ...

    async def force_agent_down(self, agent_id: AgentId, down: bool) -> Agent:
        """Declare the agent's host dead (``down``), or withdraw that, and return the agent: the shards of a
        dead one move immediately, also in mode ``relocate``. A repetition changes nothing. Raises
        :class:`NotFound`.
        """
        ...

    async def request_failback(self, agent_id: AgentId) -> Agent:
        """Request that the shards whose home is the agent are handed back to it, and return the agent;
        nothing changes if the agent serves all of them already.

        Raises :class:`NotFound`; :class:`Conflict` where the environment's failback is ``never``.
        """
        ...

    async def rebind_agent(self, agent_id: AgentId, to_agent_id: str) -> int:
        """Make another agent of the same group the home of all shards whose home is ``agent_id``; return
        their number.

        Shards for which the former home acts move gradually. A repetition changes nothing and returns 0.
        Raises :class:`NotFound`, :class:`Conflict` naming ``to`` if that is no other agent of the group.
        """
        ...

    async def rebind_shard(self, shard_id: ShardId, to_agent_id: str) -> Shard:
        """Make another agent of the same group the home of one shard; return the shard.

        If another agent serves the shard, it moves gradually. A repetition changes nothing. Raises
        :class:`NotFound`, :class:`Conflict` naming ``to`` if that is no agent of the shard's group.
        """
        ...

    async def delete_agent(self, agent_id: AgentId, *, rebind_to: str | None = None) -> None:
        """Delete an agent. ``rebind_to``: id of the agent that becomes the home of its shards; None: another
        agent of the group, preferably a live one, becomes the home of its empty shards.

        Raises :class:`NotFound`; :class:`Conflict` while the agent is alive, if it is home to load balancers
        and ``rebind_to`` is None, or if that is no other agent of the group.
        """
        ...

    async def load_balancers_on_agent(self, agent_id: AgentId, query: ListQuery) -> Page:
        """Return a page of load balancers that the agent acts for or is home to. Raises :class:`NotFound` for
        the agent, :class:`Invalid` for unknown filter or sort names and markers.
        """
        ...

    async def shard_of_load_balancer(self, load_balancer_id: LoadBalancerId) -> Shard | None:
        """Return the shard of a load balancer; None if it is not placed. Raises :class:`NotFound` if there is
        no such load balancer.
        """
        ...

    async def position_in_queue(self, load_balancer_id: LoadBalancerId) -> int:
        """Return the number of load balancers whose pending changes come before this one's: accepted earlier,
        and waiting for the same agent or, if not placed, for an agent of the same environment. 0 if this
        one has no pending change, or does not exist. One query.
        """
        ...

    async def port_problem(self, load_balancer_id: LoadBalancerId) -> str:
        """Return why a load balancer's VIP has no port at the network service; empty if no problem is known."""
        ...

    async def add_plan_inquiry(self, inquiry_id: str, shard_id: ShardId, load_balancer_id: LoadBalancerId) -> None:
        """Store an operator's inquiry to the agent of the shard; it is kept for at least ten minutes.
        ``load_balancer_id`` empty: an inquiry about the whole shard.
        """
        ...

    async def plan_answer(self, inquiry_id: str) -> PlanAnswer | None:
        """Return the answer of a shard's agent to the inquiry with this id; None if there is none yet, or no
        such inquiry any more.
        """
        ...

    async def orphaned_partitions(self, environment: str, group_number: int) -> tuple[OrphanedPartition, ...]:
        """Return partitions on the group's devices whose tenants have no shard there, earliest reported first."""
        ...

    async def orphaned_load_balancers(self, environment: str, group_number: int) -> tuple[OrphanedLoadBalancer, ...]:
        """Return at most 1000 load balancers that agents found within the last hour in the partitions of the
        group's shards and that are missing from the database, earliest reported first.
        """
        ...

    async def remove_orphan(self, load_balancer_id: LoadBalancerId) -> tuple[ShardOwner, ...]:
        """Let the next complete pass remove an orphaned load balancer from devices; return the owners that
        have to make one, empty if no agent acts for its shard now.

        Raises :class:`NotFound` unless an orphan with this id was reported within the last hour.
        """
        ...

    async def filter_known_load_balancers(self, ids: Sequence[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        """Return those of the ids that are in the database, whatever the load balancers' status."""
        ...

    async def shard(self, shard_id: ShardId) -> Shard:
        """Return one shard. Raises :class:`NotFound`."""
        ...

    async def shards(self, *, environment: str | None = None, agent_id: AgentId | None = None) -> tuple[Shard, ...]:
        """Return the shards of an environment (None: of all), sorted by environment, group and tenant.
        ``agent_id``: only those for which the agent acts or whose home it is; None: all. One query.
        """
        ...

    async def shard_counts(self) -> tuple[ShardCount, ...]:
        """Return the numbers of shards, and of shards without a live agent, of each environment that has any,
        sorted by name; one query.
        """
        ...

    async def controllers(self) -> tuple[ControllerHeartbeat, ...]:
        """Return the controllers with a heartbeat within the last ten minutes, sorted by host and start. One
        query.
        """
        ...

    async def ownership(self, *, environment: str | None = None) -> OwnershipOverview:
        """Return the agents of an environment (None: of all) and the tenants' shards for which they act: the shards
        themselves in device groups with few, only their numbers in others. Constant number of queries.
        """
        ...

    async def revisions(self, load_balancer_id: LoadBalancerId) -> tuple[Revision, ...]:
        """Return the stored revisions of a load balancer (the last ones), newest first. Raises
        :class:`NotFound`. One query.
        """
        ...

    async def events(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        newest: bool = False,
        object_id: str | None = None,
        by: str | None = None,
    ) -> tuple[Event, ...]:
        """Return at most ``limit`` events with an id above ``after``, in the order of their ids: the first
        ones, or with ``newest`` the last ones. ``object_id``: only events of this agent, shard or load
        balancer. ``by``: only acts of the user with this name or id.
        """
        ...

    async def record_operator_action(
        self,
        *,
        kind: str,
        done: str,
        details: str = "",
        environment: str = "",
        agent_id: AgentId = AgentId(""),
        shard_id: ShardId = ShardId(""),
    ) -> None:
        """Record an act of the current request's user as an event, for acts for which no other method writes
        one. The event's text is ``done``, ``by USER`` and ``details``.
        """
        ...

    async def find_load_balancers(
        self, query: ListQuery, *, text: str = "", group_number: int | None = None
    ) -> FoundPage:
        """Return a page of load balancers of all projects that match the query, with their total number,
        counted up to 10,000.

        ``text``: part of a name (in any case of letters), a VIP, a project's id or a member's address (on
        PostgreSQL; else its beginning), or the beginning of an id; empty: any. ``group_number``: only of this
        device group of the one environment in the filter ``provider``. Without any filter the total may be as
        old as that of :meth:`load_balancer_summary`. Raises :class:`Invalid` if the search takes too long,
        and like :meth:`TenantStore.list`.
        """
        ...

    async def device_group_numbers(self, environment: str) -> tuple[int, ...]:
        """Return the numbers of an environment's device groups, in order. One query."""
        ...

    async def find_ids_by_prefix(self, prefix: str, *, limit: int) -> Mapping[str, tuple[str, ...]]:
        """Return {``loadbalancers``, ``agents`` and ``shards``: ids that begin with ``prefix``, sorted}, at
        most ``limit`` of each.
        """
        ...

    async def unreachable_groups(self) -> tuple[UnreachableGroup, ...]:
        """Return device groups with unreachable devices, or without an agent that observes them, sorted by
        environment and number; at most two queries.
        """
        ...

    async def load_balancer_summary(self) -> LoadBalancerSummary:
        """Return counts of load balancers by status; with thousands of them the counts may be some seconds
        old (``age_seconds``). Constant number of queries.
        """
        ...

    async def references(self, query: ReferenceQuery, *, limit: int) -> tuple[ReferencedCertificate, ...]:
        """Return at most ``limit`` references to key managers that are in use and match the query, earliest
        expiry first, contents without expiry last; one query.
        """
        ...

    async def own_certificates(self) -> tuple[OwnCertificate, ...]:
        """Return the certificates of the product itself, earliest expiry first; one query."""
        ...

    async def refresh_references(self, reference: str | None) -> int:
        """Make one reference, or (None) all references in use, due to be read again from their key managers
        now; return their number, 0 if no listener or pool has the reference.
        """
        ...

    async def subnets(self) -> tuple[Subnet, ...]:
        """Return all subnets of the database, among them the address pools of the built-in network, sorted by
        name.
        """
        ...

    async def add_subnet(self, subnet: Subnet) -> Subnet:
        """Store an address pool of the built-in network, and return it; without a name it is named after its
        id. Raises :class:`Conflict` if the id or name exists.
        """
        ...

    async def set_device_addresses(self, subnet: Subnet) -> None:
        """Store the attributes ``device_addresses`` and ``reserved`` of an address pool.

        Raises :class:`NotFound`; :class:`Conflict` if a load balancer has one of the addresses for devices,
        or a device has an address outside of them.
        """
        ...

    async def networks(self) -> tuple[DeclaredNetwork, ...]:
        """Return all declared networks, and those read from a network service, sorted by name."""
        ...

    async def add_network(self, network: DeclaredNetwork) -> None:
        """Store a new declared network. Raises :class:`Conflict` if the id, the name or the segment exists."""
        ...

    async def update_network(self, network: DeclaredNetwork) -> tuple[Change, ...]:
        """Store a declared network's new attributes; returns the changes of load balancers on devices that
        are attached to it, empty if nothing differs.

        Raises :class:`NotFound`; :class:`Conflict` if the name or the segment exists, or the network's facts
        come from a network service.
        """
        ...

    async def delete_network(self, network_id: str) -> None:
        """Delete a declared network. Raises :class:`NotFound`, :class:`Conflict` while devices are attached
        to it.
        """
        ...

    async def delete_subnet(self, subnet_id: str) -> None:
        """Delete an address pool. Raises :class:`NotFound`, :class:`Conflict` while a load balancer or a
        device has an address of it.
        """
        ...
