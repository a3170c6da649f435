"""What must be so in the end: when all faults are over and everything has come to rest."""

import json
import re
from collections.abc import Iterable
from typing import Any

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition, service_definition_of_tree
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, Member, Pool
from evenkeel.core.resources.statuses import RescheduleMode
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.rows import NO_NETWORK_ID
from tests.sim import networks
from tests.sim.clients import Client, Thing
from tests.sim.database import FIRST_HISTORY
from tests.sim.device import Site
from tests.sim.scenario import DRIFT, SILENCE
from tests.sim.world import World

TABLES = {
    LoadBalancer: "load_balancer",
    Listener: "listener",
    Pool: "pool",
    Member: "member",
    HealthMonitor: "health_monitor",
}

UNREST = {
    "not ACTIVE": """SELECT id, provisioning_status, status_reason, revision, applied_revision FROM load_balancer
        WHERE provisioning_status != 'ACTIVE' OR revision != applied_revision""",
    "child not ACTIVE": " UNION ALL ".join(
        f"SELECT '{name}', id, provisioning_status FROM {name} WHERE provisioning_status != 'ACTIVE'"
        for name in ("listener", "pool", "member", "health_monitor")
    ),
    "agent not live": """SELECT id, host FROM agent WHERE session_id IS NULL
        OR session_expires_at < (julianday('now') - 2440587.5) * 86400.0""",
    "shard not served": """SELECT shard.id, project_id, epoch FROM shard LEFT JOIN agent ON agent.id = acting_agent_id
        WHERE agent.session_id IS NULL OR handover_to IS NOT NULL
        OR agent.session_expires_at < (julianday('now') - 2440587.5) * 86400.0""",
    "agent drained": "SELECT id FROM agent WHERE NOT admin_state_up OR forced_down",
    "hand-back forbidden": "SELECT name FROM environment WHERE failback != 'auto'",
    "breaker open": "SELECT name FROM environment WHERE halted_at IS NOT NULL",
}

NOT_SHOWN_AS_SERVED = """SELECT id, operating_status, operating_reason FROM load_balancer
    WHERE (operating_status != 'ONLINE' OR operating_reason != '') AND NOT deleted AND vip_network_id != ''"""

OUT_OF_REACH = "SELECT number, reach, away_devices FROM device_group WHERE reach != 'reached' OR away_devices != '[]'"

LOSSES = DRIFT | {"database loses commits"}
"""Kinds of faults after which devices may not hold what is expected."""

GOING_AWAY = {"device reboot", SILENCE}
"""Kinds of faults in which a device does not answer for a while and keeps what it holds."""

ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

AWAY = "SELECT id, project_id, epoch FROM shard WHERE acting_agent_id != home_agent_id"
"""Shards that are to go home, where they may move at all."""


def unrest(world: World) -> list[str]:
    """What is still to be done; empty when all is quiet."""
    found = [f"{what}: {row}" for what, sql in UNREST.items() for row in world.server.look(sql)]
    if world.scenario.reschedule is RescheduleMode.CONTROL:
        found += [f"shard away from home: {row}" for row in world.server.look(AWAY)]
    found += [f"not in reach: {row}" for row in world.server.look(OUT_OF_REACH)]
    if world.scenario.driver == Site.driver:
        found += [f"not shown as served: {row}" for row in world.server.look(NOT_SHOWN_AS_SERVED)]
    found += [f"not running: {life.name}" for life in world.lives if not life.up]
    known = world.server.look("SELECT count(*) FROM agent")[0][0]
    if known < len(world.agents):
        found.append(f"only {known} of {len(world.agents)} agents have registered")
    found += [what for site in world.sites.values() for what in site.unfinished()]
    if world.scenario.networks:
        found += networks.unrest(world)
    return found + [f"guard not moved: {what}" for what in _old_guards(world)]


def forget_unknown(world: World) -> None:
    """Judge nothing that devices hold of tenants of whom nobody can know, nor what has to stay as long as they do: the
    networks that they share with others. An agent finds such partitions when it starts or looks at everything."""
    for number, site in world.sites.items():
        site.forget(_unknown(world, number))


def undone(world: World) -> list[str]:
    """Work that agents have yet to do, also such as no row shows: a complete pass that failed is tried again later."""
    return [f"{life.name} has work waiting" for life in world.lives if life.up and life.agent and life.agent.busy]


def _old_guards(world: World) -> Iterable[str]:
    """Owners that the devices do not know yet: as when a registration of a process that has ended opened a session.
    Where there is nothing to hold, nobody finds out before the next change."""
    for number, project_id, epoch in world.server.look(
        "SELECT DISTINCT group_number, shard.project_id, epoch FROM shard JOIN load_balancer ON shard_id = shard.id"
        f" WHERE vip_network_id != '{NO_NETWORK_ID}' AND vip_leaving_revision IS NULL AND NOT deleted"
    ):
        yield from world.sites[number].old_guards(project_id, epoch)
    for number, epoch in world.server.look(
        "SELECT DISTINCT group_number, epoch FROM shard JOIN common_network ON shard_id = shard.id"
    ):
        yield from world.sites[number].old_guards(COMMON_PROJECT, epoch)


