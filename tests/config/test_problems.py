import pytest

from evenkeel.config.problems import ConfigurationRefused, Problems, problem_texts


def fail(text: str) -> int:
    raise ValueError(text)


def test_all_problems_are_raised_together_and_each_once() -> None:
    with pytest.raises(ConfigurationRefused) as refusal, Problems() as problems:
        assert problems.collect_from(lambda: 7) == 7
        problems.collect_from(lambda: fail("a: 1"))
        with pytest.raises(ConfigurationRefused) as inner, Problems() as nested:
            nested.collect_from(lambda: fail("b: 2"))
            nested.collect_from(lambda: fail("a: 1"))
        problems.found += problem_texts(inner.value)
    assert refusal.value.problems == ("a: 1", "b: 2")
    assert str(refusal.value) == "a: 1; b: 2"


def test_another_error_is_not_hidden() -> None:
    with pytest.raises(KeyError), Problems() as problems:
        problems.collect_from(lambda: fail("a: 1"))
        raise KeyError("x")


def test_nothing_found_is_nothing_raised() -> None:
    with Problems() as problems:
        assert problems.collect_from(lambda: "x") == "x"
    assert problem_texts(ValueError("plain")) == ("plain",)
