"""Each view names the command and the request that say the same; both must be there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from evenkeel.api.app import ROUTES
from evenkeel.cli.main import COMMANDS

VIEWS = sorted((Path(__file__).parents[3] / "ui" / "src" / "views").glob("*.js"))
COMMAND = re.compile(r'command="evenkeel ([^"]+)"')
REQUEST = re.compile(r"@API(/[^\"`?\s]+)")
EACH_VIEW = pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.stem)


def text_of(view: Path) -> str:
    """Its source, with the API's address as @API and other values as stars."""
    return re.sub(r"\$\{[^{}<]+\}", "*", view.read_text().replace("${OPERATORS}", "@API"))


def test_every_view_names_them() -> None:
    assert [view.stem for view in VIEWS if "<${Also}" not in view.read_text()] == ["login"]


@EACH_VIEW
def test_the_commands_are_those_of_the_command_line(view: Path) -> None:
    for said in COMMAND.findall(text_of(view)):
        words = re.split(r" (?:\*|--)", said)[0]
        assert any(command == words or command.startswith(f"{words} ") for command in COMMANDS), said


@EACH_VIEW
def test_the_requests_are_served(view: Path) -> None:
    served = {
        re.sub(r"\{[^}]*\}", "*", prefix + operation.path)
        for route_map in ROUTES
        for operation in route_map.operations
        for prefix in route_map.prefixes
    }
    for path in REQUEST.findall(text_of(view)):
        assert any(fnmatch(route, f"/evenkeel/v1{path}") for route in served), path
