"""Overview of the system for operators: controllers, the agents that may write to devices, and the past of a load
balancer. Read-only: no decision depends on it.
"""

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.shards import Shard
from evenkeel.core.kit.ids import AgentId, ProjectId
from evenkeel.core.kit.values import Value

CONTROLLER_SEEN_SECONDS = 5.0
"""Interval of a controller's heartbeats."""
CONTROLLER_SILENT_SECONDS = 20.0
"""Seconds without a heartbeat after which a controller counts as silent."""
CONTROLLER_KEPT_SECONDS = 600.0
"""Seconds after its last heartbeat for which a controller is listed; then its row is deleted."""


class ControllerHeartbeat(Value):
    """A controller, a process that serves the API, as operators see it.

    ``message_broker``: why the process cannot send messages; empty: it can. ``started_at``, ``seen_at``:
    start and last heartbeat, seconds since 1970 by the database's clock; ``silent_seconds``: seconds since
    that heartbeat.
    """

    id: str
    host: str
    url: str
    version: str
    started_at: float = 0.0
    seen_at: float = 0.0
    silent_seconds: float = 0.0
    message_broker: str = ""

    @property
    def alive(self) -> bool:
        """True if the controller's last heartbeat is less than :data:`CONTROLLER_SILENT_SECONDS` old."""
        return self.silent_seconds < CONTROLLER_SILENT_SECONDS


class Revision(Value):
    """One stored revision of a load balancer: who requested it, and which agent applied it. Times: seconds
    since 1970 by the database's clock.

    ``user`` empty: the user has no name, or the change comes from no request (a renewed certificate or a
    changed network, for example). ``applied_at``, ``epoch`` None: no device has it yet. ``problem``: error of
    the last failed attempt; empty: none.
    """

    number: int
    accepted_at: float
    user: str
    project_id: ProjectId
    request_id: str
    applied_at: float | None
    agent_id: AgentId
    host: str
    epoch: int | None
    problem: str


class AgentShards(Value):
    """Number of tenants' shards of a device group for which one agent acts, and their highest epoch.
    ``agent_id`` None: no agent acts for them.
    """

    environment: str
    group_number: int
    agent_id: AgentId | None
    count: int
    newest_epoch: int


class OwnershipOverview(Value):
    """Agents, and the shards for which they may write to devices.

    ``lines``: numbers of tenants' shards by device group and acting agent. ``shards``: the common shards, and
    tenants' shards of device groups that have few of them.
    """

    agents: tuple[Agent, ...]
    lines: tuple[AgentShards, ...]
    shards: tuple[Shard, ...]
