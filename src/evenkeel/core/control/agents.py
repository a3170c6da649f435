"""Agents and their sessions, as the database stores them."""

from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.kit.ids import AgentId, SessionId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.values import Value
from evenkeel.core.placement import PlacementBlocker
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.enhanced_services import EnhancedService
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from evenkeel.core.status.device_state import DeviceState


class AgentEnhancedServices(Value):
    """The enhanced services (named settings that tenants can choose) that an agent last reported."""

    agent_id: AgentId
    environment: str
    group_number: int
    host: str
    services: tuple[EnhancedService, ...]


class Agent(Value):
    """An agent as stored in the database, with its load and the reasons why its shards do not move. Times:
    seconds since 1970 by the database's clock.
    """

    id: AgentId
    environment: str
    group_number: int
    host: str
    device_driver: str
    ha_type: str
    endpoints: tuple[str, ...] = ()
    admin_state_up: bool = True
    """False: drained or being drained. The agent gets no shards, and shards it serves are handed over."""
    forced_down: bool = False
    """True if an operator declared the agent's host dead, so that its load balancers may be rebuilt elsewhere."""
    failback_asked: bool = False
    """True if an operator requested that the agent's shards return home (``failback`` manual)."""
    silent_since: float | None = None
    """Time at which the agent's session expired without being ended; None: the session is live, or was ended."""
    reachable_devices: int | None = None
    """Number of devices that the agent reached by its last state report; None: not reported yet."""
    session_id: SessionId | None = None
    alive: bool = False
    """True if the agent's session had not expired at the time of reading."""
    session_started_at: float | None = None
    session_expires_at: float | None = None
    reported_at: float | None = None
    configurations: dict[str, str] = {}
    devices: tuple[DeviceState, ...] = ()
    queue_depth: int = 0
    capacity_score: float = 0.0
    capacity: dict[str, CapacityFigure] = {}
    """Last measured figures by metric of the agent's ``capacity_policy``."""
    serving: tuple[ShardEpoch, ...] = ()
    """The shards that the agent served according to its last state report."""
    assignments_revision: int = 0
    created_at: float = 0.0
    acting_shards: int = 0
    home_shards: int = 0
    load_balancers: int = 0
    """Number of load balancers whose shard has this agent as its home."""
    handing_over: int = 0
    """Number of shards for which the agent acts and that it was requested to release to another agent."""
    away_shards: int = 0
    """Number of shards whose home is the agent and for which another agent acts."""
    unserved_shards: int = 0
    """Number of shards whose home is the agent and for which no agent acts."""
    fit: bool = False
    """True if shards may be assigned to the agent now."""
    successors: int = 0
    """Number of other agents of the agent's group to which shards may be assigned now."""
    waiting_blocker: PlacementBlocker | None = None
    """Why shards that the agent should not serve stay with it (:class:`evenkeel.core.placement.PlacementReasons`)."""
    away_blocker: PlacementBlocker | None = None
    """Why shards whose home is the agent and that other agents serve do not return to it."""
    reschedule: RescheduleMode = RescheduleMode.CONTROL
    """How shards of the agent's device group may move."""
    failback: FailbackMode = FailbackMode.AUTO
    """Whether and how shards return to the agent as their home: failback mode of its environment."""
    halted_reason: str = ""
    """Reason why the circuit breaker of the agent's environment is open; empty: it is closed."""

    @property
    def title(self) -> str:
        """Text that names the agent: the host before the id."""
        return f"agent {name_and_id(self.host, self.id)}"


class SessionRef(Value):
    """Reference to a live session of an agent."""

    agent_id: AgentId
    session_id: SessionId
    environment: str
    late: bool = False
    """True if the session's agent has missed keepalives."""


class AgentLiveness(Value):
    """Liveness of an agent, without its load."""

    id: AgentId
    host: str
    alive: bool
    silent: bool
    """True if the agent's session has expired, and neither was ended nor its host declared dead."""
    environment: str = ""
    group_number: int = 0
