"""Handlers of the operators' API for controllers, the topology, and the history of a load balancer."""

from collections import defaultdict
from collections.abc import Iterable

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import check_environment, query_options
from evenkeel.api.operators.views import ShardView, broker_state_text, halted_reasons, shard_view
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.control.agent_state import AgentState, agent_state
from evenkeel.core.control.agents import Agent
from evenkeel.core.control.overview import AgentShards, ControllerHeartbeat, Revision
from evenkeel.core.kit.ids import AgentId, LoadBalancerId
from evenkeel.core.kit.values import Value


class ControllerView(Value):
    """A controller: a process that serves this API."""

    id: str
    host: str
    url: str
    """URL at which the controller listens, as its own configuration states it."""
    version: str
    alive: bool
    """True if the controller sent a heartbeat in the last 20 s."""
    started_at: str
    seen_at: str
    message_broker: str
    """``connected``, or the reason why the controller cannot send messages."""


class RevisionView(Value):
    """A change of a load balancer, with the user who requested it and the agent that applied it. ``epoch``:
    of the agent's ownership; null: not applied yet.
    """

    revision: int
    accepted_at: str
    user: str
    """User who requested the change; empty: a renewed certificate or a change of a network made it."""
    project_id: str
    """Project of the user who requested the change."""
    request_id: str
    applied_at: str | None
    """Time at which an agent applied the change; None: the change is not on the device yet."""
    seconds: float | None
    """Seconds from acceptance to the report of the agent that applied the change; null: not applied yet."""
    agent_id: str
    """Id of the agent that applied the change, or tried to."""
    host: str
    epoch: int | None
    problem: str
    """Error of a failed attempt; empty if there was none, or the change was applied."""


class TopologyAgent(Value):
    """An agent of a device group."""

    id: str
    host: str
    state: AgentState
    alive: bool
    acting_shards: int


class TopologyDevice(Value):
    """A device of a group, by the last report of an agent: of a live agent rather than a silent one, and of
    one that reaches the device rather than others.
    """

    name: str
    """Address of the device, which identifies it in the device group."""
    own_name: str
    """The device's own name; empty: not known."""
    reachable: bool
    """True if any live agent reaches the device."""
    reached_by: list[str]
    """Hosts of live agents that reach the device."""
    missed_by: list[str]
    """Hosts of live agents that do not reach the device."""
    version: str
    failover_state: str
    sync_state: str
    problem: str


class TopologyLine(Value):
    """Number of tenants' shards that one agent acts for; ``agent_id`` null: no agent acts for these shards."""

    agent_id: AgentId | None
    shards: int
    newest_epoch: int


class TopologyGroup(Value):
    """A device group with its agents and devices."""

    environment: str
    group_number: int
    device_driver: str
    halted: str
    agents: list[TopologyAgent]
    devices: list[TopologyDevice]
    lines: list[TopologyLine]
    shards: list[ShardView]
    """The group's shards; first the common shard (``project_id`` empty), which has the objects that projects share. If
    the group has more than 40 tenants, only the common one: ``/shards?agent_id=`` lists the shards of an agent.
    """


class TopologyView(Value):
    """Agents that may write to devices, by device group."""

    message_broker: str
    """``connected``, or the reason why this controller cannot send messages."""
    controllers: list[ControllerView]
    groups: list[TopologyGroup]


async def list_controllers(services: Services, call: Call) -> Answer:
    """Handle GET /controllers: list controllers with a heartbeat in the last ten minutes, except stopped
    ones. Raises :class:`InvalidQuery` for query parameters.
    """
    query_options(call, ())
    return json_answer({"controllers": [_controller_view(row) for row in await services.operators.controllers()]})


