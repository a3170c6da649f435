"""Store port of the scheduler and the sweeper."""

from collections.abc import Sequence
from typing import Protocol

from evenkeel.core.control.agents import SessionRef
from evenkeel.core.control.events import Event
from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.control.scheduling import ChangeIndicator, DueSchedulingWork
from evenkeel.core.control.shards import PlacedLoadBalancers, Placement, ShardOwner, ShardWithCapacity
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.placement import AssignStep, GroupSnapshot, PlacementGroup
from evenkeel.core.tls.own_certificates import OwnCertificate


class SchedulingStore(Protocol):
    """Store port for reads and writes of the scheduler and the sweeper. Decisions are written by
    compare-and-set: of two controllers that decide the same, one succeeds. Every method may raise
    :class:`StoreUnavailable`.
    """

    async def read_unplaced_load_balancers(self, *, limit: int) -> tuple[tuple[LoadBalancerId, str, ProjectId], ...]:
        """Return (load balancer id, environment, project id) of at most ``limit`` load balancers without a
        shard: first those that their environment can take now, then those without a reason for waiting,
        then the others; each oldest first.
        """
        ...

    async def read_placement_groups(
        self,
        environment: str,
        project_id: ProjectId,
        *,
        settle_seconds: float,
        load_balancer_id: LoadBalancerId | None = None,
    ) -> tuple[PlacementGroup, ...]:
        """Return snapshots of the environment's device groups for placement, sorted by number; agents' loads
        are zero if a group keeps the tenant. Constant number of queries.

        ``settle_seconds``: time for which an agent must be up before its shards return to it.
        ``load_balancer_id``: the load balancer to place, whose availability zone may name a group.
        """
        ...

    async def place_load_balancer(
        self,
        load_balancer_id: LoadBalancerId,
        environment: str,
        project_id: ProjectId,
        group_number: int,
        home_agent_id: AgentId | None,
    ) -> Placement | None:
        """Assign the load balancer to the tenant's shard on the device group; return the shard and its acting
        agent, None if it has none. Without a shard, one is created with the given home as its acting agent and
        epoch 1. The capacity that the load balancer will need is reserved until measured.

        Also returns None, and changes nothing, if the load balancer was placed or removed meanwhile, there is
        neither a shard nor a home, the home agent was deleted, or the group is full by its agents' capacity
        policy.
        """
        ...

    async def shard_with_capacity(
        self, environment: str, project_id: ProjectId, zone_group_number: int | None
    ) -> ShardWithCapacity | None:
        """Return the tenant's shard in which a load balancer can be placed without a decision, in a group without a
        capacity policy; None if there is none.

        ``zone_group_number``: the group of the load balancer's availability zone, if that names one. One statement.
        """
        ...

    async def add_load_balancers_to_shard(
        self,
        load_balancer_ids: Sequence[LoadBalancerId],
        environment: str,
        project_id: ProjectId,
        shard: ShardWithCapacity,
    ) -> PlacedLoadBalancers:
        """Assign those of these load balancers of the tenant that have no shard yet to ``shard``, which was
        read for their availability zone.

        Returns the load balancers that are in the shard now, and its owner; the missing ones were placed
        elsewhere or removed meanwhile, or the shard is gone.
        """
        ...

    async def store_unplaced_reason(self, load_balancer_ids: Sequence[LoadBalancerId], reason: str) -> None:
        """Store the reason why load balancers are not placed, shown to tenants; no write for those with this
        reason, or placed meanwhile.
        """
        ...

    async def change_indicator(self) -> ChangeIndicator:
        """Read the indicator of whether :meth:`read_due_work` and :meth:`read_unplaced_load_balancers` may
        find anything new. One statement.
        """
        ...

    async def read_due_work(
        self, *, settle_seconds: float, breaker_window_seconds: float, homes: bool
    ) -> DueSchedulingWork:
        """Return the groups that have a shard without a live acting agent that another agent can take, a
        shard that must move, a handover to cancel, or (only if ``homes``) a shard to hand back to its
        home; whether :meth:`record_silence` is due; and the groups for which :meth:`record_reachability` is due.

        ``settle_seconds``: time for which an agent must be up before its shards return to it;
        ``breaker_window_seconds``: time within which silent agents count together.
        """
        ...

    async def record_silence(self, *, breaker_window_seconds: float) -> None:
        """Record agents that fell silent or came back, once each, with an event; open or close circuit
        breakers; and end hand-backs requested by operators whose shards are all home.
        ``breaker_window_seconds``: time within which silent agents count together.
        """
        ...

    async def record_reachability(self, environment: str, group_number: int) -> ShardOwner | None:
        """Determine which devices of a group its agents reach, and record changes: an event for each device
        that became unreachable or came back, and a reason on the load balancers of a group without
        reachable devices or without agents (see :mod:`evenkeel.core.placement.reach`).

        Returns the agent that must observe the devices again; None if nothing changed, no device is reached,
        no live agent observes them, or another controller recorded the change first.
        """
        ...

    async def group_snapshot(self, environment: str, group_number: int, *, settle_seconds: float) -> GroupSnapshot:
        """Return one device group with all its agents and at most 1000 shards: those that need a decision, by
        the rules of :meth:`read_due_work`, and those in handover. Cancels handovers to agents that died.
        An unknown group is an empty snapshot.
        """
        ...

    async def skewed_groups(self, *, settle_seconds: float) -> tuple[GroupSnapshot, ...]:
        """Return the groups whose agents are home to very different numbers of shards (see
        :func:`evenkeel.core.placement.skewed_homes`): their agents, one tenant's shard that may move, and one in
        handover, if there are any. Counts all shards.
        """
        ...

    async def read_live_sessions(self) -> tuple[SessionRef, ...]: ...

    async def end_sessions(self, sessions: Sequence[SessionRef]) -> int:
        """End the sessions of vanished processes now, before they expire; returns the number of ended sessions. A
        keepalive revives a session that was ended wrongly.
        """
        ...

    async def assign_shards(self, steps: Sequence[AssignStep]) -> tuple[ShardOwner, ...]:
        """Take over shards, in one transaction, or after a failure in smaller ones: acting agent =
        ``agent_id``, epoch + 1; each if its epoch is still the seen one, its acting agent is still not
        live (or its handover long overdue) and the new agent is eligible, while the environment's circuit
        breaker is open only its home.

        Returns the new owners of the shards that were taken over: a failure at one does not affect the
        others.
        """
        ...

    async def start_handover(
        self, shard_id: ShardId, seen_epoch: int, agent_id: AgentId, *, rebind: bool = False
    ) -> ShardOwner | None:
        """Request that the acting agent releases the shard to ``agent_id``, which with ``rebind`` becomes its
        home, too. Returns the acting agent, to which a hint must be sent.

        Returns None, and changes nothing, if the shard has another epoch than ``seen_epoch``, no acting agent
        or ``agent_id`` as such, is being handed over already, or cannot be given to that agent.
        """
        ...

    async def read_owners_with_waiting_work(self, *, waited_seconds: float, limit: int) -> tuple[ShardOwner, ...]:
        """Return the owners of the ``limit`` longest waiting load balancers that are PENDING for
        ``waited_seconds`` (or half of the deadline, if that is less); the owners of the common shards of
        their device groups; and those of common shards with unconfirmed changes of shared networks. One
        entry for each agent.
        """
        ...

    async def mark_overdue_load_balancers(self, *, limit: int) -> int:
        """Set at most ``limit`` load balancers that are PENDING_* past their deadline to ERROR, with a reason
        and an event; return their number. Load balancers that are not placed are left out.
        """
        ...

    async def advance_moves(self, *, limit: int) -> tuple[Change, ...]:
        """Take the due steps of at most ``limit`` moves of load balancers to another device group; return the changes
        for hints to agents: changed load balancers, and copies that are not the newest. One query without moves.
        """
        ...

    async def add_event(self, event: Event) -> None: ...

    async def create_shards_for_orphans(self, *, grace_seconds: float, limit: int) -> int:
        """Create shards for at most ``limit`` orphaned partitions (of tenants without a shard there) that
        were found more than ``grace_seconds`` ago and reported within the last hour, so that agents empty
        them; return the number of created shards.

        Creates none while a history of the database is younger than ``grace_seconds`` or agents report
        another database's history, nor in a group that has more orphans than tenants or no observing agent.
        """
        ...

    async def forget_removed_load_balancers(self, *, limit: int) -> int:
        """Delete at most ``limit`` stored ids of load balancers that were deleted more than 30 days ago;
        return their number.
        """
        ...

    async def remove_unused_certificates(self, *, limit: int) -> int:
        """Remove at most ``limit`` stored references to key managers that no listener or pool has and that
        were not read for an hour, with their contents' identities; return their number.

        Each call looks at the next few thousand references, so that repeated calls go through all.
        """
        ...

    async def record_heartbeat(self, seen: ControllerHeartbeat) -> None:
        """Record a controller's heartbeat, and forget controllers without one for ten minutes."""
        ...

    async def record_own_certificates(self, seen: Sequence[OwnCertificate]) -> None:
        """Record certificates of the product as this controller sees them. An event is recorded for each that expires
        within one of :data:`~evenkeel.core.tls.certificates.EXPIRY_DAYS`, unless one was recorded for that stage.
        """
        ...

    async def delete_controller(self, controller_id: str) -> None:
        """Delete the record of a controller that has stopped, so that operators do not see it as silent."""
        ...

    async def trim_events(self, *, keep: int, limit: int) -> int:
        """Remove the oldest events beyond ``keep``, at most ``limit``; return the number of removed events."""
        ...
