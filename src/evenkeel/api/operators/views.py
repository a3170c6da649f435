"""Views of the operators' API; for agents see :mod:`evenkeel.api.operators.agent_views`."""

from collections.abc import Iterable, Mapping

from msgspec import convert

from evenkeel.api.operators.agent_views import AgentView, agent_view
from evenkeel.api.operators.problems import database_state_text
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.histories import History
from evenkeel.core.control.shards import Shard
from evenkeel.core.kit.backoff import CHANGE_RETRY_SECONDS_MAX
from evenkeel.core.kit.ids import AgentId, LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.networks import DeclaredNetwork
from evenkeel.core.resources.model import DataPath, LoadBalancer, Subnet


class EnvironmentView(Value):
    """An environment: a provider of the API, with one device type."""

    name: str
    device_driver: str
    description: str
    failback: str
    breaker_share: float
    breaker_agents: int
    vip_networks_allowed: tuple[str, ...]
    """Ids of networks and subnets that new VIPs may be on; empty: every one."""
    vip_networks_denied: tuple[str, ...]
    """Ids of networks and subnets that no new VIP may be on, also if allowed."""
    halted: str
    """Reason why the environment's circuit breaker is open, so that no shard moves; empty: it is closed."""
    halted_at: str | None
    created_at: str


class SubnetView(Value):
    """An address pool for VIPs."""

    id: str
    name: str
    network_id: str
    cidr: str
    gateway_ip: str | None
    allocation_start: str
    allocation_end: str
    project_id: str | None
    reserved: list[str]
    device_addresses: list[str]


class NetworkView(Value):
    """A network to which devices can be attached."""

    id: str
    name: str
    network_type: str
    physical_network: str | None
    segmentation_id: int | None
    mtu: int | None
    project_id: str | None
    shared: bool
    external: bool
    vteps: list[str]
    from_service: bool


class ShardView(Value):
    """A shard: the tenant's part of a device group, served by one agent at a time."""

    id: str
    environment: str
    group_number: int
    project_id: str
    home_agent_id: AgentId
    acting_agent_id: AgentId | None
    epoch: int
    handover_to: str | None
    served: bool
    """True if the shard's acting agent is alive."""
    halted: str
    """Reason why the circuit breaker of the shard's environment is open; empty: it is closed."""


class ExplanationView(Value):
    """Explanation of a load balancer's state, as ``evenkeel explain`` gives it."""

    state: str
    action: str
    """Action that operators can take; ``nothing`` if none is needed."""


class HostingView(Value):
    """The agents and the state of a load balancer."""

    load_balancer_id: LoadBalancerId
    name: str
    """Name of the load balancer."""
    held: bool
    """True if another system still serves the load balancer: see PUT /imports/loadbalancers/{id}/held."""
    revision: int
    applied_revision: int
    provisioning_status: str
    status_reason: str
    operating_status: str
    operating_reason: str
    environment: str
    data_path: DataPath
    """``kernel`` if the host's kernel forwards the load balancer's TCP connections; else ``proxy``."""
    halted: str
    """Reason why the circuit breaker of the load balancer's environment is open; empty: it is closed."""
    message_broker: str
    """``connected``, or the reason why this controller cannot send messages."""
    database: str
    """``writable``, or the reason why this controller's writes are refused."""
    shard: ShardView | None
    home: AgentView | None
    acting: AgentView | None
    ahead: int
    """Number of load balancers with changes accepted earlier that wait for the same agent, or for placement."""
    remedy: str
    """Commands that remedy the reasons about devices or certificates; empty: none is known."""
    retry_seconds_max: int
    """Seconds within which a change that was refused, or could not be attempted, is attempted again."""
    moving: str = ""
    """Step of the load balancer's move to another device group; empty: it is not being moved."""
    explanation: ExplanationView | None = None
    """Explanation of the load balancer's state, from the first rule that matches; never null in a response."""


class UpDown(Value):
    """Number of live agents (``up``), and of all others (``down``)."""

    up: int
    down: int


class ShardCounts(Value):
    """Numbers of all shards, and of shards without a live agent."""

    total: int
    unserved: int


class HaltedView(Value):
    """An environment whose circuit breaker is open, since when and why."""

    environment: str
    since: str | None
    reason: str


class ReboundView(Value):
    """The result of making another agent, ``to``, the home of an agent's shards."""

    agent_id: AgentId
    to: str
    shards: int
    """Number of shards with a new home; 0: no shard had the agent ``agent_id`` as its home."""


class DevicesView(Value):
    """A device group of which not all devices are reachable."""

    environment: str
    group_number: int
    reach: str
    """Reachability of the devices: reached, none (no device is) or unwatched (no agent is up)."""
    out_of_reach: list[str]
    """Devices that no agent reaches: own names, if they are known, before addresses."""


class IdsView(Value):
    """Ids that begin with a prefix, by kind of object."""

    loadbalancers: tuple[str, ...]
    agents: tuple[str, ...]
    shards: tuple[str, ...]


