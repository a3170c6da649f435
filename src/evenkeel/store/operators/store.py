"""Implements :class:`evenkeel.core.ports.OperatorStore` in SQL."""

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.histories import History
from evenkeel.core.control.lists import FoundPage, ListQuery, LoadBalancerSummary
from evenkeel.core.control.orphans import OrphanSummary
from evenkeel.core.control.overview import OwnershipOverview
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.countdowns import RemovalCountdowns
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.networks import DeclaredNetwork
from evenkeel.core.resources.model import Subnet
from evenkeel.store.engine.database import Database
from evenkeel.store.engine.operations import query_operation, read_operation, write_operation
from evenkeel.store.networks import declared
from evenkeel.store.operators import agents as agents_sql
from evenkeel.store.operators import environments as environments_sql
from evenkeel.store.operators import load_balancer_moves, moves, overview, plans, reads, search
from evenkeel.store.operators import references as references_sql
from evenkeel.store.operators import subnets as subnets_sql
from evenkeel.store.operators.countdowns import read_countdowns
from evenkeel.store.operators.counts import shared_load_balancer_counts, summary_from_counts
from evenkeel.store.operators.enhanced_services import read_enhanced_services
from evenkeel.store.options import StoreOptions
from evenkeel.store.ownership import foreign_histories, histories
from evenkeel.store.reports.orphan_summary import read_orphan_summary
from evenkeel.store.reports.orphaned_load_balancers import read_orphaned_load_balancers, request_orphan_removal
from evenkeel.store.reports.orphans import read_orphaned_partitions
from evenkeel.store.scheduling.group_reachability import read_groups_out_of_reach
from evenkeel.store.scheduling.own_certificates import read_own_certificates
from evenkeel.store.vips.lost_ports import read_port_problem
from evenkeel.store.writing import operator_actions


