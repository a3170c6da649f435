"""A whole system runs the same each time and in every interpreter: else a failure could not be looked into."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.system.test_removed_partitions import DEVICES, PairWorld, acts_elsewhere
from tests.virtual.fixtures import in_virtual_time
from tests.virtual.loop import VirtualLoop
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]


def run(directory: Path) -> str:
    """How often the loop turned and when it ended, of a takeover on a pair of BIG-IPs."""

    async def story() -> None:
        world = PairWorld(directory)
        async with emulated(*DEVICES) as emulator:
            world.rig, world.emulator = BigIpRig(emulator, "pair"), emulator
            await world.start(agents=2)
            load_balancer_id = await world.create("a")
            await eventually(lambda: world.active(load_balancer_id))
            owner = await world.acting(load_balancer_id)
            await world.kill(owner)
            await eventually(lambda: acts_elsewhere(world, load_balancer_id, owner))
            await world.rename(load_balancer_id, "taken over")
            await eventually(lambda: world.active(load_balancer_id))
            await world.close()
            await world.rig.close()

    loop = VirtualLoop()
    with in_virtual_time("story"), asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(story())
    return f"{loop.turns} turns until {loop.now!r}"


def run_elsewhere(directory: Path, hash_seed: str) -> str:
    """As :func:`run`, in a fresh interpreter that orders sets otherwise."""
    code = f"from pathlib import Path\nfrom tests.system.test_repeats import run\nprint(run(Path({str(directory)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_takeover_runs_the_same_every_time_and_in_every_interpreter(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    here = run(folders[0])
    assert run(folders[1]) == here
    assert run_elsewhere(folders[2], "4711") == here
