"""What operators see, and what they may send."""

from typing import Annotated

from msgspec import Meta

from evenkeel.api.bodies import Request
from evenkeel.api.fields import END, NO_NUL, Address, ObjectId, ProjectId, Text
from evenkeel.api.timestamps import timestamp, timestamp_or_none
from evenkeel.core.control import Agent, Environment, Event, Shard
from evenkeel.core.messages import DeviceState
from evenkeel.core.model import LoadBalancer, Subnet
from evenkeel.core.values import Value

EnvironmentName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*" + END,
        description="1 to 64 letters, digits, dashes and underscores",
    ),
]
DriverName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_-]*" + END)]
Cidr = Annotated[
    str,
    Meta(
        max_length=49,
        pattern=r"^[0-9A-Fa-f.:]+/[0-9]{1,3}" + END,
        extra_json_schema={"description": "a network like 10.0.0.0/24"},
    ),
]
SubnetName = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]


# -- what is sent


class AgentChange(Request):
    """What operators may change of an agent."""

    admin_state_up: bool


class AgentChangeBody(Request):
    """Body of PUT /agents/{id}."""

    agent: AgentChange


class EnvironmentNew(Request):
    """A new environment."""

    name: EnvironmentName
    device_driver: DriverName
    description: Text = ""


class EnvironmentNewBody(Request):
    """Body of POST /environments."""

    environment: EnvironmentNew


class SubnetNew(Request):
    """A new address pool. Without an allocation range: all addresses but gateway and reserved ones around it."""

    cidr: Cidr
    name: SubnetName | None = None
    id: ObjectId | None = None
    network_id: ObjectId | None = None
    gateway_ip: Address | None = None
    allocation_start: Address | None = None
    allocation_end: Address | None = None
    project_id: ProjectId | None = None


class SubnetNewBody(Request):
    """Body of POST /subnets."""

    subnet: SubnetNew


# -- what is shown


class DeviceView(Value):
    """One device as its agent sees it."""

    name: str
    reachable: bool
    version: str
    failover_state: str
    problem: str


class ServedShard(Value):
    """A shard that an agent said it served."""

    shard_id: str
    epoch: int


class AgentView(Value):
    """An agent."""

    id: str
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: str
    endpoints: tuple[str, ...]
    admin_state_up: bool
    alive: bool
    session_started_at: str | None
    session_expires_at: str | None
    reported_at: str | None
    configurations: dict[str, str]
    devices: list[DeviceView]
    queue_depth: int
    capacity_score: float
    serving: list[ServedShard]
    """What the agent itself said in its last state report; the shards say what the database decided."""
    acting_shards: int
    home_shards: int
    load_balancers: int
    created_at: str


class EnvironmentView(Value):
    """An environment."""

    name: str
    device_driver: str
    description: str
    created_at: str


class SubnetView(Value):
    """An address pool."""

    id: str
    name: str
    network_id: str
    cidr: str
    gateway_ip: str | None
    allocation_start: str
    allocation_end: str
    project_id: str | None


class ShardView(Value):
    """A shard."""

    id: str
    environment: str
    group_number: int
    project_id: str
    home_agent_id: str
    acting_agent_id: str | None
    epoch: int
    handover_to: str | None
    served: bool
    """Its acting agent is alive."""


class HostingView(Value):
    """Who serves a load balancer, and how far it is."""

    load_balancer_id: str
    revision: int
    applied_revision: int
    status_reason: str
    shard: ShardView | None
    home: AgentView | None
    acting: AgentView | None


class EventView(Value):
    """Something worth telling an operator."""

    id: int
    at: str
    kind: str
    text: str
    environment: str
    agent_id: str
    shard_id: str
    load_balancer_id: str


class UpDown(Value):
    """How many agents are alive."""

    up: int
    down: int


class ShardCounts(Value):
    """How many shards there are, and how many of them no live agent serves."""

    total: int
    unserved: int


class StatusView(Value):
    """The whole system in a few numbers."""

    agents: UpDown
    load_balancers: dict[str, int]
    shards: ShardCounts


def _device(device: DeviceState) -> DeviceView:
    return DeviceView(
        name=device.name,
        reachable=device.reachable,
        version=device.version,
        failover_state=device.failover_state,
        problem=device.problem,
    )


def agent_view(agent: Agent) -> AgentView:
    """An agent; its session id stays inside."""
    return AgentView(
        id=agent.id,
        environment=agent.environment,
        group_number=agent.group_number,
        host=agent.host,
        device_driver=agent.device_driver,
        ha_type=agent.ha_type,
        endpoints=agent.endpoints,
        admin_state_up=agent.admin_state_up,
        alive=agent.alive,
        session_started_at=timestamp_or_none(agent.session_started_at),
        session_expires_at=timestamp_or_none(agent.session_expires_at),
        reported_at=timestamp_or_none(agent.reported_at),
        configurations=agent.configurations,
        devices=[_device(device) for device in agent.devices],
        queue_depth=agent.queue_depth,
        capacity_score=agent.capacity_score,
        serving=[ServedShard(shard_id=item.shard_id, epoch=item.epoch) for item in agent.serving],
        acting_shards=agent.acting_shards,
        home_shards=agent.home_shards,
        load_balancers=agent.load_balancers,
        created_at=timestamp(agent.created_at),
    )


def environment_view(row: Environment) -> EnvironmentView:
    """An environment."""
    return EnvironmentView(
        name=row.name,
        device_driver=row.device_driver,
        description=row.description,
        created_at=timestamp(row.created_at),
    )


def subnet_view(row: Subnet) -> SubnetView:
    """An address pool."""
    return SubnetView(
        id=row.id,
        name=row.name,
        network_id=row.network_id,
        cidr=row.cidr,
        gateway_ip=row.gateway_ip,
        allocation_start=row.allocation_start,
        allocation_end=row.allocation_end,
        project_id=row.project_id,
    )


def shard_view(row: Shard, alive: frozenset[str]) -> ShardView:
    """A shard; ``alive`` are the ids of the agents that are."""
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
    )


def hosting_view(root: LoadBalancer, shard: Shard | None, agents: dict[str, Agent]) -> HostingView:
    """Who serves a load balancer."""
    home = agents.get(shard.home_agent_id) if shard else None
    acting = agents.get(shard.acting_agent_id or "") if shard else None
    alive = frozenset(agent.id for agent in agents.values() if agent.alive)
    return HostingView(
        load_balancer_id=root.id,
        revision=root.revision,
        applied_revision=root.applied_revision,
        status_reason=root.status_reason,
        shard=None if shard is None else shard_view(shard, alive),
        home=None if home is None else agent_view(home),
        acting=None if acting is None else agent_view(acting),
    )


def event_view(row: Event) -> EventView:
    """An event."""
    return EventView(
        id=row.id,
        at=timestamp(row.at),
        kind=row.kind,
        text=row.text,
        environment=row.environment,
        agent_id=row.agent_id,
        shard_id=row.shard_id,
        load_balancer_id=row.load_balancer_id,
    )
