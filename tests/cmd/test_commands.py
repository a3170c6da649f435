"""What each process needs is in its extra: no more is imported, and what is missing is told by name."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from evenkeel import __version__
from evenkeel.cmd import commands
from evenkeel.cmd.options import extras
from evenkeel.cmd.options.extras import DISTRIBUTION_NAME

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EMULATOR = tomllib.loads((ROOT / "packages" / "icontrol-emulator" / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

DECLARED = [*PROJECT["dependencies"], *EMULATOR["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]
"""Requirements of both distributions and of all extras."""

IMPORTS = """
import importlib, importlib.machinery, json, pkgutil, sys

allowed, rooms, others, module = json.loads(sys.argv.pop(1))

class OnlyOfTheExtra(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in allowed or top in sys.stdlib_module_names or top.startswith("_") or "__mypyc" in top:
            return super().find_spec(name, path, target)

kept = {*allowed, *sys.stdlib_module_names, "__main__"}
for name in [name for name in sys.modules if name.partition(".")[0] not in kept]:
    del sys.modules[name]
sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, OnlyOfTheExtra]
for room in rooms:
    package = importlib.import_module(room)
    for found in pkgutil.walk_packages(getattr(package, "__path__", ()), room + "."):
        if not found.name.startswith(tuple(others)):
            importlib.import_module(found.name)
