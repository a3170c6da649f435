"""Clients and members see of our load balancers what they see of Octavia's, but for what differs on purpose.

``python -m tests.equivalence.octavia --first SEED --definitions 1`` repeats one that was drawn, ``--tls TITLE`` a case
of :mod:`.tls_cases`.
"""

import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenkeel.core.service import ServiceDefinition
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY
from tests.devices.haproxy.configuration import HAPROXY
from tests.equivalence.octavia.chosen import DEFINITIONS, definitions
from tests.equivalence.octavia.compare import pair
from tests.equivalence.octavia.on_purpose import REASONS, reasons
from tests.equivalence.octavia.tls_cases import CASES
from tests.equivalence.verdict import shown
from tests.services.installation import NotInstallable

DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "differences.md"


pytestmark = pytest.mark.timeout(1800)  # much work, and never one wait


async def test_load_balancers_behave_as_octavias_or_differ_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = itertools.islice(definitions(), DEFINITIONS)
    wrong = await _unexplained({f"seed {seed}": tree for seed, tree in drawn}, monkeypatch)
    assert not wrong, "\n".join(wrong)


async def test_tls_of_load_balancers_is_octavias_or_differs_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = await _unexplained(CASES, monkeypatch)
    assert not wrong, "\n".join(wrong)


async def _unexplained(trees: Mapping[str, ServiceDefinition], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Differences without a reason, each with its load balancer."""
    if HAPROXY is None:
        pytest.skip("no haproxy on this machine")
    monkeypatch.setenv("EVENKEEL_TEST_HAPROXY", str(HAPROXY))  # the same for both
    wrong = []
    try:
        with tempfile.TemporaryDirectory(prefix="ek", dir=SHARED_MEMORY) as folder:
            async with pair(Path(folder)) as made:
                for title, tree in trees.items():
                    found = [one for one in await made.differences(tree) if not reasons(tree, one)]
                    wrong += [f"{title}: {one}\n  {shown(tree)}" for one in found]
    except NotInstallable as problem:
        pytest.skip(str(problem))
    return wrong


def test_reasons_are_documented() -> None:
    rows = DOCUMENTED.read_text().partition("### Traffic")[2].partition("\n### ")[0].splitlines()
    assert sum(row.startswith("| ") for row in rows) - 1 == len(REASONS)
