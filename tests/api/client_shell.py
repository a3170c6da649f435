"""Command line clients run in this process: a process of its own would take each a second and more to start."""

import ast
import contextlib
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openstack.config import defaults


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    output: str
    errors: str

    @property
    def shown(self) -> Any:
        """Its JSON output, behind what it says of it; None if there is none."""
        start = min((at for at in map(self.output.find, "[{") if at >= 0), default=None)
        return None if start is None else json.loads(self.output[start:])


def run_shell(shell: Callable[[list[str]], object], *words: str) -> Ran:
    """Run a client's main function with these words."""
    output, errors = io.StringIO(), io.StringIO()
    with _kept_logging(), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # the clients' own past and future
        patch.setattr(defaults, "_defaults", None)  # those of the first client to read its own would hold for all
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = _code_of(shell, list(words))
    return Ran(code, output.getvalue(), errors.getvalue())


def _code_of(shell: Callable[[list[str]], object], words: list[str]) -> int:
    try:
        code = shell(words)
    except SystemExit as error:  # argparse's
        return error.code if isinstance(error.code, int) else 2
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _kept_logging() -> Iterator[None]:
    """The clients set up the logging of the whole process; undo that."""
    root, plugins = logging.getLogger(), logging.getLogger("stevedore")
    level, handlers, plugins_level = root.level, list(root.handlers), plugins.level
    plugins.setLevel(logging.WARNING)  # it would tell of every entry point of every command
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        plugins.setLevel(plugins_level)


def commands_named(file: str, *, runner: str, prefix: str) -> set[str]:
    """The commands that a test module runs: first arguments of ``runner``, and strings with the whole ``prefix``.

    Read from its text, because its tests may run in several processes.
    """
    named: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        words = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        named |= {word for word in words if word.startswith(prefix)}
        if node.func.id == runner:
            named |= {f"{prefix}{word}" for word in words[:1]}
    return named
