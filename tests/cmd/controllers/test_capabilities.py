"""Capability tables are found by entry points, and the page that shows them is made from them."""

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from evenkeel.cmd.controllers import capabilities
from evenkeel.cmd.controllers.capabilities import ENTRY_POINT_GROUP, load_capabilities
from evenkeel.core.devices.capabilities import ALL_CAPABILITIES, OPTIONS
from evenkeel.core.resources.model import POOL_PROTOCOLS_OF_LISTENER

ROOT = Path(__file__).parents[3]


def test_the_page_of_features_is_made_from_the_tables() -> None:
    script = ROOT / "scripts" / "generate_feature_matrix.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def test_every_device_driver_has_a_table() -> None:
    drivers = {entry.name for entry in entry_points(group="evenkeel.devices")}
    assert load_capabilities().keys() >= drivers
    noop = load_capabilities()["noop"]
    its_own = {
        name: getattr(noop, name)
        for name in ("flavor_metadata", "availability_zone_metadata", "other_metadata", "standby")
    }
    assert noop == replace(ALL_CAPABILITIES, **its_own)


@pytest.mark.parametrize("driver", ["bigip", "haproxy", "noop"])
def test_tables_hold_only_what_the_api_knows(driver: str) -> None:
    table = load_capabilities()[driver]
    for listener, pools in table.protocol_pairs.items():
        assert set(pools) <= POOL_PROTOCOLS_OF_LISTENER[listener]
    for name in ("lb_algorithms", "health_monitor_types", "insert_headers"):
        assert set(getattr(table, name)) <= set(getattr(ALL_CAPABILITIES, name))
    for type_, listeners in table.session_persistence.items():
        assert set(listeners) <= set(ALL_CAPABILITIES.session_persistence[type_])
    assert set(table.options) | table.refused_values.keys() <= set(OPTIONS)


def test_one_that_cannot_be_loaded_is_reported_and_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        EntryPoint(name="broken", value="evenkeel.nowhere:CAPABILITIES", group=ENTRY_POINT_GROUP),
        EntryPoint(name="other", value="evenkeel.core.devices.capabilities:OPTIONS", group=ENTRY_POINT_GROUP),
        EntryPoint(name="good", value="evenkeel.core.devices.capabilities:ALL_CAPABILITIES", group=ENTRY_POINT_GROUP),
    ]

    def known(**_: Any) -> list[EntryPoint]:
        return found

    monkeypatch.setattr(capabilities, "entry_points", known)
    with capture_logs() as logs:
        assert load_capabilities() == {"good": ALL_CAPABILITIES}
    assert [(log["device_driver"], log["log_level"]) for log in logs] == [("broken", "error"), ("other", "error")]
    assert "evenkeel.nowhere" in logs[0]["reason"]
