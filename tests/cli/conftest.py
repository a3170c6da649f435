"""A stub controller, and the command run in this process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from evenkeel.cli.main import main
from tests import log_handlers
from tests.cli.stub import Stub, served

PATIENCE_SECONDS = "60"


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A stub controller that serves."""
    with served(Stub()) as running:
        yield running


@dataclass
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def evenkeel(stub: Stub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``evenkeel`` with these words against the stub, or the endpoint given."""
    monkeypatch.delenv("EVENKEEL_ENDPOINT", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str, endpoint: str | None = None) -> Ran:
        try:
            code = main(["--endpoint", endpoint or stub.url, "--timeout", PATIENCE_SECONDS, *words])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        log_handlers.remove()
        return Ran(code, out, err)

    return run
