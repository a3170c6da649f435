"""The demo's limits are for somebody who watches it; a machine that is busy with tests may stand still for longer."""

import pytest

from evenkeel.demo import devices, processes, traffic
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds import daemon
from evenkeel.demo.workspace import Workspace

ANSWER_SECONDS = 60.0
PAUSE_SECONDS = 0.2
"""Between two requests of a client of the demo."""
START_SECONDS = 240.0
REQUEST_SECONDS = 20.0
"""A request through a load balancer has failed when it takes longer."""


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test has ended, clusters of this process wait for longer; what they wait for is the same."""
    for module in (devices, daemon):
        monkeypatch.setattr(module, "TIMEOUT_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr(traffic, "TIMEOUT_SECONDS", REQUEST_SECONDS)
    monkeypatch.setattr(processes, "STOP_SECONDS", ANSWER_SECONDS)
    for stopping in (processes.DemoProcess.stop, processes.stop_all):
        monkeypatch.setattr(stopping, "__defaults__", (ANSWER_SECONDS,))
    for function, name, seconds in (
        (Cluster.client, "timeout_seconds", ANSWER_SECONDS),
        (Cluster.__init__, "start_seconds", START_SECONDS),
        (Workspace.__init__, "start_seconds", START_SECONDS),
    ):
        monkeypatch.setitem(function.__kwdefaults__, name, seconds)