class SqlOperators:
    """Reads and writes data of the operators' API in SQL; implements the port ``OperatorStore``."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options
        self._counts = shared_load_balancer_counts(database)

    # -- environments

    environments = query_operation(environments_sql.read_environments)

    async def add_environment(self, environment: Environment) -> Environment:
        try:
            return await self._db.write(lambda connection: environments_sql.add_environment(connection, environment))
        except IntegrityError:
            # another process stored it meanwhile
            return await self._db.write(lambda connection: environments_sql.add_environment(connection, environment))

    update_environment = write_operation(environments_sql.update_environment)

    resume_environment = write_operation(environments_sql.resume_environment)

    delete_environment = write_operation(environments_sql.delete_environment)

    # -- agents

    async def agents(self, *, environment: str | None = None) -> tuple[Agent, ...]:
        bound = (await self._counts.get()).content.by_home
        return await self._db.read(lambda connection: agents_sql.read_agents(connection, bound, environment))

    agent_liveness = query_operation(agents_sql.read_agents_liveness)

    enhanced_services = query_operation(read_enhanced_services)

    agent = read_operation(agents_sql.read_agent)

    set_agent_admin_state = write_operation(agents_sql.set_agent_admin_state)

    force_agent_down = write_operation(agents_sql.force_agent_down)

    request_failback = write_operation(agents_sql.request_failback)

    rebind_agent = write_operation(moves.rebind_agent)

    rebind_shard = write_operation(moves.rebind_shard)

    delete_agent = write_operation(moves.delete_agent)

    device_group_for_moves = query_operation(load_balancer_moves.read_move_target_group)

    movable_load_balancers = query_operation(load_balancer_moves.read_movable_load_balancers)

    begin_moves = write_operation(load_balancer_moves.begin_moves)

    moves = query_operation(load_balancer_moves.read_moves)

    async def end_move(self, load_balancer_id: LoadBalancerId, *, back: bool) -> tuple[Change, ...]:
        seconds = self._options.pending_deadline_seconds
        return await self._db.write(
            lambda connection: load_balancer_moves.end_move(
                connection, load_balancer_id, back=back, deadline_seconds=seconds
            )
        )

    load_balancers_on_agent = read_operation(reads.list_load_balancers_of_agent)

    async def find_load_balancers(
        self, query: ListQuery, *, text: str = "", group_number: int | None = None
    ) -> FoundPage:
        found = await self._db.read(
            lambda connection: search.find_load_balancers(connection, query, text, group_number)
        )
        if found.total_is_exact or text or query.filters or query.project_id is not None:
            return found
        counts = (await self._counts.get()).content.by_status
        return FoundPage(page=found.page, total=max(found.total, sum(counts.values())), total_is_exact=True)

    device_group_numbers = query_operation(reads.read_group_numbers)

    # -- shards and events

    shard_of_load_balancer = read_operation(reads.read_shard_of_load_balancer)

    position_in_queue = query_operation(reads.read_queue_position)

    port_problem = query_operation(read_port_problem)

    add_plan_inquiry = write_operation(plans.add_plan_inquiry)

    plan_answer = query_operation(plans.read_plan_answer)

    orphaned_partitions = read_operation(read_orphaned_partitions)

    orphaned_load_balancers = read_operation(read_orphaned_load_balancers)

    remove_orphan = write_operation(request_orphan_removal)

    filter_known_load_balancers = read_operation(reads.filter_known_load_balancers)

    shard = read_operation(reads.read_shard)

    shards = read_operation(reads.read_shards)

    shard_counts = read_operation(reads.read_shard_counts)

    controllers = query_operation(overview.read_controllers)

    async def ownership(self, *, environment: str | None = None) -> OwnershipOverview:
        bound = (await self._counts.get()).content.by_home
        return await self._db.read(lambda connection: overview.read_ownership(connection, bound, environment))

    revisions = query_operation(overview.read_revisions)

    events = read_operation(reads.read_events)

    record_operator_action = write_operation(operator_actions.record_operator_action_event)

    find_ids_by_prefix = read_operation(reads.find_ids_by_prefix)

    unreachable_groups = read_operation(read_groups_out_of_reach)

    async def load_balancer_summary(self) -> LoadBalancerSummary:
        return summary_from_counts(*await self._counts.get())

    # -- references to key managers

    references = query_operation(references_sql.read_references)

    own_certificates = query_operation(read_own_certificates)

    refresh_references = write_operation(references_sql.make_references_due)

    # -- the database's history

    history = read_operation(histories.read_history)

    async def renew_history(self) -> History:
        deadline_seconds = self._options.pending_deadline_seconds
        return await self._db.write(lambda connection: histories.renew_history(connection, deadline_seconds))

    async def orphan_summary(self) -> OrphanSummary:
        grace_seconds = self._options.orphan_grace_seconds
        return await self._db.read(lambda connection: read_orphan_summary(connection, grace_seconds))

    async def removal_countdowns(self) -> RemovalCountdowns:
        kept = self._options.events_kept
        return await self._db.query(lambda connection: read_countdowns(connection, kept))

    async def accept_history(self, history_id: str) -> History:
        def run_transaction(connection: Connection) -> History:
            foreign_histories.accept_history(connection, history_id)
            return histories.read_history(connection)

        return await self._db.write(run_transaction)

    # -- subnets of the built-in network

    subnets = read_operation(subnets_sql.read_subnets)

    async def add_subnet(self, subnet: Subnet) -> Subnet:
        stored = subnets_sql.subnet_with_name(subnet)
        try:
            await self._db.write(lambda connection: subnets_sql.add_subnet(connection, stored))
        except IntegrityError as error:
            raise Conflict(f"Subnet {stored.id}: its id or its name {stored.name!r} exists already.") from error
        return stored

    set_device_addresses = write_operation(subnets_sql.set_device_addresses)

    # -- declared networks

    networks = query_operation(declared.read_networks)

    async def add_network(self, network: DeclaredNetwork) -> None:
        try:
            await self._db.write(lambda connection: declared.add_network(connection, network))
        except IntegrityError as error:
            raise _network_conflict(network) from error

    async def update_network(self, network: DeclaredNetwork) -> tuple[Change, ...]:
        try:
            return await self._db.write(lambda connection: declared.update_network(connection, network, self._options))
        except IntegrityError as error:
            raise _network_conflict(network) from error

    delete_network = write_operation(declared.delete_network)

    delete_subnet = write_operation(subnets_sql.delete_subnet)


def _network_conflict(network: DeclaredNetwork) -> Conflict:
    segment = "" if network.segmentation_id is None else f" segment {network.segmentation_id}"
    place = "" if network.physical_network is None else f" on {network.physical_network}"
    return Conflict(
        f"Network {network.id}: its id, its name {network.name!r} or {network.network_type}{segment}{place} exists"
        " already."
    )
