"""Moves of load balancers to other device groups (``/evenkeel/v1/moves``)."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import MoveBody
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.moves import MovePlan, PlannedMove, begin_moves, end_move, plan_moves
from evenkeel.core.control.move_requests import MoveProgress
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value


class PlannedMoveView(Value):
    """Plan of one load balancer's move. ``problems``: reasons why it cannot be moved."""

    load_balancer_id: str
    name: str
    vip_address: str
    source: str
    """The load balancer's device group, ``<environment>/<number>``."""
    by_operator: bool
    """True: the operator routes the VIP's traffic to the new devices, and then finishes the move."""
    steps: list[str]
    problems: list[str]


class MovePlanView(Value):
    """The plan of a move. ``problems``: why no load balancer can be moved to the target device group."""

    target: str
    project_id: str
    begun: bool
    """True: the moves have begun."""
    problems: list[str]
    loadbalancers: list[PlannedMoveView]


class MoveView(Value):
    """The last move of a load balancer. Times in seconds since the epoch, by the database's clock."""

    load_balancer_id: str
    name: str
    project_id: str
    vip_address: str
    step: str
    """``preparing``, ``stopping``, ``starting``, ``draining``, ``cleaning`` or ``done``."""
    source: str
    target: str
    back: bool
    """True: the move goes back, or went back, to the old device group."""
    by_operator: bool
    """True: the step ``draining`` ends when an operator finishes the move."""
    reason: str
    """Why the current step does not end, or why the move went back."""
    gap_seconds: float | None
    """Seconds for which no devices were confirmed to answer for the VIP; null: not known yet."""
    begun_at: float
    step_at: float
    """Time at which the current step began, in seconds since the epoch."""


async def plan_or_begin_moves(services: Services, call: Call, body: MoveBody) -> Answer:
    """Handle POST /moves: plan a move; with ``apply`` begin it. Raises :class:`Invalid`, :class:`NotFound`,
    and :class:`Conflict` if there is nothing to move, or a planned move that is to begin has problems,
    :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    wanted = body.move
    found = await plan_moves(
        services,
        load_balancer_id=None if wanted.load_balancer_id is None else LoadBalancerId(wanted.load_balancer_id),
        project_id=wanted.project_id,
        environment=wanted.environment,
        to_environment=wanted.to_environment,
        to_group=wanted.to_group,
    )
    if wanted.apply:
        await begin_moves(services, found, whole_project=wanted.project_id is not None)
    return json_answer({"move": _move_plan_view(found, begun=wanted.apply)}, 200)


async def list_moves(services: Services, call: Call) -> Answer:
    """Handle GET /moves: list the last moves, those under way first; ``load_balancer_id`` selects one load
    balancer's. Raises :class:`InvalidQuery` for unknown query parameters.
    """
    options = query_options(call, ("load_balancer_id",))
    id_ = LoadBalancerId(options["load_balancer_id"]) if "load_balancer_id" in options else None
    rows = await services.operators.moves(load_balancer_id=id_)
    return json_answer({"moves": [_move_view(row) for row in rows]})


async def finish_move(services: Services, call: Call) -> Answer:
    """Handle PUT /moves/{id}/finish: the VIP's traffic goes to the new devices, so the old ones may remove
    the load balancer. Raises :class:`NotFound`, :class:`Conflict`.
    """
    return await _end_move(services, call, back=False)


async def move_back(services: Services, call: Call) -> Answer:
    """Handle PUT /moves/{id}/back: cancel the move, so that the old device group serves the load balancer
    again. Raises :class:`NotFound`, :class:`Conflict` if it is too late.
    """
    return await _end_move(services, call, back=True)


async def _end_move(services: Services, call: Call, *, back: bool) -> Answer:
    query_options(call, ())
    load_balancer_id = LoadBalancerId(object_id(call, "Move of load balancer"))
    await end_move(services, load_balancer_id, back=back)
    for row in await services.operators.moves(load_balancer_id=load_balancer_id):
        return json_answer({"move": _move_view(row)})
    raise NotFound("Move of load balancer", load_balancer_id)


def _move_plan_view(plan: MovePlan, *, begun: bool) -> MovePlanView:
    return MovePlanView(
        target=f"{plan.target.environment}/{plan.target.group_number}",
        project_id=plan.project_id,
        begun=begun,
        problems=list(plan.problems),
        loadbalancers=[_planned_move_view(each) for each in plan.moves],
    )


def _planned_move_view(planned: PlannedMove) -> PlannedMoveView:
    one = planned.load_balancer
    return PlannedMoveView(
        load_balancer_id=one.id,
        name=one.name,
        vip_address=one.vip_address,
        source="" if one.group_number is None else f"{one.environment}/{one.group_number}",
        by_operator=planned.by_operator,
        steps=list(planned.steps),
        problems=list(planned.problems),
    )


def _move_view(row: MoveProgress) -> MoveView:
    return MoveView(
        load_balancer_id=row.load_balancer_id,
        name=row.name,
        project_id=row.project_id,
        vip_address=row.vip_address,
        step=row.step.value,
        source=row.source,
        target=row.target,
        back=row.back,
        by_operator=row.by_operator,
        reason=row.reason,
        gap_seconds=row.gap_seconds,
        begun_at=row.begun_at,
        step_at=row.step_at,
    )
