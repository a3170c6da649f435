"""The old ``neutron`` command line, run in this process: a process of its own would take a second to start."""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client's own past
    from neutronclient.common.clientmanager import ClientManager
    from neutronclient.shell import NeutronShell


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


def neutron(url: str, *words: str, auth_type: str = "none") -> Ran:
    """Run ``neutron`` with these words. ``url``: the server's root; empty: Keystone's catalogue tells."""
    output, errors = io.StringIO(), io.StringIO()
    with _kept_logging(), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(vars(ClientManager)["neutron"], "_handle", None)  # it keeps one for the whole process
        patch.setenv("OS_AUTH_TYPE", auth_type)
        if url:
            patch.setenv("OS_ENDPOINT", f"{url}/neutron")
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = _run(list(words))
    return Ran(code, output.getvalue(), errors.getvalue())


def _run(words: list[str]) -> int:
    try:
        return int(NeutronShell("2.0").run(words) or 0)
    except SystemExit as error:  # argparse's
        return error.code if isinstance(error.code, int) else 2


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