class UnknownHistoryView(Value):
    """A history that an agent reported and this database never had."""

    history_id: str
    noted_at: str
    """Time at which an agent first reported the history."""
    agent_id: str
    """Id of the first agent that reported the history."""


class DatabaseView(Value):
    """The current history of the database: an unbroken line of commits, replaced when commits were lost."""

    history_id: str
    begun_at: str | None
    """Time at which the history began; None: it has lasted since the database was created."""
    unknown_histories: list[UnknownHistoryView]
    """Histories of other databases: nothing is removed from devices until each is accepted."""


def database_view(row: History) -> DatabaseView:
    """Convert the history of the database, with unknown histories, to its view."""
    unknown = [
        UnknownHistoryView(history_id=one.id, noted_at=format_time(one.noted_at), agent_id=one.agent_id)
        for one in row.unknown
    ]
    begun_at = format_time_or_none(row.begun_at or None)
    return DatabaseView(history_id=row.id, begun_at=begun_at, unknown_histories=unknown)


def environment_view(row: Environment) -> EnvironmentView:
    return EnvironmentView(
        name=row.name,
        device_driver=row.device_driver,
        description=row.description,
        failback=row.failback.value,
        breaker_share=row.breaker_share,
        breaker_agents=row.breaker_agents,
        vip_networks_allowed=row.vip_networks_allowed,
        vip_networks_denied=row.vip_networks_denied,
        halted=row.halted_reason,
        halted_at=format_time_or_none(row.halted_at),
        created_at=format_time(row.created_at),
    )


def halted_reasons(rows: Iterable[Environment]) -> dict[str, str]:
    """Return the reasons of open circuit breakers, by environment's name; environments with a closed one are
    left out.
    """
    return {row.name: row.halted_reason for row in rows if row.halted_at is not None}


def halted_view(row: Environment) -> HaltedView:
    """Convert an environment whose circuit breaker is open to its view."""
    return HaltedView(environment=row.name, since=format_time_or_none(row.halted_at), reason=row.halted_reason)


def devices_view(row: UnreachableGroup) -> DevicesView:
    """Convert a device group with unreachable devices to its view."""
    return DevicesView(
        environment=row.environment,
        group_number=row.number,
        reach=row.reach.kind.value,
        out_of_reach=list(row.unreachable_device_titles),
    )


def subnet_view(row: Subnet) -> SubnetView:
    return SubnetView(
        id=row.id,
        name=row.name,
        network_id=row.network_id,
        cidr=row.cidr,
        gateway_ip=row.gateway_ip,
        allocation_start=row.allocation_start,
        allocation_end=row.allocation_end,
        project_id=row.project_id,
        reserved=list(row.reserved),
        device_addresses=list(row.device_addresses),
    )


def network_view(row: DeclaredNetwork) -> NetworkView:
    return convert(row, NetworkView, from_attributes=True)


def shard_view(row: Shard, alive: frozenset[str], halted: Mapping[str, str]) -> ShardView:
    """Convert a shard to its view; ``alive``: ids of live agents, ``halted``: result of
    :func:`halted_reasons`.
    """
    return ShardView(
        id=row.id,
        environment=row.environment,
        group_number=row.group_number,
        project_id=row.project_id,
        home_agent_id=row.home_agent_id,
        acting_agent_id=row.acting_agent_id,
        epoch=row.epoch,
        handover_to=row.handover_to,
        served=row.acting_agent_id in alive,
        halted=halted.get(row.environment, ""),
    )


def broker_state_text(problem: str) -> str:
    """Return ``connected``, or the reason why the broker is not connected."""
    return problem or "connected"


def hosting_view(
    root: LoadBalancer,
    shard: Shard | None,
    agents: Mapping[str, Agent],
    halted: Mapping[str, str],
    broker_problem: str,
    write_problem: str,
    ahead: int,
) -> HostingView:
    """Build the view of a load balancer's agents and state. ``shard`` None: not placed; ``agents``: by id;
    ``ahead``: number of load balancers in line before it. ``remedy`` stays empty.
    """
    home = agents.get(shard.home_agent_id) if shard else None
    acting = agents.get(shard.acting_agent_id or "") if shard else None
    alive = frozenset(agent.id for agent in agents.values() if agent.alive)
    return HostingView(
        load_balancer_id=root.id,
        name=root.name,
        held=root.held,
        revision=root.revision,
        applied_revision=root.applied_revision,
        provisioning_status=root.provisioning_status.value,
        status_reason=root.status_reason,
        operating_status=root.operating_status.value,
        operating_reason=root.operating_reason,
        environment=root.provider,
        data_path=root.data_path,
        halted=halted.get(root.provider, ""),
        message_broker=broker_state_text(broker_problem),
        database=database_state_text(write_problem),
        shard=None if shard is None else shard_view(shard, alive, halted),
        home=None if home is None else agent_view(home),
        acting=None if acting is None else agent_view(acting),
        ahead=ahead,
        remedy="",
        retry_seconds_max=CHANGE_RETRY_SECONDS_MAX,
    )
