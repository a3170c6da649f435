"""Which devices may be written how."""

from typing import Any

import pytest

from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.bigip.observe.cluster import ReportedCluster
from evenkeel.devices.bigip.options import SyncMode
from evenkeel.devices.bigip.sync.rules import find_membership, group_into_units, ha_problems, role_problems

ALONE, PAIR, SCALEN = HaType.STANDALONE, HaType.PAIR, HaType.SCALEN
REPLICATE, SYNC = SyncMode.REPLICATE, SyncMode.SYNC


def cluster(own: str, trusted: str, group: str = "", *, auto: bool = False, active: str = "a") -> ReportedCluster:
    """A device's view: names of one letter; ``group``: the members of its sync-failover group."""
    devices: list[dict[str, Any]] = [
        {
            "name": name,
            "chassisId": f"serial-{name}",
            "selfDevice": "true" if name == own else "false",
            "failoverState": "active" if name == active else "standby",
        }
        for name in trusted
    ]
    groups: list[dict[str, Any]] = [{"name": "device_trust_group", "type": "sync-only", "autoSync": "enabled"}]
    if group:
        members = [{"name": name, "fullPath": f"/Common/{name}"} for name in group]
        groups.append(
            {
                "name": "g",
                "type": "sync-failover",
                "autoSync": "enabled" if auto else "disabled",
                "devicesReference": {"items": members},
            }
        )
    return ReportedCluster(devices=tuple(devices), groups=tuple(groups))


def told(ha_type: HaType, mode: SyncMode, **clusters: ReportedCluster) -> str:
    return "; ".join(text for texts in ha_problems(clusters, ha_type, mode).values() for text in texts)


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("mode", list(SyncMode))
def test_a_standalone_device_names_one_device_of_a_cluster_that_is_synchronised(auto: bool, mode: SyncMode) -> None:
    found = told(ALONE, mode, a=cluster("a", "abc", "abc", auto=auto))
    assert (found == "") == (auto or mode is SYNC)
    if found:
        assert "device group g also has b, c, which would not get the configuration" in found


def test_a_device_of_its_own_needs_no_cluster() -> None:
    assert not told(ALONE, REPLICATE, a=cluster("a", "a"))
    assert not told(ALONE, REPLICATE, a=cluster("a", "ab"))
    assert not told(ALONE, REPLICATE, a=cluster("a", "a", "a"))
    assert "no sync-failover group" in told(ALONE, SYNC, a=cluster("a", "a"))


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("mode", list(SyncMode))
def test_two_devices_of_one_group_are_not_both_written_and_synchronised(auto: bool, mode: SyncMode) -> None:
    found = told(PAIR, mode, a=cluster("a", "ab", "ab", auto=auto), b=cluster("b", "ab", "ab", auto=auto))
    assert (found == "") == (not auto or mode is SYNC)
    if found:
        assert (
            "device group g has autoSync enabled, which would overwrite what the agent writes to each of a, b" in found
        )


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("mode", list(SyncMode))
def test_a_pair_of_a_device_of_a_group_and_one_outside(auto: bool, mode: SyncMode) -> None:
    found = told(PAIR, mode, a=cluster("a", "abc", "ab", auto=auto), c=cluster("c", "abc"))
    assert (found == "") == (auto or mode is SYNC)
    if found:
        assert "device group g also has b, which would not get the configuration" in found


def test_devices_of_a_pair_trust_each_other() -> None:
    found = told(PAIR, REPLICATE, a=cluster("a", "ab", "ab"), c=cluster("c", "cd", "cd"))
    assert "does not trust c" in found and "does not trust a" in found
    assert "its cluster has 1 device(s); f5_ha_type pair needs 2" in told(PAIR, REPLICATE, a=cluster("a", "a"))
    assert "f5_ha_type scalen needs 2 to 4" in told(SCALEN, REPLICATE, a=cluster("a", "a"))


def test_four_devices_of_which_two_are_synchronised() -> None:
    views = {name: cluster(name, "abcd", "ab" if name in "ab" else "") for name in "acd"}
    assert not told(SCALEN, SYNC, **views)
    assert group_into_units(views) == (("a",), ("c",), ("d",))
    both = {name: cluster(name, "abcd", "ab" if name in "ab" else "cd") for name in "abcd"}
    assert group_into_units(both) == (("a", "b"), ("c", "d"))
    assert not told(SCALEN, REPLICATE, **both)


def test_groups_of_other_types_are_not_failover_groups() -> None:
    view = cluster("a", "ab")
    group = {"name": "s", "type": "sync-only", "devices": ["/Common/a", "/Common/b"]}
    assert not find_membership(ReportedCluster(devices=view.devices, groups=(group,))).group
    listed = {**group, "type": "sync-failover"}
    assert find_membership(ReportedCluster(devices=view.devices, groups=(listed,))).group == "s"


def test_a_cluster_without_an_active_device_is_reported() -> None:
    assert not role_problems(cluster("a", "ab", "ab"))
    assert role_problems(cluster("a", "ab", "ab", active="")) == ["no device of its cluster is active"]
    assert not role_problems(ReportedCluster())
