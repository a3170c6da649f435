"""No class name means two things: whoever reads one in a log, a traceback or a search finds one class."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]


MAY_BE_DEFINED = re.compile(r"\bclass\s+([A-Za-z]\w*)")
"""In the text of each file that defines a public class."""


def _classes(package: str) -> dict[str, list[str]]:
    """The modules of each public class name that seems to be defined twice, private ones aside: these are read in their
    own module only. Only files with such names are parsed: parsing all would take seconds."""
    texts = {path: path.read_text() for path in sorted((ROOT / package).rglob("*.py"))}
    assert texts
    counts = Counter(name for text in texts.values() for name in MAY_BE_DEFINED.findall(text))
    found = defaultdict(list)
    for path, text in texts.items():
        if all(counts[name] < 2 for name in MAY_BE_DEFINED.findall(text)):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(ROOT)))
    return found


def test_no_class_name_means_two_things() -> None:
    several = {name: where for name, where in _classes("src/evenkeel").items() if len(where) > 1}
    assert several == {}


def test_the_emulator_defines_each_class_name_once() -> None:
    """Its names are of another system, a BIG-IP: they may be those of ours."""
    classes = _classes("packages/icontrol-emulator/src/icontrol_emulator")
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}


def test_as3_defines_each_class_name_once() -> None:
    classes = _classes("packages/icontrol-as3/src/icontrol_as3")
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}


def test_the_provider_driver_defines_each_class_name_once() -> None:
    """Octavia's process imports nothing of ours but this package: its names may be those of ours."""
    classes = _classes("packages/evenkeel-octavia/src/evenkeel_octavia")
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}


def test_the_service_plugin_defines_each_class_name_once() -> None:
    """Neutron's process imports nothing of ours but this package: its names may be those of ours."""
    classes = _classes("packages/evenkeel-neutron/src/evenkeel_neutron")
    assert {name: where for name, where in classes.items() if len(where) > 1} == {}