async def judge(world: World, clients: Iterable[Client]) -> None:
    """Tell the watch of everything that is not as it must be."""
    stored = _definitions(world)
    forget_unknown(world)
    for number, site in world.sites.items():
        held = {id_: service for id_, service in stored[number].items() if not service.deleted}
        wanted = _batches(world, number, stored[number])
        if world.scenario.networks and (common := networks.batch(world, number)) is not None:
            wanted.append(common)
        await site.judge(wanted, held)
        if not site.foreign_untouched(world.scenario.projects):
            world.watch.violation(f"somebody else's objects on the devices of group {number} were touched")
    for client in clients:
        _judge_client(world, client)
    if dead := world.effects.faults["message set aside"]:
        world.watch.violation(f"{dead} messages were set aside")
    if not world.server.losses and world.server.look("SELECT id FROM history") != [(FIRST_HISTORY,)]:
        world.watch.violation("a new history began, and no commit was lost")
    for error in world.loop.errors:
        world.watch.violation(f"asyncio: {error}")


# -- alarms


def false_alarms(world: World) -> Iterable[str]:
    """What was called absent although no device lost anything and nobody touched one. A device that went away while
    others were written comes back with less than these, which may be away by then: what no device in reach had is
    rightly called absent."""
    kinds = set(world.scenario.kinds)
    if world.scenario.driver != Site.driver or world.scenario.replaced or LOSSES & kinds:
        return
    come_back_with_less = bool(GOING_AWAY & kinds) and any(boxes > 1 for boxes in world.scenario.boxes)
    absent = {lb for site in world.sites.values() for lb in site.unseen} if come_back_with_less else set()
    for (text,) in world.server.look("SELECT text FROM event WHERE kind = 'load_balancer_absent'"):
        named = set(ID.findall(text))
        if not named or named - absent:
            yield f"called absent, and nothing was lost: {text}"


# -- the devices


def missing(world: World) -> Iterable[str]:
    """What devices that can be reached do not hold as the store says."""
    forget_unknown(world)
    for number, stored in _definitions(world).items():
        wanted = {lb: service for lb, service in stored.items() if not service.deleted}
        for box in world.sites[number].boxes:
            if box.reachable and box.holds() != wanted:
                yield f"{box.name} holds {sorted(box.holds())}, not {sorted(wanted)}"


def _unknown(world: World, number: int) -> list[str]:
    """Tenants whose shard was lost together with the only process that knew of it: nobody can know of them any more.
    After another database took the place of this one, all tenants without a shard: their partitions are orphans."""
    if not world.server.losses:
        return []
    known = {project for (project,) in world.server.look("SELECT project_id FROM shard WHERE group_number = ?", number)}
    if world.scenario.replaced:
        return sorted({id_ for box in world.sites[number].boxes for id_ in box.memory.partitions} - known)
    return [
        project
        for (group, project), process in world.watch.writers.items()
        if group == number and project not in known and process.dead
    ]


def wanted(world: World) -> set[str]:
    """Load balancers that should be on devices."""
    found = _definitions(world).values()
    return {lb for stored in found for lb, service in stored.items() if not service.deleted}


def _definitions(world: World) -> dict[int, dict[str, ServiceDefinition]]:
    """What the store says should be on the devices of each group."""
    found: dict[int, dict[str, ServiceDefinition]] = {number: {} for number in world.sites}
    rows = world.server.look(
        "SELECT load_balancer.id, shard.group_number FROM load_balancer JOIN shard ON shard.id = shard_id"
    )
    projects = world.server.look("SELECT id, shard_id FROM load_balancer")
    if world.scenario.networks:
        for place in networks.places(world):
            ids = [lb for lb, project in projects if project == place.shard_id]
            found[place.group_number] |= networks.definitions(world, place, ids) if ids else {}
        return found
    trees = load_trees(world.server.connection, [row[0] for row in rows])
    world.server.connection.rollback()
    for row in rows:
        found[row[1]][row[0]] = service_definition_of_tree(trees[row[0]])
    return found


def _batches(world: World, number: int, stored: dict[str, ServiceDefinition]) -> list[PartitionBatch]:
    """What a complete pass over each tenant is told."""
    found = []
    for project_id, epoch, session_id in world.server.look(
        "SELECT project_id, epoch, session_id FROM shard LEFT JOIN agent ON agent.id = shard.acting_agent_id"
        " WHERE shard.group_number = ? AND project_id != '' ORDER BY project_id",
        number,
    ):
        services = tuple(stored[lb] for lb in sorted(stored) if stored[lb].project_id == project_id)
        found.append(
            PartitionBatch(
                project_id=project_id, epoch=epoch, session_id=session_id or "", services=services, complete=True
            )
        )
    return found


# -- the clients


def _judge_client(world: World, client: Client) -> None:
    for thing in client.things:
        row = _row(world, thing)
        for problem in _problems(thing, row):
            world.watch.violation(f"{thing.kind.__name__} {thing.id} of {client.root.id}: {problem}")


def _problems(thing: Thing, row: Any) -> Iterable[str]:
    if thing.deleted and row is not None and not _may_be_back(thing):
        yield f"its delete was acknowledged, and it is still there: {row}"
    if row is None and _must_be_there(thing):
        yield "it was acknowledged, and it is gone"
    if row is not None and not thing.deleted and row["name"] not in thing.names:
        yield f"its name is {row['name']!r}; acknowledged or unknown were {sorted(thing.names)}"


def _must_be_there(thing: Thing | None) -> bool:
    while thing is not None:
        if not thing.created or thing.deleted or thing.uncertain:
            return False
        thing = thing.parent
    return True


def _may_be_back(thing: Thing) -> bool:
    """Its create was unknown, so it may land after the delete."""
    return not thing.created


def _row(world: World, thing: Thing) -> dict[str, Any] | None:
    table = TABLES[thing.kind]
    rows = world.server.look(f"SELECT json_object('name', name) FROM {table} WHERE id = ?", thing.id)
    return json.loads(rows[0][0]) if rows else None
