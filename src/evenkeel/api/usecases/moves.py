"""Plan moves of load balancers to another device group, and begin them."""

from collections.abc import Iterator, Sequence

from evenkeel.api.common.services import Services
from evenkeel.api.common.versions import version_problem
from evenkeel.core.control.move_requests import MovableLoadBalancer, MoveRequest, MoveTargetGroup
from evenkeel.core.devices.capabilities import Capabilities, tree_problems
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.networking.vip_networks import ANYWHERE, VipNetworks
from evenkeel.core.placement import FULL_SCORE

MOVES_PER_REQUEST = 500


class PlannedMove(Value):
    """Plan of one load balancer's move. ``steps``: sentences in the order of the move; empty if there are
    problems.
    """

    load_balancer: MovableLoadBalancer
    steps: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the load balancer cannot be moved; empty if it can."""
    listens: bool = False
    """True: its present devices answer only what is routed to them."""
    by_operator: bool = False
    """True: the operator routes the VIP's traffic to the new devices."""


class MovePlan(Value):
    """Plans of all load balancers that one request moves to another device group. ``home_agent_id``: agent
    that is to be home of the shard there; None: no agent is up.
    """

    target: MoveTargetGroup
    moves: tuple[PlannedMove, ...]
    project_id: ProjectId
    home_agent_id: AgentId | None
    problems: tuple[str, ...]
    """Why no load balancer can be moved to the target device group."""


async def plan_moves(
    services: Services,
    *,
    load_balancer_id: LoadBalancerId | None,
    project_id: str | None,
    environment: str | None,
    to_environment: str | None,
    to_group: int | None,
) -> MovePlan:
    """Plan to move one load balancer (``load_balancer_id``), or all load balancers of a project in
    ``environment``, to a device group; load balancers that are there already or marked deleted are left
    out. ``environment`` None: the default provider's. ``to_environment`` None: the same environment, where
    ``to_group`` is needed; ``to_group`` None: the only device group of another environment.

    Raises :class:`Invalid` for arguments that do not fit, :class:`NotFound`, :class:`Conflict` if there is
    nothing to move, or more than :data:`MOVES_PER_REQUEST`.
    """
    if (load_balancer_id is None) == (project_id is None):
        raise Invalid("move: either load_balancer_id or project_id is needed.")
    if load_balancer_id is not None:
        found = await services.operators.movable_load_balancers(load_balancer_id=load_balancer_id)
        if not found:
            raise NotFound("Load Balancer", load_balancer_id)
        from_environment = found[0].environment
    else:
        from_environment = environment or services.default_provider
        if to_environment not in (None, from_environment):
            raise Invalid("to_environment: a project moves within an environment; move its load balancers one by one.")
        found = await services.operators.movable_load_balancers(
            project_id=project_id or "", environment=from_environment
        )
    target = await _target_group(services, to_environment or from_environment, to_group, found)
    here = (target.environment, target.group_number)
    moving = [each for each in found if (each.environment, each.group_number) != here and not each.deleted]
    if not moving:
        raise Conflict(f"Device group {here[0]}/{here[1]} has everything already: there is nothing to move.")
    if len(moving) > MOVES_PER_REQUEST:
        raise Conflict(f"{len(moving)} load balancers would be moved; {MOVES_PER_REQUEST} at once are possible.")
    home = await _least_loaded_agent(services, target)
    table = services.providers.capabilities_of(target.device_driver)
    permitted = next(
        (row.vip_networks for row in await services.operators.environments() if row.name == target.environment),
        ANYWHERE,
    )
    return MovePlan(
        target=target,
        moves=tuple([await _plan_move(services, each, target, table, permitted) for each in moving]),
        project_id=moving[0].project_id,
        home_agent_id=home,
        problems=(*await _version_problems(services), *_target_problems(target, table, home)),
    )


async def _target_group(
    services: Services, environment: str, number: int | None, found: Sequence[MovableLoadBalancer]
) -> MoveTargetGroup:
    # Raises for an environment that does not exist.
    await services.providers.device_driver_of(environment)
    if number is None:
        if environment in {each.environment for each in found}:
            raise Invalid("to_group: the number of a device group is needed within an environment.")
        numbers = sorted({agent.group_number for agent in await services.operators.agents(environment=environment)})
        if len(numbers) != 1:
            named = ", ".join(map(str, numbers)) or "none"
            raise Invalid(f"to_group: environment {environment} has device groups {named}: name one.")
        number = numbers[0]
    target = await services.operators.device_group_for_moves(environment, number)
    if target is None:
        raise Invalid(f"to_group: no agent of device group {environment}/{number} has registered.")
    return target


async def _least_loaded_agent(services: Services, target: MoveTargetGroup) -> AgentId | None:
    """Return, of the target group's agents that are up, the one that is home to the fewest shards; None if no agent is
    up.
    """
    agents = [
        (agent.home_shards, agent.id)
        for agent in await services.operators.agents(environment=target.environment)
        if agent.group_number == target.group_number and agent.alive and agent.admin_state_up and not agent.forced_down
    ]
    return min(agents)[1] if agents else None


