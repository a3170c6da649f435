"""Run by the interpreter of tempest's environment: modules of the API tests of octavia-tempest-plugin.

Arguments: the file of a lock, the file of outcomes, then names of modules. Each test adds a line of JSON to the file of
outcomes: its ``name``, its ``outcome`` (``passed``, ``failed`` or ``skipped``), and the reason or the end of the
traceback as ``text``.
"""

import fcntl
import importlib
import json
import sys
import unittest
from collections.abc import Callable
from pathlib import Path

PACKAGE = "octavia_tempest_plugin.tests.api.v2"
MAX_TEXT = 3000


class Recorder(unittest.TestResult):
    """Writes outcomes down as they come."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._write(test, "passed", "")

    def addFailure(self, test, error):  # type: ignore[no-untyped-def]
        self._write(test, "failed", self._exc_info_to_string(error, test))

    addError = addFailure

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._write(test, "skipped", reason)

    def _write(self, test: unittest.TestCase, outcome: str, text: str) -> None:
        name = test.id().removeprefix(f"{PACKAGE}.").partition("[")[0]
        with self._file.open("a") as file:
            file.write(json.dumps({"name": name, "outcome": outcome, "text": text[-MAX_TEXT:]}) + "\n")


def take_turns(lock: Path) -> None:
    """Let one process at a time make or remove users: in a run without turns the Keystone on SQLite answered a login
    with 500.
    """
    from tempest import test

    file, depth = lock.open("a"), [0]

    def alone(plain: Callable[[type], None], cls: type) -> None:
        depth[0] += 1  # a set-up that fails or is skipped tears down inside itself
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            plain(cls)
        finally:
            depth[0] -= 1
            if not depth[0]:
                fcntl.flock(file, fcntl.LOCK_UN)

    for name in ("setUpClass", "tearDownClass"):
        plain = getattr(test.BaseTestCase, name).__func__
        setattr(test.BaseTestCase, name, classmethod(lambda cls, plain=plain: alone(plain, cls)))


def main() -> None:
    lock, file, *modules = sys.argv[1:]
    take_turns(Path(lock))
    result = Recorder(Path(file))
    for module in modules:
        unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"{PACKAGE}.{module}")).run(result)


if __name__ == "__main__":
    main()
