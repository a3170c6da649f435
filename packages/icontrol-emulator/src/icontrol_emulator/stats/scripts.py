"""/stats of iRules, an entry for each event, and of policies, with an entry for each action of their rules.

Cycles are steps of the emulator's interpreter, not of a processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.policies.checks import ACTIONS, rules_of
from icontrol_emulator.config.policies.parts import one_of
from icontrol_emulator.config.policies.vocabulary import TARGETS, VERBS, tmsh
from icontrol_emulator.config.render import HOST, item_uri
from icontrol_emulator.irules.syntax import SyntaxFault, handlers
from icontrol_emulator.stats.entries import View, built

Entry = tuple[str, dict[str, Any]]


def rule_entries(view: View, rule: Obj) -> Iterator[Entry]:
    try:
        found = handlers(str(rule.props.get("apiAnonymous", "")))
    except SyntaxFault:
        return
    for handler in found:
        counters = view.plane.script_counters.event(rule.key.path, handler.event)
        values: dict[str, object] = {
            "aborts": counters.aborts, "avgCycles": counters.steps // max(1, counters.executions),
            "eventType": handler.event, "failures": counters.failures, "maxCycles": counters.steps_max,
            "minCycles": counters.steps_min, "priority": handler.priority, "tmName": rule.key.path,
            "totalExecutions": counters.executions,
        }  # fmt: skip
        yield f"{HOST}/{item_uri(rule.key)}:{handler.event}/stats", built(values)


def policy_entries(view: View, policy: Obj) -> Iterator[Entry]:
    link = f"{HOST}/{item_uri(policy.key)}"
    counters = view.plane.script_counters.policy(policy.key.path)
    values: dict[str, object] = {
        "invoked": counters.invoked, "policyName": policy.key.path, "succeeded": counters.succeeded, "vsName": "N/A",
    }  # fmt: skip
    actions = dict(_actions(view, policy, link, counters.actions))
    nested = {f"{link}/actions/stats": {"nestedStats": {"entries": actions}}} if actions else {}
    yield f"{link}/stats", {**built(values), **nested}


def _actions(view: View, policy: Obj, link: str, counted: dict[tuple[str, str], int]) -> Iterator[Entry]:
    for rule in rules_of(view.engine, policy):
        for action in view.engine.store.children(ACTIONS, rule.key.as_parent):
            times = counted.get((rule.name, action.name), 0)
            values: dict[str, object] = {
                "action": tmsh(one_of(action.props, VERBS)), "invoked": times, "ruleName": rule.name,
                "succeeded": times, "tmTarget": tmsh(one_of(action.props, TARGETS)),
                "actionId": int(action.name) if action.name.isdigit() else 0,
            }  # fmt: skip
            name = f"{link}/actions/{rule.name}:{action.name}/stats"
            yield name, {"nestedStats": {"entries": built(values)}}


SEVERAL: dict[str, Callable[[View, Obj], Iterator[Entry]]] = {
    "ltm/rule": rule_entries,
    "ltm/policy": policy_entries,
}
"""Types whose objects may have several entries, each under an address of its own."""
