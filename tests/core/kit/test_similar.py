"""Names that are suggested for an unknown one."""

import pytest

from evenkeel.core.kit.similar import similar_names


@pytest.mark.parametrize(
    ("name", "names", "found"),
    [
        ("websit", ["mail", "website"], ["website"]),
        ("AGENT", ["agent", "shard"], ["agent"]),
        ("list", ["last", "lost", "list"], ["list", "lost", "last"]),
        ("x", ["mail", ""], []),
    ],
)
def test_similar_names_come_best_first_and_in_any_case(name: str, names: list[str], found: list[str]) -> None:
    assert similar_names(name, names) == found


def test_number_of_similar_names_is_limited() -> None:
    assert similar_names("name1", [f"name{number}" for number in range(9)], most=2) == ["name1", "name8"]
