"""After the last fault, in the calm: devices lose what they hold, or go out of reach, and nothing else is wrong.

Then there is a bound to everything: what is shown must be true, and what is lost be back, within the time of some
looks.
No seed decides anything here but whether it happens.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.sim.device import Site
from tests.sim.scenario import SILENCE
from tests.sim.silence import fallen_silent
from tests.sim.verdict import missing, unrest, wanted
from tests.sim.world import World

WITHIN_SECONDS = 14.0
"""Two looks (4 s), a question in between, a hint and a pass. One look of those who look for themselves, and a tick."""

TOLD_SECONDS = 10.0
"""A device that says nothing is told of within this time, as ``docs/explanation/guarantees.md`` promises."""


async def aftermath(world: World) -> None:
    """What the kinds of faults of the run ask for."""
    kinds = world.scenario.kinds
    if "device restored" in kinds:
        for lost in (all_of_a_group, one_of_a_pair):
            await _lose(world, lost)
    if "device reboot" in kinds and world.scenario.driver == Site.driver:
        await _go_out_of_reach(world)
    if SILENCE in kinds:
        await _fall_silent(world)


def all_of_a_group(site: Site) -> list[Any]:
    """All of its devices."""
    return list(site.boxes)


def one_of_a_pair(site: Site) -> list[Any]:
    """Its second device, if it has one."""
    return list(site.boxes[1:])


async def _lose(world: World, which: Callable[[Site], list[Any]]) -> None:
    boxes = [(site, box) for site in world.sites.values() for box in which(site)]
    if not any(box.holds() for _, box in boxes):
        return
    world.note("wiped", *(box.name for _, box in boxes))
    held = {box.name: box.holds() for _, box in boxes}
    for site, box in boxes:
        site.wipe(box)

    def gone() -> Iterable[str]:
        if world.scenario.driver == Site.driver:
            return missing(world)
        there = wanted(world)  # what nobody wants any more does not come back
        return [
            f"{box.name} lacks {name} of {lb}"
            for _, box in boxes
            for now in (box.holds(),)
            for name, lb in held[box.name].items()
            if lb in there and name not in now
        ]

    await _must("put back what devices lost", world, lambda: [*gone(), *unrest(world)])


async def _go_out_of_reach(world: World) -> None:
    boxes = [box for site in world.sites.values() for box in site.boxes]
    world.note("out of reach", *(box.name for box in boxes))
    for box in boxes:
        box.reachable = False
    await _must("show that no device can be reached", world, lambda: _shown_otherwise(world))
    for box in boxes:
        box.reachable = True
    await _must("show what can be reached again", world, lambda: unrest(world))


async def _fall_silent(world: World) -> None:
    """All devices, then one of each pair: what is shown must be so within the promised time."""
    pairs = [(number, site.boxes[0]) for number, site in world.sites.items() if len(site.boxes) > 1]
    world.note("silent")
    with fallen_silent([box for site in world.sites.values() for box in site.boxes]):
        await _must("tell that no device answers", world, lambda: _shown_otherwise(world), TOLD_SECONDS)
    await _must("show what answers again", world, lambda: unrest(world))
    if not pairs:
        return
    world.note("silent", *(box.name for _, box in pairs))
    with fallen_silent([box for _, box in pairs]):
        await _must("tell that a device does not answer", world, lambda: _not_told(world, pairs), TOLD_SECONDS)
    await _must("show what answers again", world, lambda: unrest(world))


def _not_told(world: World, silent: Iterable[tuple[int, Any]]) -> Iterable[Any]:
    """Device groups that do not show the silent device as out of reach, and their load balancers shown as ONLINE."""
    for number, box in silent:
        yield from world.server.look(
            "SELECT number, reach, away_devices FROM device_group WHERE number = ? AND away_devices != ?",
            number,
            json.dumps([box.name]),
        )
        yield from world.server.look(
            "SELECT load_balancer.id, operating_status FROM load_balancer JOIN shard ON shard.id = shard_id"
            " WHERE shard.group_number = ? AND operating_status = 'ONLINE'",
            number,
        )


def _shown_otherwise(world: World) -> Iterable[Any]:
    return world.server.look(
        "SELECT id, operating_status, operating_reason FROM load_balancer WHERE shard_id IS NOT NULL"
        " AND (operating_status != 'OFFLINE' OR operating_reason NOT LIKE 'no device of %')"
    )


async def _must(
    what: str, world: World, amiss: Callable[[], Iterable[Any]], within_seconds: float = WITHIN_SECONDS
) -> None:
    """It is to happen in time, and stay so."""
    began, found = world.loop.now, list(amiss())
    while found and world.loop.now < began + within_seconds:
        await asyncio.sleep(0.5)
        found = list(amiss())
    world.note("took", what, world.loop.now - began)
    for each in found:
        world.watch.violation(f"nobody did {what} within {within_seconds:g} s: {each}")
