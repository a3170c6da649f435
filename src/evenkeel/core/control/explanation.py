"""Explanation of a load balancer's state, and what operators can do: the same for the API, the command line
and the dashboard. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evenkeel.core.kit.words import count_with_noun

CONNECTED = "connected"
"""Text for a message broker that accepts messages."""
WRITABLE = "writable"
"""Text for a database that accepts writes."""
NOTHING = "nothing"


class Explanation(NamedTuple):
    """Explanation of a load balancer's state. ``state``: the state in words; ``action``: what an operator can
    do, :data:`NOTHING` if nothing.
    """

    state: str
    action: str


def explain_state(hosting: Mapping[str, Any]) -> Explanation:
    """Return the explanation of a load balancer's state by the first rule of :data:`RULES` that matches.
    ``hosting``: an answer of ``/loadbalancers/{id}/agent``.
    """
    return next(found for rule in RULES if (found := rule(hosting)) is not None)


Rule = Callable[[Mapping[str, Any]], Explanation | None]


def _explain_broker_outage(hosting: Mapping[str, Any]) -> Explanation | None:
    broker = hosting.get("message_broker", CONNECTED)
    if broker == CONNECTED:
        return None
    return Explanation(
        f"no agent can be reached: the message broker takes no messages: {broker}",
        "repair the message broker; devices go on, and accepted requests wait in the database",
    )


def _explain_database_outage(hosting: Mapping[str, Any]) -> Explanation | None:
    database = hosting.get("database", WRITABLE)
    if database == WRITABLE:
        return None
    return Explanation(
        f"no session can be renewed: the database takes no writes: {database}",
        "repair the database; devices go on, and changes are refused meanwhile",
    )


def _explain_halt(hosting: Mapping[str, Any]) -> Explanation | None:
    acting = hosting["acting"]
    if not hosting["halted"] or (acting and acting["alive"]):
        return None
    name = hosting["environment"]
    return Explanation(
        f"its agent is silent, and environment {name} is halted: {hosting['halted']}",
        f"bring the agents back; if they are lost: evenkeel environment resume {name}",
    )


def _explain_unplaced(hosting: Mapping[str, Any]) -> Explanation | None:
    if hosting["shard"]:
        return None
    return Explanation(
        f"not placed yet: {hosting['status_reason'] or 'the scheduler has not looked at it'}",
        f"evenkeel agent list --environment {hosting['environment']}: one must be up, with capacity",
    )


def _explain_unserved_shard(hosting: Mapping[str, Any]) -> Explanation | None:
    acting, home = hosting["acting"], hosting["home"]
    if acting and acting["alive"]:
        return None
    host = (acting or home or {}).get("host", "")
    return Explanation(
        f"no live agent serves it; {host} did" if host else "no live agent serves it",
        "another agent of its group takes over within seconds; if none is up, start one: evenkeel agent list"
        f" --environment {hosting['environment']}",
    )


def _explain_error(hosting: Mapping[str, Any]) -> Explanation | None:
    if hosting.get("provisioning_status") != "ERROR":
        return None
    return Explanation(
        f"not applied: {hosting['status_reason'] or 'no reason was reported'}",
        f"{_remedy_or_default(hosting)}; it is retried automatically within {hosting['retry_seconds_max']} s",
    )


def _explain_held_import(hosting: Mapping[str, Any]) -> Explanation | None:
    if not hosting.get("held") or hosting.get("provisioning_status") != "ACTIVE":
        return None
    return Explanation(hosting["status_reason"], f"evenkeel switch-over {hosting['load_balancer_id']}")


def _explain_waiting(hosting: Mapping[str, Any]) -> Explanation | None:
    behind = hosting["revision"] - hosting["applied_revision"]
    pending = str(hosting.get("provisioning_status", "")).startswith("PENDING")
    if not behind and not pending:
        return None
    reason = hosting["status_reason"]
    if reason:
        return Explanation(
            f"waits for its agent: {reason}", f"{_remedy_or_default(hosting)}; it is retried automatically"
        )
    # There is an acting agent: `_explain_unserved_shard`, an earlier rule, matches without one.
    return Explanation(
        f"waits for its agent, {hosting['acting']['host']}, behind {count_with_noun(hosting['ahead'], 'other')}",
        NOTHING,
    )


def _remedy_or_default(hosting: Mapping[str, Any]) -> str:
    return hosting.get("remedy") or "fix the cause"


def _explain_degradation(hosting: Mapping[str, Any]) -> Explanation | None:
    if not hosting["operating_reason"]:
        return None
    remedy = hosting.get("remedy") or f"evenkeel device list --environment {hosting['environment']}; repair the device"
    return Explanation(f"applied, but {hosting['operating_reason']}", remedy)


def _explain_applied(hosting: Mapping[str, Any]) -> Explanation:
    away = hosting["home"] and hosting["acting"]["id"] != hosting["home"]["id"]
    home = f"; away from its home {hosting['home']['host']}, to which it returns" if away else ""
    return Explanation(f"applied, operating status {hosting['operating_status']}{home}", NOTHING)


# The order matters: an outage explains everything that the rules after it would find.
RULES: tuple[Rule, ...] = (
    _explain_broker_outage,
    _explain_database_outage,
    _explain_unplaced,
    _explain_halt,
    _explain_unserved_shard,
    _explain_error,
    _explain_held_import,
    _explain_waiting,
    _explain_degradation,
    _explain_applied,
)
