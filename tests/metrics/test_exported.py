"""Each process exports its own metrics only: a gauge of another process would say 0, and alerts would believe it."""

import subprocess
import sys

import pytest

FOREIGN = {
    "agent": ("evenkeel.metrics.haproxyd", "evenkeel.metrics.controller", "evenkeel.metrics.api"),
    "controller": ("evenkeel.metrics.haproxyd", "evenkeel.metrics.agent"),
    "haproxyd": ("evenkeel.metrics.agent", "evenkeel.metrics.controller", "evenkeel.metrics.api"),
}
"""Modules that declare the metrics of other processes, by process."""
DRIVERS = ("evenkeel.devices.bigip", "evenkeel.devices.haproxy", "evenkeel.devices.noop")


@pytest.mark.parametrize("process", FOREIGN)
def test_process_does_not_import_the_metrics_of_another_one(process: str) -> None:
    imported = (f"evenkeel.cmd.{process}", *(DRIVERS if process != "haproxyd" else ()))
    code = f"import sys, {', '.join(imported)}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert set(FOREIGN[process]).isdisjoint(ran.stdout.split())
