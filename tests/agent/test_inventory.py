"""What is called absent, changed or renewed, and what is not."""

from itertools import pairwise

from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.agent.inventory import (
    AGAIN_SECONDS,
    REPEAT,
    REQUEST_SECONDS,
    Findings,
    Inventory,
)
from evenkeel.core.devices.device import DeviceState, Observation


def device(name: str = "a", *, incarnation: str = "1", identity: str = "", reachable: bool = True) -> DeviceState:
    return DeviceState(name=name, reachable=reachable, incarnation=incarnation, identity=identity)


class Looks:
    """An inventory with the controllers' side: what is expected, and how it is asked for."""

    def __init__(self, *expected: str) -> None:
        self.inventory = Inventory()
        self.expected = set(expected)
        self.shown_absent: set[str] = set()
        self.asked = 0
        self.now = 1000.0

    def look(
        self,
        held: dict[str, str] | None,
        *,
        devices: tuple[DeviceState, ...] = (device(),),
        lacking: dict[str, str] | None = None,
        seconds: float = 5.0,
    ) -> Findings:
        self.now += seconds
        seen = Observation(configurations=held, devices=devices, lacking=lacking or {})
        self.inventory.observe(seen, self.now)
        if self.inventory.is_expected_list_due(self.now):
            self.asked += 1
            self.inventory.compare_with_expected(self.expected, self.shown_absent, self.now)
        return self.inventory.findings()


def test_a_device_that_was_restored_before_the_first_look_is_renewed() -> None:
    """The observer before may have gone at the same time; what this process knew of the device tells."""
    known = DeviceIncarnations()
    known.record_and_compare([device(incarnation="1")])
    inventory = Inventory(known)
    inventory.observe(Observation(configurations={}, devices=(device(incarnation="2"),)), 1000.0)
    assert inventory.findings().renewed == ("a",)


def test_nothing_is_reported_of_devices_that_hold_what_they_held() -> None:
    looks = Looks("lb-1")
    assert not any(looks.look({"lb-1": "x"}) for _ in range(5))
    assert looks.asked == 1
    looks.look({"lb-1": "x"}, seconds=REQUEST_SECONDS)
    assert looks.asked == 2


def test_devices_that_cannot_tell_what_they_hold_are_not_called_empty() -> None:
    looks = Looks("lb-1")
    assert not any(looks.look(None) for _ in range(5))
    assert looks.asked == 0


def test_expected_load_balancer_missing_in_two_observations_is_absent_until_it_is_back() -> None:
    looks = Looks("lb-1", "lb-2")
    looks.look({"lb-1": "x", "lb-2": "y"})
    assert not looks.look({"lb-2": "y"})
    assert looks.inventory.must_recheck_missing_load_balancers_soon
    assert looks.look({"lb-2": "y"}, seconds=1.0) == Findings(absent=("lb-1",))
    assert not looks.inventory.must_recheck_missing_load_balancers_soon
    assert looks.look({"lb-1": "x", "lb-2": "y"}) == Findings(present=("lb-1",))
    assert not looks.look({"lb-1": "x", "lb-2": "y"})


def test_load_balancer_missing_before_the_first_observation_is_absent() -> None:
    looks = Looks("lb-1")
    assert not looks.look({})
    assert looks.look({}).absent == ("lb-1",)


def test_load_balancer_deleted_or_confirmed_between_observations_is_not_absent() -> None:
    looks = Looks("lb-1")
    looks.look({"lb-1": "x"})
    looks.look({})
    looks.expected = set()  # it was deleted
    assert not looks.look({})
    looks.expected = {"lb-2"}  # it was confirmed after the look began
    looks.inventory._request_at = 0.0
    assert not looks.look({})
    assert not looks.look({"lb-2": "x"})
    assert not looks.look({"lb-2": "x"})


def test_lasting_absence_is_reported_at_growing_intervals() -> None:
    looks = Looks("lb-1")
    told = [looks.now for _ in range(60) if looks.look({}).absent]
    pauses = [after - before for before, after in pairwise(told)]
    assert pauses == sorted(pauses) and pauses[0] == 5.0
    assert max(pauses) <= REPEAT.max_seconds + 5.0


def test_next_observer_reports_a_load_balancer_shown_as_absent_as_present() -> None:
    looks = Looks("lb-1")
    looks.shown_absent = {"lb-1"}
    assert looks.look({"lb-1": "x"}) == Findings(present=("lb-1",))


def test_lasting_absence_does_not_request_the_expected_at_every_observation() -> None:
    looks = Looks("lb-1", "lb-2")
    for _ in range(600):
        looks.look({"lb-2": "x"}, seconds=0.1)
    assert looks.asked <= 2 + 4 + 1  # to find it, for each time that it is told again, and the one of the minute
    asked = looks.asked
    assert looks.look({"lb-1": "x", "lb-2": "x"}, seconds=0.1) == Findings(present=("lb-1",))
    assert looks.asked == asked + 1


def test_however_many_become_absent_one_after_the_other_they_share_the_questions() -> None:
    ids = [f"lb-{n}" for n in range(100)]
    looks = Looks(*ids)
    for gone in range(100):
        looks.look(dict.fromkeys(ids[gone + 1 :], "x"), seconds=0.1)
        looks.look(dict.fromkeys(ids[gone + 1 :], "x"), seconds=0.1)
    asked = looks.asked
    for _ in range(600):
        looks.look({}, seconds=0.1)
    assert looks.asked - asked <= 60.0 / REPEAT.initial_seconds + 1


