"""A wrong value of each option: refused with file, line, option and value, all in one readable screen."""

from pathlib import Path

import pytest
from oslo_config import cfg, types

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.processes import PROCESSES, process_options
from evenkeel.cmd.configuration.refusal import PRINTED_PROBLEMS_MAX, refusal_lines
from evenkeel.config.problems import ConfigurationRefused

LINE_MAX = 400
"""Characters: two or three lines of a terminal."""
WORD = "wrong-value"


def wrong_value(option: cfg.Opt) -> str | None:
    """A value that the type of the option excludes; None: its type takes any text."""
    kind = option.type
    if isinstance(kind, types.List):
        kind = kind.item_type
    numeric = isinstance(kind, types.Integer | types.Float | types.Port | types.Boolean)
    return WORD if numeric or getattr(kind, "choices", None) else None


def below(option: cfg.Opt) -> str | None:
    """A number below the range of the option; None: it is no number, or has no range."""
    least = getattr(option.type, "min", None)
    return None if least is None else str(least - 1)


CASES = [
    pytest.param(process, section, option, value, id=f"{process}-{section or 'DEFAULT'}.{option.dest}-{value}")
    for process in PROCESSES
    for section, options in process_options(process)
    for option in options
    for value in (wrong_value(option), below(option))
    if value is not None
]


def refused(process: str, file: Path) -> list[str]:
    """What a start says."""
    with pytest.raises(ConfigurationRefused) as refusal:
        load_configuration("test", ["--config-file", str(file)], groups=PROCESSES[process].groups)
    return list(refusal.value.problems)


@pytest.mark.parametrize(("process", "section", "option", "value"), CASES)
def test_a_wrong_value_is_reported_with_its_place_and_what_is_allowed(
    tmp_path: Path, process: str, section: str | None, option: cfg.Opt, value: str
) -> None:
    file = tmp_path / "some.ini"
    name = section or "DEFAULT"
    driver = f"device_driver = {section}\n" if section in {"bigip", "haproxy", "noop"} else ""
    head = f"[DEFAULT]\nhost = h\n{driver}" if process == "agent" else "[DEFAULT]\n"
    file.write_text(f"{head}[{name}]\n{option.dest} = {value}\n")
    (problem,) = refused(process, file)
    line = len(file.read_text().splitlines())
    assert problem.startswith(f"{file}:{line}: [{name}] {option.dest}: ")
    told = problem.removeprefix(f"{file}:{line}: [{name}] {option.dest}: ")
    assert value in told.partition(": ")[0] and len(told.partition(": ")[2]) > 3
    assert len(told) <= LINE_MAX and "\n" not in told


@pytest.mark.parametrize("process", PROCESSES)
def test_all_wrong_values_at_once_fit_a_screen(tmp_path: Path, process: str) -> None:
    file = tmp_path / "some.ini"
    wrong = {
        section or "DEFAULT": [option.dest for option in options if wrong_value(option)]
        for section, options in process_options(process)
        if section not in {"haproxy", "noop"}
    }
    file.write_text(
        "\n".join(
            line for name, options in wrong.items() for line in (f"[{name}]", *(f"{o} = {WORD}" for o in options))
        )
    )
    problems = refused(process, file)
    assert len(problems) == sum(len(options) for options in wrong.values())
    screen = refusal_lines("evenkeel", problems)
    assert len(screen) <= PRINTED_PROBLEMS_MAX + 2


@pytest.mark.parametrize(
    ("option", "hinted"),
    [
        ("url = http://u:pa$word@h", True),
        ("url = pa$", True),
        ("url = pa$$word", False),
        ("url = word", False),
        ("password = pa$word", True),
    ],
)
def test_refusal_of_a_value_with_a_dollar_explains_how_to_write_one(tmp_path: Path, option: str, hinted: bool) -> None:
    file = tmp_path / "some.ini"
    file.write_text(f"[DEFAULT]\n{option}\n")
    options = [cfg.URIOpt("url", help="Where."), cfg.StrOpt("password", secret=True, help="Whose.")]
    with pytest.raises(ConfigurationRefused) as refusal:
        load_configuration("some", ["--config-file", str(file)], groups={None: options})
    assert ("write $$ for a $" in str(refusal.value)) == hinted
    assert "pa$word" not in str(refusal.value) or option.startswith("url")
