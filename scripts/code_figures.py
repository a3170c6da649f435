"""Figures of the source: size, functions, docstrings, comments, and rooms with the arrows between them.

A room is a direct child of a folder, an arrow the imports of one room from another.
``scripts/code_figures.py [SRC ...]`` prints a column for each tree; without one, that of this checkout.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mean, median

FOLDERS = ("api", "core", "cmd", "cli", "devices/bigip", "store", "haproxyd", "agent", "controller")
SENTENCE_WORDS = 3
"""A docstring of as many words, or fewer, is counted as a fragment."""
RELATION = re.compile(r"(?:Of|As|The same|Its|Those|What|Who|Whose)\b")
"""Beginnings of docstrings that lean on something outside of them; counted as fragments, too."""


class Source:
    """The modules of one tree, parsed."""

    def __init__(self, root: Path) -> None:
        """``root``: folder with the package ``evenkeel``."""
        self.texts = {_module(root, path): path.read_text() for path in sorted((root / "evenkeel").rglob("*.py"))}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}

    def figures(self) -> dict[str, str]:
        """Figures by their name."""
        return {**self._sizes(), **self._texts(), **self._rooms()}

    def _sizes(self) -> dict[str, str]:
        functions = sorted(
            node.end_lineno - node.lineno + 1
            for node in self._nodes()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
        )
        classes = [
            node.end_lineno - node.lineno + 1
            for node in self._nodes()
            if isinstance(node, ast.ClassDef) and node.end_lineno is not None
        ]
        return {
            "modules": str(len(self.trees)),
            "lines": str(sum(text.count("\n") for text in self.texts.values())),
            "functions": str(len(functions)),
            "lines of a function (median, 90 %, longest)": _distribution(functions),
            "longest class": str(max(classes)),
        }

    def _texts(self) -> dict[str, str]:
        docstrings = [text.strip() for text in self._docstrings()]
        words = [len(text.split()) for text in docstrings]
        fragments = [text for text in docstrings if RELATION.match(text) or len(text.split()) <= SENTENCE_WORDS]
        return {
            "docstrings": str(len(docstrings)),
            "words of a docstring (mean)": f"{mean(words):.1f}",
            "fragments among docstrings": f"{100 * len(fragments) / len(docstrings):.1f} %",
            "comments in 100 lines of code": f"{self._comments():.1f}",
        }

    def _rooms(self) -> dict[str, str]:
        arrows = self._arrows()
        found = {}
        for folder in FOLDERS:
            rooms = _room_graph(arrows, "evenkeel." + folder.replace("/", "."))
            circles = sum(len(each) for each in _circles(rooms))
            arrow_count = sum(len(targets) for targets in rooms.values())
            found[f"{folder}: rooms, arrows, rooms in circles"] = f"{len(rooms)}, {arrow_count}, {circles}"
        return found

    def _nodes(self) -> Iterator[ast.AST]:
        for tree in self.trees.values():
            yield from ast.walk(tree)

    def _docstrings(self) -> Iterator[str]:
        """Docstrings, and those of attributes."""
        for node in self._nodes():
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node.value.value

    def _comments(self) -> float:
        comments = code = 0
        for text in self.texts.values():
            for line in text.splitlines():
                comments += bool(re.search(r"(?:^|\s)#(?! (?:noqa|type:))", line)) and '"' not in line
                code += bool(line.strip())
        return 100 * comments / code

    def _arrows(self) -> dict[str, set[str]]:
        return {name: set(self._imports(name, tree)) for name, tree in self.trees.items()}

    def _imports(self, module: str, tree: ast.AST) -> Iterator[str]:
        """Modules of this tree that a module imports."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    yield from (name for name in (full if full in self.trees else node.module,) if name != module)


def _module(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _distribution(sizes: list[int]) -> str:
    return f"{median(sizes):g}, {sizes[int(0.9 * len(sizes))]}, {sizes[-1]}"


def _room_graph(arrows: Mapping[str, Iterable[str]], folder: str) -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, imported in arrows.items():
        room = _room(module, folder)
        if room:
            rooms[room].update(filter(None, (_room(each, folder) for each in imported)))
    return {room: targets - {room} for room, targets in rooms.items()}


def _room(module: str, folder: str) -> str:
    return module.removeprefix(f"{folder}.").partition(".")[0] if module.startswith(f"{folder}.") else ""


def _circles(rooms: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of rooms that reach each other."""
    reached = {room: _reached(rooms, room) for room in rooms}
    circles: list[set[str]] = []
    for room in rooms:
        if room in reached[room] and not any(room in circle for circle in circles):
            circles.append({other for other in reached[room] if room in reached.get(other, ())})
    return circles


def _reached(rooms: Mapping[str, Iterable[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(rooms[start])
    while waiting:
        room = waiting.pop()
        if room not in found:
            found.add(room)
            waiting += rooms.get(room, ())
    return found


def main() -> int:
    """Entry point: print a table in Markdown."""
    roots = [Path(name) for name in sys.argv[1:]] or [Path(__file__).parents[1] / "src"]
    columns = [Source(root).figures() for root in roots]
    print(f"| figure | {' | '.join(map(str, roots))} |")
    print("|---" * (len(roots) + 1) + "|")
    for name in columns[-1]:
        print(f"| {name} | {' | '.join(column.get(name, '') for column in columns)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
