"""``--watch``, against the stub."""

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

STATUS = {"message_broker": "connected", "halted": [], "devices": [], "countdowns": [], "problems": []}


def test_watch_repeats_until_it_is_interrupted(stub: Stub, evenkeel: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.on("GET", "/status", {"status": STATUS})
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("evenkeel.cli.watch.time.sleep", sleep)
    ran = evenkeel("status", "--watch", "1", "-f", "value", "-c", "message_broker")
    assert (ran.code, ran.out.split(), pauses) == (0, ["connected"] * 3, [1.0] * 3)


def test_watch_goes_on_while_no_controller_answers(stub: Stub, evenkeel: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.on("GET", "/agents", {"faultcode": "Server", "faultstring": "database"}, status=503)

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evenkeel.cli.watch.time.sleep", sleep)
    ran = evenkeel("agent", "list", "--watch")
    assert ran.code == 0 and "trying again" in ran.err


def test_interval_of_watch_is_limited(evenkeel: Run) -> None:
    assert evenkeel("status", "--watch", "0.1").code == 2
    assert evenkeel("status", "--watch", "often").code == 2
