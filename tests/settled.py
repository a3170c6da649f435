"""Finds assertions that follow a wait and are about something else than what was waited for.

``await eventually(A)`` followed by ``assert B`` fails now and then where B becomes true a moment after A. Either the
wait's condition holds all that is asserted afterwards, or A implies B; then a comment ``# settled: reason`` says why,
at the assertion or in the line above it, or likewise at the wait, for all assertions that follow it.

A wait is a loop with a sleep in it, or the call of a function that ends in a wait. Functions are found by name in the
file and through imports from ``tests``; methods by the annotation of a parameter and by ``self``. A method of anything
else counts if all methods of its name in ``tests`` end in a wait and the file names its class.

An assertion is about what was waited for if it uses the wait's answer, or no names but those in the wait's condition.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MARK = "# settled: "

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
_BLOCKS = ast.With | ast.AsyncWith | ast.Try | ast.For | ast.AsyncFor
_METHOD = re.compile(r"\bdef (\w+)\(\s*self\b")
_BUILTINS = set(dir(builtins))


@dataclass(frozen=True)
class Finding:
    """An assertion and the wait before it, by the module's name and their lines."""

    module: str
    wait_line: int
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.text} (after the wait in line {self.wait_line})"


@dataclass
class Module:
    """One parsed file: its functions and classes by name, and the full names of what it imports."""

    name: str
    source: str
    lines: list[str]
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A function with the functions that its names can mean, and the classes that its parameters are annotated with."""

    module: Module
    function: Function
    around: Mapping[str, Function]
    types: Mapping[str, str]


def findings(sources: Mapping[str, str]) -> list[Finding]:
    """Unmarked assertions after waits in files, given by the names of their modules."""
    tree = Tree(sources)
    return [found for place in tree.places for found in _in_function(place, tree)]


class Tree:
    """Files, and which of their functions end in a wait. Files that cannot have a wait are not parsed."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.places: list[Place] = []
        self._methods = Counter(name for text in sources.values() for name in _METHOD.findall(text))
        self._modules: dict[str, Module] = {}
        self._class_of: dict[Function, str] = {}
        self._waiting: set[Function] = set()
        self._importable: set[tuple[str, str]] = set()
        """Waiting functions that other files can import, each with the last part of its module's name."""
        self._unanimous: set[tuple[str, str]] = set()
        """Methods of whose name all wait, each with the name of its class."""
        unread = dict(sources)
        found = [name for name, source in unread.items() if "sleep(" in source]
        while found:
            for name in found:
                self._read(name, unread.pop(name))
            self._find_waiting()
            found = [name for name, source in unread.items() if self._may_wait(source)]

    def is_wait(self, statement: ast.stmt, place: Place) -> bool:
        """Whether the statement ends only when what it polls has become true."""
        match statement:
            case ast.Expr(value=value) | ast.Assign(value=value) | ast.Assert(test=value):
                return self._has_wait(value, place)
            case ast.AnnAssign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
                return self._has_wait(value, place)
            case ast.While():
                return _sleeps(statement)
            case ast.For() | ast.AsyncFor() if _sleeps(statement) and _leaves(statement):
                return True
        return isinstance(statement, _BLOCKS) and self.is_wait(statement.body[-1], place)

    def _has_wait(self, expression: ast.expr, place: Place) -> bool:
        return any(self._called(node, place) for node in _evaluated(expression) if isinstance(node, ast.Call))

    def _called(self, call: ast.Call, place: Place) -> bool:
        imports = place.module.imports
        match call.func:
            case ast.Name(id=name):
                return (place.around.get(name) or self._imported(imports.get(name, ""))) in self._waiting
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in imports:
                return self._imported(f"{imports[name]}.{attribute}") in self._waiting
            case ast.Attribute(value=receiver, attr=attribute):
                return self._is_waiting_method(receiver, attribute, place)
        return False

    def _imported(self, full_name: str) -> Function | None:
        module, _, name = full_name.rpartition(".")
        return self._modules[module].functions.get(name) if module in self._modules else None

    def _is_waiting_method(self, receiver: ast.expr, name: str, place: Place) -> bool:
        known = place.types.get(_root(receiver), "")
        if isinstance(receiver, ast.Name) and known:
            return self._method(known, name, place.module) in self._waiting
        if known and known != place.types.get("self"):  # the class of its attribute is not known
            return False
        return any(name == method and owner in place.module.source for method, owner in self._unanimous)

    def _method(self, class_name: str, name: str, module: Module) -> Function | None:
        if class_name not in module.classes and class_name in module.imports:
            path, _, class_name = module.imports[class_name].rpartition(".")
            module = self._modules.get(path, module)
        if not (found := module.classes.get(class_name)):
            return None
        for node in found.body:
            if isinstance(node, Function) and node.name == name:
                return node
        bases = [base.id for base in found.bases if isinstance(base, ast.Name) and base.id != class_name]
        return next((method for base in bases if (method := self._method(base, name, module))), None)

    def _find_waiting(self) -> None:
        while more := [
            place.function
            for place in self.places
            if place.function not in self._waiting and self.is_wait(place.function.body[-1], place)
        ]:
            self._waiting.update(more)
        waiting = Counter(each.name for each in self._waiting if self._class_of[each])
        self._unanimous = {
            (each.name, self._class_of[each])
            for each in self._waiting
            if self._class_of[each] and waiting[each.name] == self._methods[each.name]
        }
        self._importable = {
            (name, module.name.rpartition(".")[2])
            for module in self._modules.values()
            for name, each in module.functions.items()
            if each in self._waiting
        }

    def _may_wait(self, source: str) -> bool:
        callable_ = self._importable | self._unanimous
        return any(owner in source and f"{name}(" in source for name, owner in callable_)

    def _read(self, name: str, source: str) -> None:
        root = ast.parse(source)
        module = self._modules[name] = Module(name, source, source.splitlines())
        for node in root.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                module.imports |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        module.functions = {node.name: node for node in root.body if isinstance(node, Function)}
        self._collect(root, module, module.functions, {}, "")

    def _collect(
        self, parent: ast.AST, module: Module, around: Mapping[str, Function], types: Mapping[str, str], class_name: str
    ) -> None:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.ClassDef):
                module.classes[node.name] = node
                self._collect(node, module, around, types, node.name)
            elif isinstance(node, Function):
                self._class_of[node] = class_name
                inner = {**around, **{each.name: each for each in _local_functions(node)}}
                known = {**types, **_types(node, class_name)}
                self.places.append(Place(module, node, inner, known))
                self._collect(node, module, inner, known, "")
            elif isinstance(node, ast.stmt | ast.excepthandler):
                self._collect(node, module, around, types, class_name)


