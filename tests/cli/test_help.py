"""The help: every command once, in a group, nothing cut."""

import pytest

from evenkeel.cli.help import COMMAND_GROUPS, HIDDEN_COMMANDS
from evenkeel.cli.main import COMMANDS
from evenkeel.cmd.configuration.commands import COMMANDS as LOCAL_COMMANDS
from evenkeel.core.control.acts import first_clause
from tests.cli.conftest import Run
from tests.cli.stub import Stub


def test_every_command_is_in_one_group() -> None:
    grouped = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(grouped) == sorted({*COMMANDS, *LOCAL_COMMANDS, "help"} - HIDDEN_COMMANDS)


@pytest.mark.parametrize("words", [("--help",), ("help",)])
def test_the_help_begins_with_five_commands_and_fits_80_columns(
    words: tuple[str, ...], evenkeel: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = evenkeel(*words)
    _, _, first, second, *_ = ran.out.split("\n\n")
    assert [line[2:30].strip() for line in first.splitlines()[1:] if line[2] != " "] == list(COMMAND_GROUPS["First"])
    assert second.startswith("Load balancers:")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert not any(f"\n  {name} " in ran.out for name in HIDDEN_COMMANDS) and "Others:" not in ran.out
    assert "EVENKEEL_ENDPOINT" in ran.out


@pytest.mark.parametrize(
    ("description", "first"),
    [
        ("List\nagents; none if lost.", "List agents"),
        ("Take over a.b.c: all of it.", "Take over a.b.c"),
        ("Show it", "Show it"),
    ],
)
def test_a_summary_is_the_first_clause(description: str, first: str) -> None:
    assert first_clause(description) == first


@pytest.mark.parametrize(
    ("typed", "like"),
    [
        (("agent", "lst", "--long"), "'agent lst'; did you mean agent list"),
        (("lb", "list"), "'lb list'; did you mean loadbalancer list"),
        (("subnet",), "'subnet'; did you mean subnet create, subnet delete, subnet list, subnet set?"),
        (("qwerty",), "'qwerty'; 'evenkeel --help'"),
    ],
)
def test_unknown_command_is_refused_with_those_like_it(
    stub: Stub, evenkeel: Run, typed: tuple[str, ...], like: str
) -> None:
    ran = evenkeel(*typed)
    assert ran.code == 2 and f"there is no command {like}" in ran.err
    assert not stub.asked