async def list_revisions(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/history: list the last 50 revisions, newest first. Raises
    :class:`NotFound`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    rows = await services.operators.revisions(LoadBalancerId(object_id(call, "Load Balancer")))
    return json_answer({"history": [_revision_view(row) for row in rows]})


async def show_topology(services: Services, call: Call) -> Answer:
    """Handle GET /topology: show controllers, device groups with their agents and devices, and the shards
    between them; of one ``environment`` if that is given. Raises :class:`InvalidQuery` for an unknown
    environment.
    """
    environment = query_options(call, ("environment",)).get("environment")
    if environment is not None:
        return await _read_topology(services, environment)
    return await services.topology.get(lambda: _read_topology(services, None))


async def _read_topology(services: Services, environment: str | None) -> Answer:
    known = await services.operators.ownership(environment=environment)
    await check_environment(services, known.agents, environment)
    halted = halted_reasons(await services.operators.environments())
    alive = frozenset(agent.id for agent in known.agents if agent.alive)
    agents: dict[tuple[str, int], list[Agent]] = defaultdict(list)
    lines: dict[tuple[str, int], list[AgentShards]] = defaultdict(list)
    shards: dict[tuple[str, int], list[ShardView]] = defaultdict(list)
    for agent in known.agents:
        agents[agent.environment, agent.group_number].append(agent)
    for line in known.lines:
        lines[line.environment, line.group_number].append(line)
    for shard in known.shards:
        shards[shard.environment, shard.group_number].append(shard_view(shard, alive, halted))
    shown = TopologyView(
        message_broker=broker_state_text(services.broker_problem()),
        controllers=[_controller_view(row) for row in await services.operators.controllers()],
        groups=[
            _topology_group(place, agents[place], lines[place], shards[place], halted.get(place[0], ""))
            for place in sorted({*agents, *lines})
        ],
    )
    return json_answer({"topology": shown})


def _topology_group(
    place: tuple[str, int], agents: list[Agent], lines: Iterable[AgentShards], shards: list[ShardView], halted: str
) -> TopologyGroup:
    return TopologyGroup(
        environment=place[0],
        group_number=place[1],
        device_driver=agents[0].device_driver if agents else "",
        halted=halted,
        agents=[
            TopologyAgent(
                id=agent.id,
                host=agent.host,
                state=agent_state(agent),
                alive=agent.alive,
                acting_shards=agent.acting_shards,
            )
            for agent in agents
        ],
        devices=_topology_devices(agents),
        lines=[
            TopologyLine(agent_id=line.agent_id, shards=line.count, newest_epoch=line.newest_epoch) for line in lines
        ],
        shards=shards,
    )


def _topology_devices(agents: Iterable[Agent]) -> list[TopologyDevice]:
    # later entries replace earlier ones: silent agents come first, agents that reach the device last
    seen = [(device, agent) for agent in agents for device in agent.devices]
    seen.sort(key=lambda pair: (pair[1].alive, pair[0].reachable))
    found: dict[str, TopologyDevice] = {}
    for device, _ in seen:
        by = [(other.reachable, agent.host) for other, agent in seen if other.name == device.name and agent.alive]
        found[device.name] = TopologyDevice(
            name=device.name,
            # An agent that does not reach the device may lack its name, which another one has reported.
            own_name=device.own_name or (found[device.name].own_name if device.name in found else ""),
            reachable=any(reachable for reachable, _ in by),
            reached_by=sorted(host for reachable, host in by if reachable),
            missed_by=sorted(host for reachable, host in by if not reachable),
            version=device.version,
            failover_state=device.failover_state,
            sync_state=device.sync_state,
            problem=device.problem,
        )
    return [found[name] for name in sorted(found)]


def _controller_view(row: ControllerHeartbeat) -> ControllerView:
    return ControllerView(
        id=row.id,
        host=row.host,
        url=row.url,
        version=row.version,
        alive=row.alive,
        started_at=format_time(row.started_at),
        seen_at=format_time(row.seen_at),
        message_broker=broker_state_text(row.message_broker),
    )


def _revision_view(row: Revision) -> RevisionView:
    return RevisionView(
        revision=row.number,
        accepted_at=format_time(row.accepted_at),
        user=row.user,
        project_id=row.project_id,
        request_id=row.request_id,
        applied_at=format_time_or_none(row.applied_at),
        # Not negative, even if the database's clock was set back between the two times.
        seconds=None if row.applied_at is None else round(max(0.0, row.applied_at - row.accepted_at), 3),
        agent_id=row.agent_id,
        host=row.host,
        epoch=row.epoch,
        problem=row.problem,
    )
