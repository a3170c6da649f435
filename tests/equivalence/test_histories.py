"""HAProxys with a history behave as those that begin from nothing.

A failure prints the history and what was different; ``python -m tests.equivalence --seed SEED --shrink`` repeats it.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.equivalence.history import draw
from tests.equivalence.host import possible_here
from tests.equivalence.trial import Rig, rig

SEEDS = tuple(map(str, range(1, 11)))


class Trials(NamedTuple):
    """A rig in an event loop of its own, for all tests of this module."""

    loop: asyncio.Runner
    rig: Rig


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY_DIR) as folder, asyncio.Runner() as loop:
        context = rig(Path(folder))
        made = loop.run(context.__aenter__())
        try:
            yield Trials(loop, made)
        finally:
            loop.run(context.__aexit__(None, None, None))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_haproxy_with_a_history_equals_a_new_one(trials: Trials, seed: str) -> None:
    verdict = trials.loop.run(trials.rig.run(draw(seed, possible_here())))
    assert not verdict.differences, f"repeat with python -m tests.equivalence --seed {seed}\n{verdict}"
