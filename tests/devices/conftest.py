import pytest

from evenkeel.devices import reachability
from evenkeel.haproxyd.health import observation


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device is not given up because the machine is slow: only the ``connect_timeout`` that a test gives counts."""
    monkeypatch.setattr(reachability, "PROBE_SECONDS", 60.0)
    monkeypatch.setattr(reachability, "PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(observation, "PARTITION_TIMEOUT_SECONDS", 60.0)
