"""Views of an agent for operators."""

from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.control.agent_state import AgentState, agent_state, away_reason, waiting_reason, waiting_shards
from evenkeel.core.control.agents import Agent
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.kit.values import Value
from evenkeel.core.status.device_state import DeviceState


class DeviceView(Value):
    """State of one device by its agent's last report. ``problem``: why the device cannot be used; empty: it
    can.
    """

    name: str
    """Address of the device, which identifies it in the device group."""
    own_name: str
    """The device's own name; empty: not known."""
    reachable: bool | None
    """Whether the agent reaches the device; null: unknown, because the agent is not alive."""
    version: str
    failover_state: str
    sync_state: str
    problem: str
    limitation: str
    """Services that a usable device refuses, with the reason; empty: nothing."""
    certificate_ends_at: str | None = None
    """Expiry of the certificate of the device's management address; None: not known."""


class ServedShard(Value):
    """A shard that an agent reported as served."""

    shard_id: ShardId
    epoch: int


class CapacityView(Value):
    """One metric of a capacity policy: ``value`` on the device where it is highest, and the operator's ``limit``."""

    value: float
    limit: float


class AgentView(Value):
    """An agent, as operators see it."""

    id: str
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: str
    endpoints: tuple[str, ...]
    state: AgentState
    """State of the agent: up, draining, drained, silent, stopped or forced_down."""
    halted: str
    """Reason why the circuit breaker of the agent's environment is open; empty: it is closed."""
    admin_state_up: bool
    forced_down: bool
    failback_asked: bool
    alive: bool
    silent_since: str | None
    session_started_at: str | None
    session_expires_at: str | None
    reported_at: str | None
    configurations: dict[str, str]
    devices: list[DeviceView]
    reachable_devices: int | None
    """Number of devices that the agent reaches; null: not known."""
    queue_depth: int
    capacity_score: float
    capacity: dict[str, CapacityView]
    """Value and limit by metric of the agent's capacity policy."""
    serving: list[ServedShard]
    """Shards in the agent's last state report; ``/shards`` shows the database's state."""
    acting_shards: int
    home_shards: int
    load_balancers: int
    """Number of load balancers whose shard has this agent as its home."""
    handing_over: int
    """Number of shards in handover to another agent."""
    waiting_shards: int
    """Number of this agent's shards that another agent should serve, but does not serve yet."""
    waiting_reason: str
    """Reason why waiting shards cannot move now; empty: they can, or there are none."""
    away_shards: int
    """Number of shards whose home is this agent, but which another agent serves."""
    away_reason: str
    """Reason why shards that are away do not return to this agent; empty: they do return, or none is away."""
    created_at: str


def _device_view(device: DeviceState, *, alive: bool) -> DeviceView:
    # What a silent agent reached when it was last heard says nothing about now.
    return DeviceView(
        name=device.name,
        own_name=device.own_name,
        reachable=device.reachable if alive else None,
        version=device.version,
        failover_state=device.failover_state,
        sync_state=device.sync_state,
        problem=device.problem,
        limitation=device.limitation,
        certificate_ends_at=format_time_or_none(device.certificate_ends_at),
    )


def agent_view(agent: Agent) -> AgentView:
    """Convert an agent to its view, without its session id."""
    return AgentView(
        id=agent.id,
        environment=agent.environment,
        group_number=agent.group_number,
        host=agent.host,
        device_driver=agent.device_driver,
        ha_type=agent.ha_type,
        endpoints=agent.endpoints,
        state=agent_state(agent),
        halted=agent.halted_reason,
        admin_state_up=agent.admin_state_up,
        forced_down=agent.forced_down,
        failback_asked=agent.failback_asked,
        alive=agent.alive,
        silent_since=format_time_or_none(agent.silent_since),
        session_started_at=format_time_or_none(agent.session_started_at),
        session_expires_at=format_time_or_none(agent.session_expires_at),
        reported_at=format_time_or_none(agent.reported_at),
        configurations=agent.configurations,
        devices=[_device_view(device, alive=agent.alive) for device in agent.devices],
        reachable_devices=agent.reachable_devices if agent.alive else None,
        queue_depth=agent.queue_depth,
        capacity_score=agent.capacity_score,
        capacity={name: CapacityView(value=each.value, limit=each.limit) for name, each in agent.capacity.items()},
        serving=[ServedShard(shard_id=item.shard_id, epoch=item.epoch) for item in agent.serving],
        acting_shards=agent.acting_shards,
        home_shards=agent.home_shards,
        load_balancers=agent.load_balancers,
        handing_over=agent.handing_over,
        waiting_shards=waiting_shards(agent),
        waiting_reason=waiting_reason(agent),
        away_shards=agent.away_shards,
        away_reason=away_reason(agent),
        created_at=format_time(agent.created_at),
    )
