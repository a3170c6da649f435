"""Schemathesis's plugin, which pyproject.toml keeps from the pytest processes that have no use for it."""

from pathlib import Path

import pytest


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Load the plugin before the file whose tests it makes, one of each operation, is imported."""
    if module_path.name == "test_openapi.py":
        parent.config.pluginmanager.import_plugin("schemathesis.pytest.plugin")
