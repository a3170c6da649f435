"""Implements :class:`evenkeel.core.ports.OperatorStore`: each method is a transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.agents import Agent, AgentEnhancedServices, AgentLife
from evenkeel.core.control.environments import Environment, GroupReach
from evenkeel.core.control.events import Event
from evenkeel.core.control.histories import History
from evenkeel.core.control.lists import ListQuery, LoadBalancerSummary, Page
from evenkeel.core.control.orphans import OrphanedLoadBalancer, OrphanedPartition, OrphanSummary
from evenkeel.core.control.overview import Owners, Revision, SeenController
from evenkeel.core.control.shards import Shard, ShardCount, ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.plans import PlanAnswer
from evenkeel.core.kit.countdowns import Countdowns
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.core.networking.networks import DeclaredNetwork
from evenkeel.core.resources.model import Subnet
from evenkeel.core.tls.certificates import ReferencedCertificate, ReferenceQuery
from evenkeel.core.tls.own_certificates import OwnCertificate
from evenkeel.store.engine.database import Database
from evenkeel.store.networks import declared
from evenkeel.store.operators import agents, environments, moves, overview, plans, reads, references, subnets
from evenkeel.store.operators.countdowns import read_countdowns
from evenkeel.store.operators.counts import shared_counts, summary_of
from evenkeel.store.operators.enhanced_services import read_enhanced_services
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership import foreign_histories, histories
from evenkeel.store.reports.orphan_summary import read_orphan_summary
from evenkeel.store.reports.orphaned_load_balancers import read_orphaned, request_removal
from evenkeel.store.reports.orphans import read_orphans
from evenkeel.store.scheduling.own_certificates import read_certificates
from evenkeel.store.scheduling.reach import read_out_of_reach
from evenkeel.store.vips.lost_ports import read_problem
from evenkeel.store.writing.acts import record_act


class SqlOperators:
    """Data of the operators' API, in SQL."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options
        self._counts = shared_counts(database)

    # -- environments

    async def environments(self) -> tuple[Environment, ...]:
        return await self._db.query(environments.read_environments)

    async def add_environment(self, environment: Environment) -> Environment:
        try:
            return await self._db.write(lambda connection: environments.add_environment(connection, environment))
        except IntegrityError:
            # another process stored it meanwhile
            return await self._db.write(lambda connection: environments.add_environment(connection, environment))

    async def update_environment(self, name: str, changes: Mapping[str, Any]) -> Environment:
        return await self._db.write(lambda connection: environments.update_environment(connection, name, changes))

    async def resume_environment(self, name: str) -> Environment:
        return await self._db.write(lambda connection: environments.resume_environment(connection, name))

    async def delete_environment(self, name: str) -> None:
        await self._db.write(lambda connection: environments.delete_environment(connection, name))

    # -- agents

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        bound = (await self._counts.get()).content.by_home
        return await self._db.read(lambda connection: agents.read_agents(connection, bound, environment))

    async def agent_lives(self) -> tuple[AgentLife, ...]:
        return await self._db.query(agents.read_lives)

    async def enhanced_services(self, environment: str | None = None) -> tuple[AgentEnhancedServices, ...]:
        return await self._db.query(lambda connection: read_enhanced_services(connection, environment))

    async def agent(self, agent_id: AgentId) -> Agent:
        return await self._db.read(lambda connection: agents.read_agent(connection, agent_id))

    async def set_agent_admin_state(self, agent_id: AgentId, up: bool) -> Agent:
        return await self._db.write(lambda connection: agents.set_admin_state(connection, agent_id, up))

    async def force_agent_down(self, agent_id: AgentId, down: bool) -> Agent:
        return await self._db.write(lambda connection: agents.force_down(connection, agent_id, down))

    async def request_failback(self, agent_id: AgentId) -> Agent:
        return await self._db.write(lambda connection: agents.request_failback(connection, agent_id))

    async def rebind_agent(self, agent_id: AgentId, to_agent_id: str) -> int:
        return await self._db.write(lambda connection: moves.rebind(connection, agent_id, to_agent_id))

    async def rebind_shard(self, shard_id: ShardId, to_agent_id: str) -> Shard:
        return await self._db.write(lambda connection: moves.rebind_shard(connection, shard_id, to_agent_id))

    async def delete_agent(self, agent_id: AgentId, *, rebind_to: str | None = None) -> None:
        await self._db.write(lambda connection: moves.delete_agent(connection, agent_id, rebind_to))

    async def load_balancers_on_agent(self, agent_id: AgentId, query: ListQuery) -> Page:
        return await self._db.read(lambda connection: reads.list_on_agent(connection, agent_id, query))

    # -- shards and events

    async def hosting(self, load_balancer_id: LoadBalancerId) -> Shard | None:
        return await self._db.read(lambda connection: reads.read_hosting(connection, load_balancer_id))

    async def place_in_line(self, load_balancer_id: LoadBalancerId) -> int:
        return await self._db.query(lambda connection: reads.read_place_in_line(connection, load_balancer_id))

    async def port_problem(self, load_balancer_id: LoadBalancerId) -> str:
        return await self._db.query(lambda connection: read_problem(connection, load_balancer_id))

    async def add_plan_inquiry(self, inquiry_id: str, shard_id: ShardId, load_balancer_id: LoadBalancerId) -> None:
        await self._db.write(lambda connection: plans.add_inquiry(connection, inquiry_id, shard_id, load_balancer_id))

    async def plan_answer(self, inquiry_id: str) -> PlanAnswer | None:
        return await self._db.query(lambda connection: plans.read_answer(connection, inquiry_id))

    async def orphaned_partitions(self, environment: str, group_number: int) -> tuple[OrphanedPartition, ...]:
        return await self._db.read(lambda connection: read_orphans(connection, environment, group_number))

    async def orphaned_load_balancers(self, environment: str, group_number: int) -> tuple[OrphanedLoadBalancer, ...]:
        return await self._db.read(lambda connection: read_orphaned(connection, environment, group_number))

    async def remove_orphan(self, load_balancer_id: LoadBalancerId) -> tuple[ShardOwner, ...]:
        return await self._db.write(lambda connection: request_removal(connection, load_balancer_id))

    async def known_load_balancers(self, ids: Sequence[LoadBalancerId]) -> frozenset[LoadBalancerId]:
        return await self._db.read(lambda connection: reads.read_known(connection, ids))

    async def shard(self, shard_id: ShardId) -> Shard:
        return await self._db.read(lambda connection: reads.read_shard(connection, shard_id))

    async def shards(self, *, environment: str | None = None, agent_id: AgentId | None = None) -> tuple[Shard, ...]:
        return await self._db.read(lambda connection: reads.read_shards(connection, environment, agent_id))

    async def shard_counts(self) -> tuple[ShardCount, ...]:
        return await self._db.read(reads.read_shard_counts)

    async def controllers(self) -> tuple[SeenController, ...]:
        return await self._db.query(overview.read_controllers)

    async def ownership(self, *, environment: str | None = None) -> Owners:
        bound = (await self._counts.get()).content.by_home
        return await self._db.read(lambda connection: overview.read_ownership(connection, bound, environment))

    async def revisions(self, load_balancer_id: LoadBalancerId) -> tuple[Revision, ...]:
        return await self._db.query(lambda connection: overview.read_revisions(connection, load_balancer_id))

    async def events(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        newest: bool = False,
        object_id: str | None = None,
        by: str | None = None,
    ) -> tuple[Event, ...]:
        return await self._db.read(
            lambda connection: reads.read_events(connection, after, limit, newest, object_id, by)
        )

    async def record_act(
        self,
        *,
        kind: str,
        done: str,
        details: str = "",
        environment: str = "",
        agent_id: AgentId = AgentId(""),
        shard_id: ShardId = ShardId(""),
    ) -> None:
        def record(connection: Connection) -> None:
            record_act(
                connection,
                kind=kind,
                done=done,
                details=details,
                environment=environment,
                agent_id=agent_id,
                shard_id=shard_id,
            )

        await self._db.write(record)

    async def ids(self, prefix: str, *, limit: int) -> Mapping[str, tuple[str, ...]]:
        return await self._db.read(lambda connection: reads.read_ids(connection, prefix, limit))

    async def out_of_reach(self) -> tuple[GroupReach, ...]:
        return await self._db.read(read_out_of_reach)

    async def summary(self) -> LoadBalancerSummary:
        return summary_of(*await self._counts.get())

    # -- references to key managers

    async def references(self, query: ReferenceQuery, *, limit: int) -> tuple[ReferencedCertificate, ...]:
        return await self._db.query(lambda connection: references.read_references(connection, query, limit))

    async def own_certificates(self) -> tuple[OwnCertificate, ...]:
        return await self._db.query(read_certificates)

    async def refresh_references(self, reference: str | None) -> int:
        return await self._db.write(lambda connection: references.refresh(connection, reference))

    # -- the database's history

    async def history(self) -> History:
        return await self._db.read(histories.read_history)

    async def new_history(self) -> History:
        deadline_seconds = self._options.pending_deadline_seconds
        return await self._db.write(lambda connection: histories.renew_history(connection, deadline_seconds))

    async def orphan_summary(self) -> OrphanSummary:
        grace_seconds = self._options.orphan_grace_seconds
        return await self._db.read(lambda connection: read_orphan_summary(connection, grace_seconds))

    async def countdowns(self) -> Countdowns:
        kept = self._options.events_kept
        return await self._db.query(lambda connection: read_countdowns(connection, kept))

    async def accept_history(self, history_id: str) -> History:
        def accept(connection: Connection) -> History:
            foreign_histories.accept(connection, history_id)
            return histories.read_history(connection)

        return await self._db.write(accept)

    # -- subnets of the built-in network

    async def subnets(self) -> tuple[Subnet, ...]:
        return await self._db.read(subnets.read_subnets)

    async def add_subnet(self, subnet: Subnet) -> Subnet:
        stored = subnets.named(subnet)
        try:
            await self._db.write(lambda connection: subnets.add_subnet(connection, stored))
        except IntegrityError as error:
            raise Conflict(f"Subnet {stored.id}: its id or its name {stored.name!r} exists already.") from error
        return stored

    async def set_device_addresses(self, subnet: Subnet) -> None:
        await self._db.write(lambda connection: subnets.set_device_addresses(connection, subnet))

    # -- declared networks

    async def networks(self) -> tuple[DeclaredNetwork, ...]:
        return await self._db.query(declared.read_networks)

    async def add_network(self, network: DeclaredNetwork) -> None:
        try:
            await self._db.write(lambda connection: declared.add_network(connection, network))
        except IntegrityError as error:
            raise _taken(network) from error

    async def update_network(self, network: DeclaredNetwork) -> tuple[Change, ...]:
        try:
            return await self._db.write(lambda connection: declared.update_network(connection, network, self._options))
        except IntegrityError as error:
            raise _taken(network) from error

    async def delete_network(self, network_id: str) -> None:
        await self._db.write(lambda connection: declared.delete_network(connection, network_id))

    async def delete_subnet(self, subnet_id: str) -> None:
        await self._db.write(lambda connection: subnets.delete_subnet(connection, subnet_id))


def _taken(network: DeclaredNetwork) -> Conflict:
    segment = "" if network.segmentation_id is None else f" segment {network.segmentation_id}"
    place = "" if network.physical_network is None else f" on {network.physical_network}"
    return Conflict(
        f"Network {network.id}: its id, its name {network.name!r} or {network.network_type}{segment}{place} exists"
        " already."
    )