sys.argv[1:] = ["--help"]
sys.exit(importlib.import_module(module).main())
"""
"""Imports whole rooms, because some imports happen late, and then runs ``--help``."""

SHARED = ["evenkeel.core", "evenkeel.config"]
OTHERS = (
    *("evenkeel.api.identity.keystone", "evenkeel.key_managers.barbican", "evenkeel.key_managers.vault"),
    "evenkeel.network.neutron",
    "evenkeel.store.migrations.",
)
"""Of extras of their own, and what only alembic imports."""
PROCESSES = {
    "cli": ("evenkeel.cmd.operators", ["evenkeel.cli"]),
    "agent": (
        "evenkeel.cmd.agent",
        ["evenkeel.agent", "evenkeel.bus", "evenkeel.devices", "evenkeel.metrics", "evenkeel.sealing", *SHARED],
    ),
    "controller": (
        "evenkeel.cmd.controller",
        [
            *("evenkeel.api", "evenkeel.bus", "evenkeel.controller", "evenkeel.key_managers", "evenkeel.network"),
            *("evenkeel.metrics", "evenkeel.sealing", "evenkeel.serving", "evenkeel.store", *SHARED),
        ],
    ),
    "haproxyd": ("evenkeel.cmd.haproxyd", ["evenkeel.haproxyd", "evenkeel.metrics", "evenkeel.serving", *SHARED]),
}
"""Extra -> main module, and the rooms of which it may import anything."""


def required(extra: str) -> set[str]:
    """The distributions that come with the extra, and with what they need, under their normal names."""
    return required_by(PROJECT["dependencies"] + EXTRAS[extra])


def required_by(lines: list[str]) -> set[str]:
    """The distributions that come with these requirements, under their normal names."""
    waiting = [Requirement(line) for line in lines]
    found: dict[str, set[str]] = {}
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not any(wanted.marker.evaluate({"extra": each}) for each in ("", *wanted.extras)):
            continue
        if name in found and found[name] >= wanted.extras:
            continue
        found[name] = found.get(name, set()) | wanted.extras
        if name == DISTRIBUTION_NAME:
            waiting += [Requirement(line) for each in wanted.extras for line in EXTRAS[each]]
            continue
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # of another platform
        for line in map(Requirement, lines):
            if not line.marker or any(line.marker.evaluate({"extra": each}) for each in ("", *wanted.extras)):
                line.marker = None
                waiting.append(line)
    return set(found)


def modules_of(names: set[str]) -> list[str]:
    """Modules at the top that these distributions have."""
    tops = packages_distributions().items()
    return sorted(top for top, owners in tops if any(canonicalize_name(owner) in names for owner in owners))


def run(
    extra: str, module: str, rooms: list[str], without: frozenset[str] | set[str] = frozenset()
) -> subprocess.CompletedProcess[str]:
    return run_with([*modules_of(required(extra) - without), "evenkeel"], module, rooms)


def run_with(modules: list[str], module: str, rooms: list[str]) -> subprocess.CompletedProcess[str]:
    """Import the rooms and run ``--help`` of a module, with nothing to import but these modules."""
    told = json.dumps([modules, rooms, OTHERS, module])
    return subprocess.run(
        [sys.executable, "-c", IMPORTS, told],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT / "src",
    )


@pytest.mark.parametrize("extra", PROCESSES)
def test_a_process_imports_nothing_but_what_its_extra_brings(extra: str) -> None:
    done = run(extra, *PROCESSES[extra])
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()


def test_the_emulator_imports_nothing_but_its_own_dependencies() -> None:
    modules = modules_of(required_by(EMULATOR["dependencies"]))
    done = run_with([*modules, "icontrol_emulator"], "icontrol_emulator.__main__", ["icontrol_emulator"])
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower() and "evenkeel" not in modules


def test_controllers_know_the_options_and_tables_of_drivers_without_an_agents_libraries() -> None:
    rooms = [f"evenkeel.devices.{driver}.capabilities" for driver in ("bigip", "haproxy", "noop")]
    done = run("controller", "evenkeel.cmd.users", rooms, without={"aiohttp"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("extra", "module"), [("controller", "users"), ("agent", "rabbitmq"), ("controller", "rabbitmq")]
)
def test_the_lesser_commands_work_with_the_extras_that_they_name(extra: str, module: str) -> None:
    done = run(extra, f"evenkeel.cmd.{module}", [])
    assert done.returncode == 0, done.stderr


def test_an_haproxy_host_gets_no_broker_no_database_and_no_api() -> None:
    not_there = {"aio-pika", "alembic", "asyncmy", "asyncpg", "cliff", "litestar", "sqlalchemy", "uvicorn", "uvloop"}
    assert not required("haproxyd") & not_there
    assert not required("agent") & (not_there - {"aio-pika"})


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (commands.operators, "cli"),
        (commands.agent, "agent"),
        (commands.controller, "controller"),
        (commands.haproxyd, "haproxyd"),
        (commands.rabbitmq, "agent"),
        (commands.users, "controller"),
        (commands.db, "controller"),
    ],
)
def test_a_command_whose_extra_is_not_installed_names_it(
    command, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [f"{name}>=1.0; extra == '{each}'" for each in EXTRAS for name in ("msgspec", f"not-there-{each}")]
    monkeypatch.setattr(extras, "requires", lambda _: ["msgspec>=0.19", *listed])
    assert command() == commands.EXIT_CODE_NOT_INSTALLED
    said = capsys.readouterr().err
    assert f"not installed: not-there-{extra}. " in said
    assert f"pip install 'evenkeel-lbaas[{extra}]'" in said


def test_rabbitmq_commands_work_with_either_extra(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(extras, "requires", lambda _: ["not-there; extra == 'agent'", "msgspec; extra == 'controller'"])
    monkeypatch.setattr(sys, "argv", ["evenkeel-rabbitmq", "agent-user", "--environment", "prod", "--host", "lb-1"])
    assert commands.rabbitmq() == 0
    assert capsys.readouterr().out.startswith("rabbitmqctl add_user ")


def test_requirements_with_markers_of_platforms_are_left_to_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a>=1; extra == 'x'", 'b[c]>=2 ; extra == "x"', "d; (sys_platform == 'linux') and extra == 'x'", "e"]
    monkeypatch.setattr(extras, "requires", lambda _: lines)
    assert extras.missing_packages("x") == ["a", "b"]


@pytest.mark.parametrize("name", PROJECT["scripts"])
def test_every_command_tells_its_version_even_without_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "requires", lambda _: [f"not-there; extra == '{extra}'" for extra in EXTRAS])
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    command = getattr(commands, PROJECT["scripts"][name].partition(":")[2])
    assert command() == 0
    assert capsys.readouterr().out == f"{name} {__version__}\n"


def test_the_distribution_is_not_named_as_another_project_is() -> None:
    assert PROJECT["name"] == DISTRIBUTION_NAME
    wrong = re.compile(r"pip install\S* '?evenkeel\b(?!-)|evenkeel\[")
    folders = ROOT / "docs", ROOT / "src", ROOT / "packages"
    texts = [
        *ROOT.glob("*.md"),
        *(path for each in folders for kind in ("md", "py") for path in each.rglob(f"*.{kind}")),
    ]
    assert [str(path) for path in texts if wrong.search(path.read_text())] == []


def test_every_script_is_a_function_here() -> None:
    scripts: dict[str, str] = PROJECT["scripts"]
    for name, place in scripts.items():
        module, _, function = place.partition(":")
        assert module == commands.__name__, name
        assert callable(getattr(commands, function)), name


def test_a_package_has_one_lower_bound_in_all_extras() -> None:
    bounds: dict[str, set[str]] = {}
    for line in DECLARED:
        wanted = Requirement(line)
        bounds.setdefault(canonicalize_name(wanted.name), set()).add(str(wanted.specifier))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


def test_every_extra_that_hosts_install_is_documented_and_locked() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    for extra in ("agent", "cli", "controller", "haproxyd"):
        assert re.search(rf"\$WHEEL\[[a-z,]*\b{extra}\b", page), extra
        locked = set(
            re.findall(r"^([a-z0-9][a-z0-9._-]*)==", (ROOT / "requirements" / f"{extra}.txt").read_text(), re.M)
        )
        assert required(extra) - {DISTRIBUTION_NAME} <= {canonicalize_name(name) for name in locked}


def test_every_dependency_has_its_reason_written_down() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    names = {Requirement(line).name for line in DECLARED} - {DISTRIBUTION_NAME}
    assert [name for name in sorted(names) if name not in page] == []
