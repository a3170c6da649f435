"""After the last fault, in the calm: devices lose what they hold, or go out of reach, and nothing else is wrong.

Then there is a bound to everything: what is shown must be true, and what is lost be back, within the time of some
looks.
No seed decides anything here but whether it happens.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from tests.sim.device import Site
from tests.sim.verdict import missing, unrest, wanted
from tests.sim.world import World

WITHIN_SECONDS = 14.0
"""Two looks (4 s), a question in between, a hint and a pass. One look of those who look for themselves, and a tick."""


async def aftermath(world: World) -> None:
    """What the kinds of faults of the run ask for."""
    kinds = world.scenario.kinds
    if "device restored" in kinds:
        for lost in (all_of_a_group, one_of_a_pair):
            await _lose(world, lost)
    if "device reboot" in kinds and world.scenario.driver == Site.driver:
        await _go_out_of_reach(world)


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


def _shown_otherwise(world: World) -> Iterable[Any]:
    return world.server.look(
        "SELECT id, operating_status, operating_reason FROM load_balancer WHERE shard_id IS NOT NULL"
        " AND (operating_status != 'OFFLINE' OR operating_reason NOT LIKE 'no device of %')"
    )


async def _must(what: str, world: World, amiss: Callable[[], Iterable[Any]]) -> None:
    """It is to happen in time, and stay so."""
    began, found = world.loop.now, list(amiss())
    while found and world.loop.now < began + WITHIN_SECONDS:
        await asyncio.sleep(0.5)
        found = list(amiss())
    for each in found:
        world.watch.violation(f"nobody did {what} within {WITHIN_SECONDS:g} s: {each}")
