"""What is said of operating status before, and without, a look at the device."""

import pytest

from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.operating import (
    STATUS_WHEN_OBSERVED_AGAIN,
    STATUS_WHEN_UNOBSERVED,
    child_status_from_load_balancer,
    member_status_after_confirmation,
    status_after_confirmation,
    unobserved_status,
)

S = OperatingStatus


@pytest.mark.parametrize("was", S)
def test_observed_status_stays_at_a_confirmation(was: OperatingStatus) -> None:
    assert status_after_confirmation(was, new=False, enabled=True, carries_traffic=True) is was
    assert member_status_after_confirmation(was, new=False, enabled=True, monitored=False) is was


def test_first_confirmation_makes_online_if_enabled() -> None:
    assert status_after_confirmation(S.OFFLINE, new=True, enabled=True, carries_traffic=True) is S.ONLINE
    assert status_after_confirmation(S.OFFLINE, new=True, enabled=False, carries_traffic=True) is S.OFFLINE
    assert status_after_confirmation(S.OFFLINE, new=True, enabled=True, carries_traffic=False) is S.OFFLINE
    assert status_after_confirmation(S.ERROR, new=True, enabled=True, carries_traffic=True) is S.ERROR


@pytest.mark.parametrize("was", [S.OFFLINE, S.NO_MONITOR])
def test_a_new_member_waits_for_its_monitor_or_states_that_there_is_none(was: OperatingStatus) -> None:
    assert member_status_after_confirmation(was, new=True, enabled=True, monitored=False) is S.NO_MONITOR
    assert member_status_after_confirmation(was, new=True, enabled=True, monitored=True) is was
    assert member_status_after_confirmation(was, new=True, enabled=False, monitored=False) is S.OFFLINE


def test_unobserved_object_is_online_if_enabled() -> None:
    assert (unobserved_status(enabled=True), unobserved_status(enabled=False)) == (S.ONLINE, S.OFFLINE)


def test_below_a_load_balancer_out_of_reach_nothing_states_that_it_works() -> None:
    kept = {S.OFFLINE, S.NO_MONITOR}
    for was in S:
        assert child_status_from_load_balancer(was, S.OFFLINE) is (was if was in kept else S.OFFLINE)
        assert child_status_from_load_balancer(was, S.ERROR) is (was if was in kept else S.ERROR)


def test_unwatched_online_is_degraded_and_restored() -> None:
    for was, now in STATUS_WHEN_UNOBSERVED.items():
        assert STATUS_WHEN_OBSERVED_AGAIN[now] is was
    assert set(STATUS_WHEN_UNOBSERVED) == {S.ONLINE}