def test_a_digest_that_changed_is_reported_twice_and_a_new_one_is_no_change() -> None:
    looks = Looks("lb-1", "lb-2")
    looks.look({"lb-1": "x"})
    held = {"lb-1": "other", "lb-2": "new"}
    assert looks.look(held) == Findings(changed=("lb-1",))
    assert not looks.look(held, seconds=AGAIN_SECONDS - 1.0)
    assert looks.look(held, seconds=1.0) == Findings(changed=("lb-1",))  # what followed from the first may be lost
    assert not any(looks.look(held) for _ in range(20))


def test_repeated_change_is_reported_once_more_when_it_ends() -> None:
    looks = Looks("lb-1")
    assert [bool(looks.look({"lb-1": str(number)})) for number in range(4)] == [False, True, True, True]
    told = [looks.now for _ in range(20) if looks.look({"lb-1": "3"}).changed]
    assert len(told) == 1


def test_digests_are_not_compared_with_those_of_other_devices() -> None:
    both, one = (device(), device("b")), (device(), device("b", reachable=False, incarnation=""))
    looks = Looks("lb-1")
    looks.look({"lb-1": "of both"}, devices=both)
    assert not looks.look({"lb-1": "of one"}, devices=one)
    assert not looks.look({"lb-1": "of both"}, devices=both)


def test_a_device_that_is_another_or_may_hold_anything_is_reported() -> None:
    looks = Looks("lb-1")
    looks.look({"lb-1": "x"}, devices=(device(identity="s1"),))
    assert looks.look({"lb-1": "x"}, devices=(device(identity="s1", incarnation="2"),)).renewed == ("a",)
    assert looks.asked == 2
    assert looks.look({"lb-1": "x"}, devices=(device(identity="s2", incarnation="2"),)).renewed == ("a",)
    assert not looks.look({"lb-1": "x"}, devices=(device(identity="", incarnation=""),))
    again = looks.look({"lb-1": "x"}, devices=(device(identity="s2", incarnation="2"),), seconds=AGAIN_SECONDS)
    assert again == Findings(renewed_before=("a",))
    assert not any(looks.look({"lb-1": "x"}, devices=(device(identity="s2", incarnation="2"),)) for _ in range(20))


def test_a_device_that_is_back_and_cannot_tell_may_hold_anything() -> None:
    for incarnation, renewed in (("", ("a",)), ("1", ())):
        looks = Looks("lb-1")
        looks.look({"lb-1": "x"}, devices=(device(incarnation=incarnation),))
        looks.inventory.observe_unreachable()
        assert looks.look({"lb-1": "x"}, devices=(device(incarnation=incarnation),)).renewed == renewed


def test_load_balancer_missing_on_one_device_in_two_observations_is_reported() -> None:
    looks = Looks("lb-1")
    assert not looks.look({"lb-1": "x"}, lacking={"lb-1": "b"})
    assert looks.inventory.must_recheck_missing_load_balancers_soon
    assert looks.look({"lb-1": "x"}, lacking={"lb-1": "b"}, seconds=1.0) == Findings(lacking={"lb-1": "b"})
    assert not looks.look({"lb-1": "x"}, lacking={"lb-1": "b"}, seconds=1.0)
    assert looks.look({"lb-1": "x"}, lacking={"lb-1": "b"}) == Findings(lacking={"lb-1": "b"})
    assert not looks.look({"lb-1": "x"})


def test_findings_that_did_not_arrive_go_with_the_next() -> None:
    looks = Looks("lb-1")
    looks.look({"lb-1": "x"})
    assert looks.look({"lb-1": "y"}, devices=(device(incarnation="1"),)).changed
    looks.inventory.mark_unreported()
    assert looks.look({"lb-1": "y"}) == Findings(changed=("lb-1",))
    assert not looks.look({"lb-1": "y"})
    assert looks.look({"lb-1": "y"}, seconds=AGAIN_SECONDS) == Findings(changed=("lb-1",))
    looks.inventory.mark_unreported()
    assert looks.look({"lb-1": "y"}) == Findings(changed=("lb-1",))


def test_a_controller_that_cannot_state_what_is_expected_raises_no_alarm() -> None:
    inventory = Inventory()
    for now in (0.0, 5.0, 10.0):
        inventory.observe(Observation(configurations={}, devices=(device(),)), now)
        assert inventory.is_expected_list_due(now)
        inventory.compare_with_expected(None, (), now)
        assert not inventory.findings()


def test_unexpected_load_balancer_is_remembered_since_it_was_found() -> None:
    looks = Looks("lb-1")
    looks.look({"lb-1": "x", "orphan": "y"})
    first = looks.now
    looks.look({"lb-1": "x", "orphan": "y", "new": "z"}, seconds=REQUEST_SECONDS)
    assert looks.inventory.unexpected_load_balancers(looks.now) == {"orphan": looks.now - first, "new": 0.0}
    looks.expected.add("new")
    looks.look({"lb-1": "x", "new": "z"}, seconds=REQUEST_SECONDS)
    assert looks.inventory.unexpected_load_balancers(looks.now) == {}


def test_nothing_is_unexpected_while_nobody_states_what_is_expected() -> None:
    inventory = Inventory()
    inventory.observe(Observation(configurations={"lb-1": "x"}, devices=(device(),)), 1000.0)
    inventory.compare_with_expected(None, (), 1000.0)
    assert inventory.unexpected_load_balancers(1000.0) == {}
