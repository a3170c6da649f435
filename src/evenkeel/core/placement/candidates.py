"""Whose shards may need a step: what a database can look for by index, without a word about single shards.

Agents are few and shards many. A shard for which :mod:`.shards` has a step names an agent in one of these lists, in the
way the list says; a shard that does so need not have one, so whoever looks for them asks the rule again.
"""

from evenkeel.core.placement.shards import Rule, min_id
from evenkeel.core.placement.views import GroupSnapshot
from evenkeel.core.values import Value


class Candidates(Value):
    """Ids of agents by what is to be looked for."""

    not_acting: tuple[str, ...] = ()
    """Nobody serves the shards whose acting agent it is."""
    takeable: tuple[str, ...] = ()
    """Somebody can take the unserved shards whose home it is."""
    leaving: tuple[str, ...] = ()
    """Shards are to leave it as their acting agent."""
    returning: tuple[str, ...] = ()
    """Shards that are served elsewhere are to return to it as their home."""
    movable: tuple[str, ...] = ()
    """Shards that it should have released long ago may be taken from it."""
    not_receiving: tuple[str, ...] = ()
    """Handovers to it come to nothing."""


def candidates(group: GroupSnapshot) -> Candidates:
    """Of a device group's agents and settings; its shards are not looked at."""
    rule = Rule(group, min_id)
    fit, movable = rule.loads.fit, rule.fixed() is None and bool(rule.loads.fit)
    agents = rule.agents.values()
    return Candidates(
        not_acting=tuple(agent.id for agent in agents if not agent.acts),
        takeable=tuple(agent.id for agent in agents if agent.acts or (fit and rule.tied_to_home(agent) is None)),
        leaving=tuple(agent.id for agent in agents if movable and agent.acts and agent.id not in fit),
        returning=tuple(agent.id for agent in agents if rule.keeps_from_home(agent.id) is None),
        movable=tuple(agent.id for agent in agents if movable),
        not_receiving=tuple(agent.id for agent in agents if not agent.eligible),
    )