async def _version_problems(services: Services) -> tuple[str, ...]:
    """Return a reason against a move if controllers of several versions run, else nothing: an older
    controller does not know moves, and would let both sides answer for the VIP.
    """
    problem = await version_problem(services)
    return (problem,) if problem else ()


def _target_problems(target: MoveTargetGroup, table: Capabilities, home: AgentId | None) -> Iterator[str]:
    name = f"device group {target.environment}/{target.group_number}"
    if home is None:
        yield f"no agent of {name} is up"
    if target.capacity_score >= FULL_SCORE:
        limits = f" ({', '.join(target.at_limit)})" if target.at_limit else ""
        yield f"{name} is at capacity{limits}"
    if table.standby == "refused":
        yield f"devices of driver {target.device_driver} cannot hold a load balancer that others serve"


async def _plan_move(
    services: Services,
    one: MovableLoadBalancer,
    target: MoveTargetGroup,
    table: Capabilities,
    permitted: VipNetworks,
) -> PlannedMove:
    source = services.providers.capabilities_of(one.device_driver)
    listens = source.standby == "listening"
    by_operator = listens and not one.network_port
    problems = [*_move_problems(one, target, permitted), *_standby_problems(one, source)]
    if not problems and one.device_driver != target.device_driver:
        tree = await services.tenants.tree(one.id, project_id=None)
        problems.extend(tree_problems(table, tree))
    steps = () if problems else tuple(_move_steps(one, target, listens=listens, by_operator=by_operator))
    return PlannedMove(
        load_balancer=one, steps=steps, problems=tuple(problems), listens=listens, by_operator=by_operator
    )


def _move_problems(one: MovableLoadBalancer, target: MoveTargetGroup, permitted: VipNetworks) -> Iterator[str]:
    if one.group_number is None:
        yield "it has no device group yet"
    if one.held:
        yield "it is held: another system still serves it"
    if one.moving:
        yield "it is being moved already"
    if one.zone_group_number not in (None, target.group_number):
        yield f"its availability zone {one.availability_zone} names device group {one.zone_group_number}"
    if target.environment != one.environment:
        if not permitted.allows(network_id=one.vip_network_id, subnet_id=one.vip_subnet_id):
            yield f"VIPs of environment {target.environment} may not be on its network {one.vip_network_id}"
        if one.mirrored:
            yield "it mirrors an Octavia's, which alone chooses its provider"
        if one.flavor_id is not None:
            yield f"its flavor {one.flavor_id} belongs to provider {one.environment}"
        if one.availability_zone is not None:
            yield f"its availability zone {one.availability_zone} belongs to provider {one.environment}"


def _standby_problems(one: MovableLoadBalancer, source: Capabilities) -> Iterator[str]:
    if source.standby == "refused":
        yield f"devices of driver {one.device_driver} cannot hold a load balancer that others serve"


def _move_steps(
    one: MovableLoadBalancer, target: MoveTargetGroup, *, listens: bool, by_operator: bool
) -> Iterator[str]:
    here, there = f"{one.environment}/{one.group_number}", f"{target.environment}/{target.group_number}"
    yield f"devices of {there} get everything, and confirm it, before anything changes on {here}"
    if one.certificates:
        yield f"{count_with_noun(one.certificates, 'certificate is', 'certificates are')} sent to {there}"
    if one.attached_networks:
        yield f"devices of {there} are attached to its networks, with addresses and SNAT addresses of their own"
    if listens:
        yield f"{there} serves it beside {here}"
    else:
        yield f"{here} stops answering for {one.vip_address}, then {there} answers"
    if one.network_port:
        yield f"the port of {one.vip_address} is bound to the host of {there}"
    if by_operator:
        yield f"you route {one.vip_address} to {there}, and then finish the move"
    yield f"{here} removes it"


async def begin_moves(services: Services, plan: MovePlan, *, whole_project: bool) -> None:
    """Begin the planned moves. Raises :class:`Conflict` naming the first problem of the plan, or of the state
    that the store finds; then no move has begun.
    """
    for problem in plan.problems:
        raise Conflict(f"Nothing was moved: {problem}.")
    for move in plan.moves:
        for problem in move.problems:
            raise Conflict(f"Nothing was moved: load balancer {move.load_balancer.id}: {problem}.")
    table = services.providers.capabilities_of(plan.target.device_driver)
    request = MoveRequest(
        project_id=plan.project_id,
        environment=plan.target.environment,
        group_number=plan.target.group_number,
        load_balancer_ids=tuple(move.load_balancer.id for move in plan.moves),
        home_agent_id=plan.home_agent_id,
        whole_project=whole_project,
        listening=tuple(move.load_balancer.id for move in plan.moves if move.listens),
        target_listens=table.standby == "listening",
        by_operator=tuple(move.load_balancer.id for move in plan.moves if move.by_operator),
    )
    for change in await services.operators.begin_moves(request):
        await services.change_accepted(change, waits=False)


async def end_move(services: Services, load_balancer_id: LoadBalancerId, *, back: bool) -> None:
    """Finish a move, or with ``back`` let the old device group serve the load balancer again. Raises
    :class:`NotFound`, and :class:`Conflict` if it is not being moved or cannot end so.
    """
    for change in await services.operators.end_move(load_balancer_id, back=back):
        await services.change_accepted(change, waits=False)
