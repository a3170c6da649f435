"""Counters of iRules and policies, for their statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

from icontrol_emulator.dataplane.policies.program import Action

COUNTED_MAX = 100_000


@dataclass(slots=True)
class EventCounters:
    """One event of a rule: how often its handler ran, how often it ended with an error or by its limit, its steps."""

    executions: int = 0
    failures: int = 0
    aborts: int = 0
    steps: int = 0
    steps_min: int = 0
    steps_max: int = 0

    def ran(self, steps: int) -> None:
        self.steps_min = min(self.steps_min, steps) if self.executions else steps
        self.steps_max = max(self.steps_max, steps)
        self.steps += steps
        self.executions += 1


@dataclass(slots=True)
class PolicyCounters:
    """One policy: how often it was evaluated, and how often a rule matched."""

    invoked: int = 0
    succeeded: int = 0
    actions: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often each action ran, by rule and number."""


class ScriptCounters:
    """Counters by path, created on first use."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], EventCounters] = {}
        self._policies: dict[str, PolicyCounters] = {}

    def event(self, rule: str, event: str) -> EventCounters:
        if len(self._events) >= COUNTED_MAX:
            self._events.clear()
        return self._events.setdefault((rule, event), EventCounters())

    def policy(self, path: str) -> PolicyCounters:
        if len(self._policies) >= COUNTED_MAX:
            self._policies.clear()
        return self._policies.setdefault(path, PolicyCounters())

    def rule_ran(self, policy: str, *, matched: bool) -> None:
        counters = self.policy(policy)
        counters.invoked += 1
        counters.succeeded += matched

    def action_ran(self, policy: str, rule: str, action: Action) -> None:
        counted = self.policy(policy).actions
        counted[rule, action.number] = counted.get((rule, action.number), 0) + 1
