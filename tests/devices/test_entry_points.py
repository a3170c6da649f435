from importlib.metadata import entry_points

from evenkeel.devices import bigip, haproxy, noop


def test_drivers_are_found_by_name() -> None:
    found = {entry.name: entry.load() for entry in entry_points(group="evenkeel.devices")}
    assert found["bigip"] is bigip.open_group
    assert found["haproxy"] is haproxy.open_group
    assert found["noop"] is noop.open_group
