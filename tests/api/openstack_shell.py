"""The stock ``openstack`` command line, run in this process: a process of its own would take seconds to start."""

import contextlib
import io
import json
import logging
import time
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client's own futures
    import osc_lib.utils
    from openstackclient.shell import OpenStackShell

POLL_SECONDS = 0.05
"""The client looks every three seconds whether what it waits for is there."""


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    output: str
    errors: str

    @property
    def shown(self) -> Any:
        """Its JSON output; None if it printed nothing."""
        return json.loads(self.output) if self.output.strip() else None


def openstack(url: str, *words: str) -> Ran:
    """Run ``openstack`` with these words against a server without Keystone."""
    output, errors = io.StringIO(), io.StringIO()
    with _kept_logging(), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(osc_lib.utils, "time", _Impatient)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = _run(["--os-auth-type", "none", "--os-endpoint", url, *words])
    return Ran(code, output.getvalue(), errors.getvalue())


def _run(words: list[str]) -> int:
    try:
        return int(OpenStackShell().run(words) or 0)
    except SystemExit as error:  # argparse's
        return error.code if isinstance(error.code, int) else 2


_Impatient = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, POLL_SECONDS)), time=time.time)


@contextlib.contextmanager
def _kept_logging() -> Iterator[None]:
    """The client sets up the logging of the whole process; undo that."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
