"""A virtual server's policies, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.policies.checks import ACTIONS, CONDITIONS, parts_of, rules_of
from icontrol_emulator.config.policies.parts import one_of
from icontrol_emulator.config.policies.vocabulary import ALL_OPERATORS, EVENTS, OPERANDS, TARGETS, VERBS, Kind
from icontrol_emulator.config.rules.policy import POLICY
from icontrol_emulator.config.rules.virtual import POLICIES

PROGRAMS_MAX = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    operand: str
    selector: str
    operator: str
    kind: Kind
    event: str
    negated: bool
    sensitive: bool
    values: tuple[str, ...]
    group: str
    """Path of the data group whose records are compared, empty if none is."""
    name: str
    index: int
    local: bool
    """Whether the address or port is that of the virtual server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    number: str
    target: str
    verb: str
    event: str
    props: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]

    @property
    def event(self) -> str:
        """When all of the rule's conditions are known; without conditions, when its first action is due."""
        if self.conditions:
            return max((each.event for each in self.conditions), key=EVENTS.index)
        return min((each.event for each in self.actions), key=EVENTS.index, default=EVENTS[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    path: str
    strategy: str
    rules: tuple[Rule, ...]


class Programs:
    """The programs of virtual servers, each made once for a state of the configuration."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, tuple[int, tuple[Program, ...]]] = {}

    def of(self, virtual: Obj) -> tuple[Program, ...]:
        generation = self._engine.store.generation
        known = self._known.get(virtual.key.path)
        if known is not None and known[0] == generation:
            return known[1]
        if len(self._known) >= PROGRAMS_MAX:
            self._known.clear()
        attached = self._engine.store.children(POLICIES, virtual.key.path)
        found = tuple(program for each in attached if (program := _program(self._engine, each.key.path)) is not None)
        self._known[virtual.key.path] = (generation, found)
        return found


def _program(engine: Engine, path: str) -> Program | None:
    policy = engine.store.get(Key(POLICY, "", path))
    if policy is None:
        return None
    strategy = str(engine.props(policy).get("strategy")).rpartition("/")[2]
    return Program(path=path, strategy=strategy, rules=tuple(_rule(engine, rule) for rule in rules_of(engine, policy)))


def _rule(engine: Engine, rule: Obj) -> Rule:
    actions = sorted(engine.store.children(ACTIONS, rule.key.as_parent), key=lambda part: part.name.zfill(10))
    return Rule(
        name=rule.name,
        conditions=tuple(_condition(props) for props in parts_of(engine, rule, CONDITIONS)),
        actions=tuple(_action(part.name, engine.props(part)) for part in actions),
    )


def _condition(props: Mapping[str, Any]) -> Condition:
    operand = one_of(props, OPERANDS)
    selector = one_of(props, OPERANDS[operand].selectors)
    return Condition(
        operand=operand, selector=selector, operator=one_of(props, ALL_OPERATORS),
        kind=OPERANDS[operand].selectors[selector], event=one_of(props, EVENTS), negated=bool(props.get("not")),
        sensitive=bool(props.get("caseSensitive")), values=tuple(props.get("values") or ()),
        group=str(props.get("datagroup") or ""), name=str(props.get("tmName") or ""), index=int(props.get("index", 0)),
        local=bool(props.get("local")),
    )  # fmt: skip


def _action(number: str, props: Mapping[str, Any]) -> Action:
    return Action(
        number=number, target=one_of(props, TARGETS), verb=one_of(props, VERBS), event=one_of(props, EVENTS),
        props=props,
    )  # fmt: skip
