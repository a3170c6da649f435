"""Local traffic policies with their rules, conditions and actions."""

from __future__ import annotations

from icontrol_emulator.config.policies.vocabulary import (
    ACTION_FLAGS,
    ACTION_NUMBERS,
    ACTION_TEXTS,
    CONDITION_PAIRS,
    CONDITION_PROPERTIES,
)
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.rules.policy import PolicyPartRules, PolicyRules
from icontrol_emulator.config.schema import Ref, Scope, TypeSpec, names

POLICY = TypeSpec(
    path="ltm/policy", word="policy", rules=PolicyRules(),
    defaults={"strategy": "/Common/first-match"},
    optional=names("controls requires legacy createDraft status publishCopy"),
    read_only=names("lastModified publishedCopy references"),
    refs=(Ref(name="strategy", family="ltm/policy-strategy"),),
    subs=("rules",),
)  # fmt: skip
RULES = TypeSpec(
    path="ltm/policy/rules", word="policy rule", owner="ltm/policy", scope=Scope.FLAT, rules=PolicyPartRules(),
    defaults={"ordinal": 0}, subs=("actions", "conditions"),
)  # fmt: skip
ACTIONS = TypeSpec(
    path="ltm/policy/rules/actions", word="policy action", owner="ltm/policy/rules", scope=Scope.FLAT,
    rules=PolicyPartRules(), defaults=ACTION_NUMBERS, optional=ACTION_FLAGS | ACTION_TEXTS, is_user=True,
    refs=(
        Ref(name="pool", family="ltm/pool"), Ref(name="node", family="ltm/node"),
        Ref(name="virtual", family="ltm/virtual"),
    ),
)  # fmt: skip
CONDITIONS = TypeSpec(
    path="ltm/policy/rules/conditions", word="policy condition", owner="ltm/policy/rules", scope=Scope.FLAT,
    rules=PolicyPartRules(), defaults={"index": 0}, optional=CONDITION_PROPERTIES, flags=CONDITION_PAIRS, is_user=True,
    # a mark that F5's agent for OpenStack (l7policy_adapter.py) sends with each condition
    read_only=names("not_regex"), refs=(Ref(name="datagroup", family="ltm/data-group"),),
)  # fmt: skip
STRATEGY = TypeSpec(
    path="ltm/policy-strategy", word="policy strategy", rules=BuiltInRules(), optional=names("operands"),
)  # fmt: skip

SPECS = [POLICY, RULES, ACTIONS, CONDITIONS, STRATEGY]
