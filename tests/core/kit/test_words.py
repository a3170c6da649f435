"""Numbers with their nouns."""

import pytest

from evenkeel.core.kit.words import count_with_noun


@pytest.mark.parametrize(
    ("count", "one", "several", "expected"),
    [
        (0, "shard", "", "0 shards"),
        (1, "shard", "", "1 shard"),
        (2, "shard", "", "2 shards"),
        (1, "agent is silent", "agents are silent", "1 agent is silent"),
        (3, "agent is silent", "agents are silent", "3 agents are silent"),
    ],
)
def test_a_noun_agrees_with_its_number(count: int, one: str, several: str, expected: str) -> None:
    assert count_with_noun(count, one, several) == expected