def _types(function: Function, class_name: str) -> dict[str, str]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    known = {one.arg: one.annotation.id for one in arguments if isinstance(one.annotation, ast.Name)}
    return {**known, "self": class_name} if class_name else known


def _local_functions(parent: ast.AST) -> Iterator[Function]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, Function):
            yield node
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef):
            yield from _local_functions(node)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated at once: everything but the bodies of functions."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Lambda | Function):
            yield node
            waiting += ast.iter_child_nodes(node)


def _sleeps(loop: Loop) -> bool:
    return any(isinstance(node, ast.Call) and _last_name(node.func) == "sleep" for node in _inside(loop))


def _leaves(loop: Loop) -> bool:
    return any(isinstance(node, ast.Return | ast.Break) for node in _inside(loop))


def _inside(loop: Loop) -> Iterator[ast.AST]:
    return (node for statement in loop.body for node in _evaluated(statement))


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _root(expression: ast.expr) -> str:
    """The name that a chain of attributes begins with; empty if it begins with something else."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _in_function(place: Place, tree: Tree) -> Iterator[Finding]:
    for block in _blocks(place.function):
        for index, statement in enumerate(block[:-1]):
            # what a context manager or a finally does at its end comes between
            ends_otherwise = isinstance(statement, ast.With | ast.AsyncWith | ast.Try)
            if not ends_otherwise and isinstance(block[index + 1], ast.Assert) and tree.is_wait(statement, place):
                yield from _after(statement, block[index + 1 :], place, tree)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All runs of statements in a function, without those of functions in it."""
    for name in ("body", "orelse", "finalbody"):
        if statements := getattr(node, name, None):
            yield statements
            for statement in statements:
                if not isinstance(statement, Function | ast.ClassDef):
                    yield from _blocks(statement)
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield from _blocks(part)


def _after(wait: ast.stmt, statements: Iterable[ast.stmt], place: Place, tree: Tree) -> Iterator[Finding]:
    if _is_marked(wait, place.module.lines):
        return
    for statement in statements:
        if not isinstance(statement, ast.Assert) or tree.is_wait(statement, place):
            return
        if not (_is_marked(statement, place.module.lines) or _is_about(statement, wait, place)):
            yield Finding(place.module.name, wait.lineno, statement.lineno, ast.unparse(statement.test))


def _is_marked(statement: ast.stmt, lines: list[str]) -> bool:
    above = lines[statement.lineno - 2].strip()
    return above.startswith(MARK) or any(MARK in line for line in lines[statement.lineno - 1 : statement.end_lineno])


def _is_about(assertion: ast.Assert, wait: ast.stmt, place: Place) -> bool:
    """Whether the assertion is about the wait's answer, or about nothing but what its condition is about."""
    if _bound(wait) & {node.id for node in ast.walk(assertion.test) if isinstance(node, ast.Name)}:
        return True
    awaited = {subject for condition in _conditions(wait, place) for subject in _subjects(condition)}
    return set(_subjects(assertion.test)) <= awaited


def _bound(wait: ast.stmt) -> set[str]:
    targets = wait.targets if isinstance(wait, ast.Assign) else [wait.target] if isinstance(wait, ast.AnnAssign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _conditions(wait: ast.stmt, place: Place) -> Iterator[ast.AST]:
    """Lambdas and functions that the wait is given; the test of a loop."""
    if isinstance(wait, ast.While):
        yield wait.test
    for node in ast.walk(wait):
        if isinstance(node, ast.Lambda):
            yield node
        elif isinstance(node, ast.Name) and node.id in place.around:
            yield place.around[node.id]


def _subjects(node: ast.AST) -> Iterator[str]:
    """Names with their attributes, as ``device.batches``; without constants, built-in functions and loop variables."""
    loops = [one.target for one in ast.walk(node) if isinstance(one, ast.comprehension)]
    ignored = {one.id for target in loops for one in ast.walk(target) if isinstance(one, ast.Name)} | _BUILTINS
    for name in _dotted(node):
        first = name.partition(".")[0]
        if first not in ignored and not first.isupper():
            yield name


def _dotted(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute) and _root(node):
        yield ast.unparse(node)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _dotted(child)
