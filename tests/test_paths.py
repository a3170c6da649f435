"""Tests mirror the code's paths: which folder or module lacks a test of its own, and where it is tested instead.

A folder ``src/evenkeel/a/b`` is tested in ``tests/a/b/`` or by ``tests/a/test_b.py``; a module ``a/b/c.py`` of
:data:`RULES` by a file ``test_c.py`` below ``tests/a``, or by one that imports it. Logic is a branch or a loop.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
EMULATOR = TESTS.parent / "packages" / "icontrol-emulator"
AS3 = TESTS.parent / "packages" / "icontrol-as3"
PROVIDER = TESTS.parent / "packages" / "evenkeel-octavia"
PLUGIN = TESTS.parent / "packages" / "evenkeel-neutron"
ROOTS = {
    "evenkeel": "",
    "icontrol_emulator": "icontrol_emulator/",
    "icontrol_as3": "icontrol_as3/",
    "evenkeel_octavia": "evenkeel_octavia/",
    "evenkeel_neutron": "evenkeel_neutron/",
}
"""Package -> what the names of its folders begin with below."""
SOURCES = {
    "evenkeel": TESTS.parent / "src" / "evenkeel",
    "icontrol_emulator": EMULATOR / "src" / "icontrol_emulator",
    "icontrol_as3": AS3 / "src" / "icontrol_as3",
    "evenkeel_octavia": PROVIDER / "src" / "evenkeel_octavia",
    "evenkeel_neutron": PLUGIN / "src" / "evenkeel_neutron",
}
OWN_TESTS = {
    "icontrol_emulator": EMULATOR / "tests" / "emulator_tests",
    "icontrol_as3": AS3 / "tests" / "as3_tests",
    "evenkeel_octavia": PROVIDER / "tests" / "octavia_tests",
    "evenkeel_neutron": PLUGIN / "tests" / "neutron_tests",
}
"""Tests of the packages that are distributions of their own."""

ACROSS = {
    "acceptance": "whole processes and real servers, killed and frozen",
    "cloud": "clients and suites of others, with a Keystone",
    "compat": "requests with the answers of stock servers",
    "equivalence": "devices after random histories, compared with new ones",
    "fuzz": "strangers at every port",
    "model": "the model checker's specification",
    "octavia": "our provider inside a stock Octavia",
    "packaging": "units, images and manifests",
    "services": "the servers that tests start",
    "sim": "everything under faults in simulated time",
    "system": "controllers and agents in one process, in virtual time",
    "tiers": "the runner of all tests",
    "ui": "the dashboard in a browser, over whole processes",
    "upgrade": "processes of the last release and of this version in one installation",
    "virtual": "the loop, database and connections of tests in virtual time",
}
"""Tests of no folder in particular."""

ELSEWHERE = {
    "api/neutron/v1": ("api/neutron/test_neutron_shell_v1.py", "as the stock client sees it"),
    "api/neutron/v2": ("api/neutron/test_lbaas_v2.py", "as its clients see it"),
    "devices/bigip/icontrol": ("devices/bigip/test_faults.py", "against the stand-in, which fails as told"),
    "devices/bigip/ownership": ("devices/bigip/test_guards.py", "against the stand-in, by two owners at once"),
    "icontrol_as3/schema": ("icontrol_as3/test_refusals.py", "by what is refused"),
    "icontrol_as3/translate": ("icontrol_as3/test_services.py", "by the traffic that it carries"),
    "icontrol_emulator/config": ("icontrol_emulator/test_objects.py", "a stranger: by its HTTP API alone"),
    "icontrol_emulator/config/policies": ("icontrol_emulator/test_policies.py", "the same"),
    "icontrol_emulator/config/rules": ("icontrol_emulator/test_refusals.py", "the same"),
    "icontrol_emulator/config/types": ("icontrol_emulator/test_objects.py", "the same"),
    "icontrol_emulator/dataplane": ("icontrol_emulator/test_traffic.py", "by the traffic that it carries"),
    "icontrol_emulator/dataplane/policies": ("icontrol_emulator/test_policies.py", "by what they do to traffic"),
    "icontrol_emulator/dataplane/tls": ("icontrol_emulator/test_tls_traffic.py", "the same"),
    "icontrol_emulator/rest": ("icontrol_emulator/test_transactions.py", "by its HTTP API alone"),
    "icontrol_emulator/stats": ("icontrol_emulator/test_system_statistics.py", "the same"),
}
"""Folder -> the test that stands for it, and why it has none of its own."""

RULES = ("agent", "config", "controller", "core", "serving")
"""Rooms of pure rules and of processes' parts: each module is tested by itself."""
WITH_NEIGHBOURS = {
    "agent/shard_client.py": ("agent/test_shard.py", "what a shard's worker asks and reports"),
    "controller/acme/readiness.py": ("controller/acme/test_issuing.py", "the first step of an order"),
    "agent/reconciler.py": ("agent/test_shard.py", "the steps of a pass of a shard's worker"),
    "core/tls/certificates.py": ("key_managers/parsing/test_bundles.py", "the values that key managers give"),
    "core/resources/http_challenges.py": ("devices/haproxy/render/test_challenges.py", "the form of challenges"),
    "core/placement/agents.py": ("core/placement/test_shards.py", "a part of the rule of shards"),
    "core/placement/views.py": ("core/placement/test_shards.py", "what that rule looks at"),
}
"""Modules of those rooms that are tested by the tests of another one."""

BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension)


def has_logic(file: Path) -> bool:
    return any(isinstance(node, BRANCHES) for node in ast.walk(ast.parse(file.read_text())))


def modules() -> Iterator[tuple[str, Path]]:
    """Path below ``tests``, as it were, and file of every module that has logic."""
    for package, below in ROOTS.items():
        for file in sorted(SOURCES[package].rglob("*.py")):
            if file.name not in ("__init__.py", "__main__.py") and has_logic(file):
                yield below + file.relative_to(SOURCES[package]).as_posix(), file


@cache
def all_modules() -> dict[str, Path]:
    """All of :func:`modules`; not at import, which would cost each pytest process two seconds."""
    return dict(modules())


def folders_with_logic() -> list[str]:
    return sorted({Path(path).parent.as_posix() for path in all_modules()} - {"."})


def at(place: str) -> Path:
    """The folder or file of tests of a name: some packages have theirs in their own distribution."""
    named = f"{place}/"
    for package, tests in OWN_TESTS.items():
        if named.startswith(below := ROOTS[package]):
            return tests / named.removeprefix(below)
    return TESTS / place


def has_tests(folder: str) -> bool:
    path = at(folder)
    return any(path.glob("test_*.py")) or (path.parent / f"test_{path.name}.py").is_file()


def imported_by(room: str) -> set[str]:
    """Names of modules that tests of a room import."""
    found: set[str] = set()
    for file in (TESTS / room).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
            elif isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
    return found


def test_every_folder_with_logic_has_tests_at_its_place() -> None:
    assert [folder for folder in folders_with_logic() if not has_tests(folder) and folder not in ELSEWHERE] == []


@pytest.mark.parametrize("room", RULES)
def test_every_module_of_rules_and_of_processes_parts_has_a_test(room: str) -> None:
    imported = imported_by(room)
    named = {file.name for file in (TESTS / room).rglob("test_*.py")}
    missing = [
        path
        for path, file in all_modules().items()
        if path.startswith(f"{room}/")
        and path not in WITH_NEIGHBOURS
        and f"test_{file.name}" not in named
        and ".".join(("evenkeel", *file.relative_to(SOURCES["evenkeel"]).with_suffix("").parts)) not in imported
    ]
    assert missing == []


def test_every_folder_of_tests_is_that_of_some_code_or_states_why_not() -> None:
    folders = {
        *(file.parent.relative_to(TESTS).as_posix() for file in TESTS.rglob("test_*.py")),
        *(
            f"{name}/{file.parent.relative_to(own)}"
            for name, own in OWN_TESTS.items()
            for file in own.rglob("test_*.py")
        ),
    } - {".", *(f"{name}/." for name in OWN_TESTS)}
    code = {f"{below}{path.as_posix()}" for below, path in _folders_of_code()}
    assert [one for one in sorted(folders) if one not in code and one.split("/")[0] not in ACROSS] == []


def _folders_of_code() -> Iterator[tuple[str, Path]]:
    for package, below in ROOTS.items():
        for file in SOURCES[package].rglob("__init__.py"):
            yield below, file.parent.relative_to(SOURCES[package])


@pytest.mark.parametrize("exempt", [*ELSEWHERE.items(), *WITH_NEIGHBOURS.items()], ids=lambda one: one[0])
def test_exempt_path_exists_needs_it_and_its_test_exists(exempt: tuple[str, tuple[str, str]]) -> None:
    path, (test, reason) = exempt
    assert at(test).is_file() and reason
    assert path in all_modules() or (path in folders_with_logic() and not has_tests(path))


def test_slow_tests_are_there() -> None:
    from tests.tiers.places import SLOW

    places = [TESTS.parent / place if place.startswith("packages/") else TESTS / place for place in SLOW]
    assert [str(place) for place in places if not place.exists()] == []
