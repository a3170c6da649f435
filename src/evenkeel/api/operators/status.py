"""State of the whole system: counts, and problems with remedies."""

import time
from collections.abc import Iterator, Sequence

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.causes import SystemState, explain_problems
from evenkeel.api.operators.countdowns import countdown_texts
from evenkeel.api.operators.problems import (
    ProblemCommand,
    ProblemObject,
    SystemProblem,
    database_state_text,
    outage_problems,
    own_certificate_problems,
)
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.references import REFERENCES_MAX, reference_problems
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.control.histories import UnknownHistory
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import ReferenceQuery
from evenkeel.core.tls.own_certificates import expiring_certificates as soon

ALARM_DAYS = 7
"""Days before the expiry of a certificate in use from which on it counts as a problem of the system."""


class StatusView(Value):
    """A summary of the whole system, with its problems."""

    message_broker: str
    """``connected``, or the reason why this controller cannot send messages."""
    database: str
    """``writable``, or the reason why this controller's writes are refused."""
    agents: views.UpDown
    load_balancers: dict[str, int]
    """Number of load balancers by provisioning status."""
    load_balancers_operating: dict[str, int]
    """Number of load balancers by operating status."""
    load_balancers_age_seconds: float
    """Seconds since the load balancers were counted and PENDING ones were searched: where there are more than 2,000,
    controllers do that at most every 5 s. 0: for this answer.
    """
    oldest_pending_seconds: float
    """Seconds since the oldest change was accepted that is still PENDING; 0 if there is none."""
    shards: views.ShardCounts
    halted: list[views.HaltedView]
    devices: list[views.DevicesView]
    """Device groups of which not all devices are reachable."""
    countdowns: list[str]
    """Pending irreversible removals: each with the remaining time and the command that lists the objects; shown from
    the beginning of the countdown.
    """
    problems: list[SystemProblem]
    """Problems of the system; empty if there are none."""


class Readiness(Value):
    """Response of the readiness check: kinds of problems, without names, because clients need no
    authentication for it.
    """

    status: str
    """Overall status: ``ok`` or ``problems``."""
    problems: list[str]


async def show_status(services: Services, call: Call) -> Answer:
    """Handle GET /status: show a summary of the whole system. Simultaneous requests share one read. Raises
    :class:`InvalidQuery` for query parameters, :class:`Unavailable` without the database.
    """
    query_options(call, ())
    return await services.status.get(lambda: _build_status_answer(services))


async def _build_status_answer(services: Services) -> Answer:
    return json_answer({"status": await _read_summary(services)})


async def check_readiness(services: Services, call: Call) -> Answer:
    """Handle GET /healthz/ready: 200 if the system has no problem, else 503 with the kinds of its problems.
    The result is cached for :data:`READINESS_SECONDS`. Raises :class:`Unavailable` (503) without the
    database.
    """
    kinds = await services.problem_kinds.get(lambda: _problem_kinds(services))
    shown = Readiness(status="problems" if kinds else "ok", problems=list(kinds))
    return json_answer(shown, status=503 if kinds else 200)


async def _problem_kinds(services: Services) -> tuple[str, ...]:
    return tuple(sorted({problem.kind for problem in (await _read_summary(services)).problems}))


async def _read_summary(services: Services) -> StatusView:
    broker, database = services.broker_problem(), services.write_problem()
    outage = "message broker" if broker else "database" if database else ""
    agents = await services.operators.agent_liveness()
    alive = frozenset(row.id for row in agents if row.alive)
    counts = await services.operators.shard_counts()
    environments = await services.operators.environments()
    groups = await services.operators.unreachable_groups()
    unserved = sum(count.unserved for count in counts)
    load_balancers = await services.operators.load_balancer_summary()
    orphans = await services.operators.orphan_summary()
    countdowns = await services.operators.removal_countdowns()
    expiring = await services.operators.references(ReferenceQuery(expiring_days=ALARM_DAYS), limit=REFERENCES_MAX)
    unreadable = await services.operators.references(ReferenceQuery(unreadable=True), limit=REFERENCES_MAX)
    own = soon(await services.operators.own_certificates(), days=ALARM_DAYS, now_seconds=time.time())
    halted = [row for row in environments if row.halted_at is not None]
    return StatusView(
        message_broker=views.broker_state_text(broker),
        database=database_state_text(database),
        agents=views.UpDown(up=len(alive), down=len(agents) - len(alive)),
        load_balancers=dict(load_balancers.by_status),
        load_balancers_operating=dict(load_balancers.by_operating_status),
        load_balancers_age_seconds=round(load_balancers.age_seconds, 1),
        oldest_pending_seconds=round(load_balancers.oldest_pending_seconds, 1),
        shards=views.ShardCounts(total=sum(count.total for count in counts), unserved=unserved),
        halted=[views.halted_view(row) for row in halted],
        devices=[views.devices_view(row) for row in groups],
        countdowns=list(countdown_texts(orphans, countdowns, devices_away=bool(groups))),
        problems=[
            *outage_problems(broker, database),
            *_unknown_history_problems(orphans.unknown_histories),
            *explain_problems(
                SystemState(
                    outage=outage,
                    halted=halted,
                    agents=agents,
                    shards=counts,
                    groups=groups,
                    load_balancers=load_balancers,
                )
            ),
            *own_certificate_problems(own, time.time()),
            *reference_problems(expiring, unreadable, days=ALARM_DAYS),
        ],
    )


def _unknown_history_problems(unknown: Sequence[UnknownHistory]) -> Iterator[SystemProblem]:
    for one in unknown:
        yield SystemProblem(
            kind="history_unknown",
            text=f"agent {name_and_id(one.host, one.agent_id)} saw history {one.id}, which this database never had: it"
            " is another database or an older copy, and nothing is removed from devices",
            remedy="if it is the wrong one: stop the controllers and connect them to the right one; if it is the right"
            f" one: evenkeel database accept-history {one.id}",
            objects=(ProblemObject("agent", one.agent_id, one.host),) if one.agent_id else (),
            commands=(
                ProblemCommand(f"evenkeel database accept-history {one.id}", condition="if this is the right one"),
            ),
        )
