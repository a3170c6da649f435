"""The counter of assertions sees each kind once, and nothing else."""

from tests.tiers.assertions import COLUMNS, counted

SOURCE = """
import pytest
from unittest.mock import Mock

async def test_a():
    assert 1, "text"
    with pytest.raises(ValueError, match="x"):
        int("x")

def helper(mock: Mock):
    mock.assert_called_once()
    assert all(one for one in [1])
    if not mock:
        pytest.fail("assert this")
    mock.raises(ValueError)

class TestB:
    def test_b(self):
        with pytest.warns(UserWarning):
            pass
"""


def test_every_kind_of_assertion_is_counted_where_it_is_written() -> None:
    found = counted([SOURCE, "x = 'assert'\n"])
    assert [found[column] for column in COLUMNS] == [2, 2, 2, 1, 1, 1, 1]
