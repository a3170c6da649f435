"""Options have the values that oslo.config gives a process."""

from evenkeel.cli.config_import.ini_reading import read_ini
from evenkeel.cli.config_import.settings import SourceSettings


def test_references_are_replaced() -> None:
    found = SourceSettings(
        read_ini("[DEFAULT]\na = x$b.y\nb.y = 5\nc = ${b}${other.d}\nb = 1\ne = $$b\nf = 1$2\n[other]\nd = $b\n")
    )
    assert [found.value("DEFAULT", name) for name in "cef"] == ["11", "$b", "1$2"]
    assert found.value("Other", "d") == "1" and not found.problems


def test_reference_without_a_value_is_a_problem_that_shows_none_of_it() -> None:
    found = SourceSettings(read_ini("[DEFAULT]\npassword = pa$word\ncircle = $circle\n"))
    assert not found.value("DEFAULT", "password") and not found.value("DEFAULT", "circle")
    assert set(found.problems) == {"password", "circle"} and "word;" not in found.problems["password"].partition(":")[2]


def test_values_that_mean_none_are_unset() -> None:
    found = SourceSettings(read_ini("[DEFAULT]\na =\nb = None\nc = '<None>'\nd = ''\ne = Nonesuch\n"))
    assert [found.value("DEFAULT", name) for name in "abcde"] == ["", "", "", "", "Nonesuch"]
