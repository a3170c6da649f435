import pytest

from evenkeel.core.kit.names import is_environment_name


@pytest.mark.parametrize("name", ["a", "dev", "Project", "9", "dev_a-b", "x" * 64])
def test_letters_digits_dashes_and_underscores_make_a_name(name: str) -> None:
    assert is_environment_name(name)


@pytest.mark.parametrize("name", ["", "-a", "_a", "a b", "a/b", "a.b", "é", "a\n", "x" * 65])
def test_anything_else_does_not(name: str) -> None:
    assert not is_environment_name(name)
