"""Clients and members see of our load balancers what they see of Octavia's, but for what differs on purpose.

``python -m tests.equivalence.octavia --first SEED --definitions 1`` repeats one that was drawn, ``--tls TITLE`` a case
of :mod:`.tls_cases`.
"""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR
from tests.devices.haproxy.configuration import HAPROXY
from tests.equivalence.octavia.chosen import DEFINITIONS, definitions
from tests.equivalence.octavia.compare import Pair, pair
from tests.equivalence.octavia.on_purpose import REASONS, reasons
from tests.equivalence.octavia.tls_cases import CASES
from tests.equivalence.verdict import shown
from tests.services.installation import NotInstallable

DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "differences.md"


class Compared(NamedTuple):
    """A HAProxy with our configurations and one with Octavia's, in an event loop of their own, for all tests here."""

    loop: asyncio.Runner
    pair: Pair

    def unexplained(self, tree: ServiceDefinition) -> list[str]:
        """Differences of one load balancer that have no reason."""
        return [one for one in self.loop.run(self.pair.differences(tree)) if not reasons(tree, one)]


@pytest.fixture(scope="module")
def compared() -> Iterator[Compared]:
    if HAPROXY is None:
        pytest.skip("no haproxy on this machine")
    with (
        pytest.MonkeyPatch.context() as environment,
        tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY_DIR) as folder,
        asyncio.Runner() as loop,
    ):
        environment.setenv("EVENKEEL_TEST_HAPROXY", str(HAPROXY))  # the same for both
        context = pair(Path(folder))
        try:
            made = loop.run(context.__aenter__())
        except NotInstallable as problem:
            pytest.skip(str(problem))
        try:
            yield Compared(loop, made)
        finally:
            loop.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def drawn() -> list[tuple[int, ServiceDefinition]]:
    """Seeds and load balancers; not drawn when tests are collected, which every process does."""
    return list(itertools.islice(definitions(), DEFINITIONS))


@pytest.mark.parametrize("number", range(DEFINITIONS))
def test_a_load_balancer_behaves_as_octavias_or_differs_on_purpose(
    compared: Compared, drawn: list[tuple[int, ServiceDefinition]], number: int
) -> None:
    seed, tree = drawn[number]
    wrong = compared.unexplained(tree)
    assert not wrong, "\n".join([f"seed {seed}", *wrong, shown(tree)])


@pytest.mark.parametrize("title", CASES)
def test_tls_of_a_load_balancer_is_octavias_or_differs_on_purpose(compared: Compared, title: str) -> None:
    wrong = compared.unexplained(CASES[title])
    assert not wrong, "\n".join([*wrong, shown(CASES[title])])


def test_reasons_are_documented() -> None:
    rows = DOCUMENTED.read_text().partition("### Traffic")[2].partition("\n### ")[0].splitlines()
    assert sum(row.startswith("| ") for row in rows) - 1 == len(REASONS)
