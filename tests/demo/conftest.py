"""Patience for every test of the demo."""

import pytest

from tests.demo.patience import be_patient


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a busy machine keeps."""
    be_patient(monkeypatch)
