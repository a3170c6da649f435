"""Checks that database, agents and devices agree on ownership and configuration. Pure."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

Row = Mapping[str, Any]


def ownership_violations(agents: Iterable[Row], shards: Iterable[Row]) -> list[str]:
    """Return a text for each violation of "every shard has exactly one live agent, and that agent reports
    it".

    ``agents`` and ``shards`` as the operators' API lists them: an agent's ``serving`` is from its last state
    report, a shard's ``acting_agent_id`` and ``epoch`` are the database's.
    """
    by_id = {agent["id"]: agent for agent in agents}
    table = {(shard["id"], shard["epoch"]): shard["acting_agent_id"] for shard in shards}
    problems = []
    for (shard_id, epoch), acting in table.items():
        if acting is None:
            problems.append(f"shard {shard_id} has no acting agent")
        elif acting not in by_id or not by_id[acting]["alive"]:
            problems.append(f"shard {shard_id} is assigned to {acting}, which is not alive")
        elif (shard_id, epoch) not in _served_shards(by_id[acting]):
            problems.append(f"{by_id[acting]['host']} does not report that it serves shard {shard_id} at epoch {epoch}")
    for agent in by_id.values():
        for shard_id, epoch in sorted(_served_shards(agent)):
            if table.get((shard_id, epoch)) != agent["id"]:
                problems.append(
                    f"{agent['host']} reports that it serves shard {shard_id} at epoch {epoch}, which is not its own"
                )
    return problems


def _served_shards(agent: Row) -> set[tuple[str, int]]:
    """Return (id, epoch) of the shards that the agent last reported; none for an agent that is not alive."""
    return {(item["shard_id"], item["epoch"]) for item in agent["serving"]} if agent["alive"] else set()


def unsettled_object_texts(objects: Iterable[Row]) -> list[str]:
    """Return a text for each object whose provisioning status is not ACTIVE."""
    return [
        f"{item.get('name') or item['id']} is {item['provisioning_status']}"
        for item in objects
        if item["provisioning_status"] != "ACTIVE"
    ]


def member_differences(held: Mapping[str, Set[str]], wanted_members: Set[str]) -> list[str]:
    """Return a text for each device and kind of difference: missing members, surplus members. ``held``:
    members by device, ``wanted_members``: expected members, both as ``address:port``.
    """
    problems = []
    for device, members in held.items():
        if lacking := wanted_members - members:
            problems.append(f"{device} lacks {', '.join(sorted(lacking))}")
        if extra := members - wanted_members:
            problems.append(f"{device} still holds {', '.join(sorted(extra))}")
    return problems
