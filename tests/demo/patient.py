"""``python -m tests.demo.patient ARGUMENTS``: the demo, on a machine that is busy with tests."""

import sys

import pytest

from evenkeel.demo import outcome, tenant, waiting
from evenkeel.demo.__main__ import main
from tests.demo.patience import START_SECONDS, be_patient

TAKEOVER_SECONDS = 30.0
"""On a quiet machine ten are promised: benchmarks measure that, :mod:`tests.demo.test_narration` judges it."""

if __name__ == "__main__":
    patch = pytest.MonkeyPatch()
    be_patient(patch)
    patch.setattr(waiting, "STEP_SECONDS", START_SECONDS)
    patch.setattr(tenant, "WAIT_SECONDS", START_SECONDS)
    patch.setattr(outcome, "TAKEOVER_SECONDS", TAKEOVER_SECONDS)
    sys.exit(main())
