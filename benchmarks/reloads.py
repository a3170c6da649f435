"""Which changes of load balancers reload HAProxy: ``python -m benchmarks.reloads [--changes 1000] [--release 2.6 …]``.

Draws random changes as ``tests/equivalence`` does, each of one attribute or one object of two load balancers of a
tenant, with every feature of HAProxy hosts in use, and has the daemon plan each (pure: no process is started). A change
that devices do not see (such as the name of a pool) does not count. Prints a markdown table: for each release of
HAProxy the number of reloads, then the changes and reloads by kind and attribute.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd.haproxy.binary import HaproxyBinary
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.live_policies import LivePolicies
from evenkeel.haproxyd.haproxy.config.loaded import remove_unused_backends
from evenkeel.haproxyd.haproxy.runtime.plan import RuntimePlan, plan_change
from tests.equivalence import definitions as d
from tests.equivalence import history as h
from tests.equivalence.host import HAPROXY

RELEASES = ("2.6", "2.8", "3.2", "3.4")
STEPS_A_HISTORY = 40
SEED = "reloads"


class Drawn(NamedTuple):
    """One change and its plan."""

    kind: str
    plan: RuntimePlan


def binary(release: str) -> HaproxyBinary:
    """A HAProxy of this branch, at a patch level that has all its features."""
    major, minor = release.split(".")
    return HaproxyBinary(path=Path("haproxy"), version=f"{release}.99", release=(int(major), int(minor)))


def configuration(trees: Mapping[str, ServiceDefinition]) -> HaproxyConfig:
    """What HAProxy is to run for these load balancers."""
    found = (render_load_balancer(d.certified(tree), d.CONTENTS).load_balancer for tree in trees.values())
    return HaproxyConfig(load_balancers={one.id: remove_unused_backends(one) for one in found if one is not None})


def kind_of(edit: h.Edit, trees: h.Trees) -> str:
    """Kind of object, and the attribute or what happens to it."""
    if isinstance(edit, h.Set):
        part = d.find(trees[edit.load_balancer_id], edit.part_id) if edit.part_id else None
        kind = d.KIND_OF[type(part)] if part else "load balancer"
        changed = sorted(name for name, value in edit.values.items() if getattr(part, name, None) != value)
        return f"{kind}: {', '.join(changed or edit.values)}"
    if isinstance(edit, h.Add):
        return f"{d.KIND_OF.get(type(edit.part), 'load balancer')} added"
    part = d.find(trees[edit.load_balancer_id], edit.part_id) if edit.part_id else None
    return f"{d.KIND_OF[type(part)] if part else 'load balancer'} removed"


def histories(seed: str, steps: int) -> Iterator[h.History]:
    """Histories of single changes, without end."""
    device = HAPROXY._replace(happens=(("change", 1),), riders=False)
    number = 0
    while True:
        yield h.draw(f"{seed}-{number}", device, steps=steps)
        number += 1


def changes(seed: str, count: int, release: str) -> Iterator[Drawn]:
    """So many changes that reach the device, each with its plan."""
    made = 0
    for history in histories(seed, STEPS_A_HISTORY):
        trees, running, live = history.first, configuration(history.first), LivePolicies()
        for step in history.steps:
            for edit in step.edits if isinstance(step, h.Change) else ():
                before, kind, trees = trees, kind_of(edit, trees), edit.on(trees)
                wanted = configuration(trees)
                if any(tree is not before.get(name) for name, tree in trees.items()) or len(trees) < len(before):
                    planned = plan_change(running, wanted, binary(release), frozenset(), live=live)
                    live = planned.live  # none after a reload
                    yield Drawn(kind, planned)
                    made += 1
                if made == count:
                    return
                running = wanted


def table(found: Mapping[str, list[Drawn]]) -> Iterator[str]:
    """Lines of the table, the kinds with most reloads first."""
    yield "| change | changes | " + " | ".join(f"reloads, {release}" for release in found) + " |"
    yield "|---|---|" + "---|" * len(found)
    every = next(iter(found.values()))
    number = Counter(one.kind for one in every)
    reloads = {release: Counter(one.kind for one in drawn if one.plan.reason) for release, drawn in found.items()}
    yield f"| all | {len(every)} | " + " | ".join(str(each.total()) for each in reloads.values()) + " |"
    for kind in sorted(number, key=lambda kind: (-max(each[kind] for each in reloads.values()), kind)):
        yield f"| {kind} | {number[kind]} | " + " | ".join(str(each[kind]) for each in reloads.values()) + " |"


async def run(count: int, seed: str, releases: list[str]) -> None:
    """Draw and print."""
    print("\n".join(table({release: list(changes(seed, count, release)) for release in releases})), flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--release", nargs="+", default=list(RELEASES), choices=RELEASES)
    options = parser.parse_args()
    asyncio.run(run(options.changes, options.seed, options.release))


if __name__ == "__main__":
    main()
