"""``python -m tests.demo.patient PAUSE_SECONDS ARGUMENTS``: the demo, on a machine that is busy with tests. Each of its
clients pauses for so long between two requests."""

import sys

import pytest

from evenkeel.demo import outcome, tenant, waiting
from evenkeel.demo.__main__ import main
from evenkeel.demo.traffic import TrafficGenerator
from tests.demo.patience import START_SECONDS, be_patient

TAKEOVER_SECONDS = 30.0
"""On a quiet machine ten are promised: benchmarks measure that, :mod:`tests.demo.test_narration` judges it."""

if __name__ == "__main__":
    patch = pytest.MonkeyPatch()
    be_patient(patch)
    patch.setattr(waiting, "STEP_SECONDS", START_SECONDS)
    patch.setattr(tenant, "WAIT_SECONDS", START_SECONDS)
    patch.setattr(outcome, "TAKEOVER_SECONDS", TAKEOVER_SECONDS)
    patch.setitem(TrafficGenerator.__init__.__kwdefaults__, "pause_seconds", float(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
