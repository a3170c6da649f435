import pytest

from evenkeel.core.resources.operator_irules import PER_LISTENER_MAX, irules_problem


@pytest.mark.parametrize(
    "paths",
    [[], ["/Common/headers"], ["/Common/web/headers", "/dev_a3f1c2/x.y_z-1"]],
)
def test_paths_of_irules_are_taken(paths: list[str]) -> None:
    assert irules_problem(paths) == ""


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["headers"], "a path like /Common/name"),
        (["/Common/a b"], "a path like /Common/name"),
        (["/Common/a\n"], "a path like /Common/name"),
        (["/a/b/c/d"], "a path like /Common/name"),
        ([f"/Common/{'x' * 255}"], "a path like /Common/name"),
        (["/Common/a", "/Common/a"], "named twice"),
        ([f"/Common/r{number}" for number in range(PER_LISTENER_MAX + 1)], f"at most {PER_LISTENER_MAX} are allowed"),
    ],
)
def test_other_texts_and_too_many_irules_are_refused_with_what_is_allowed(paths: list[str], reason: str) -> None:
    assert reason in irules_problem(paths)
