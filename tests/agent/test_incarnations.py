"""What devices tell of themselves, from look to look."""

from evenkeel.agent.incarnations import DeviceIncarnations
from evenkeel.core.devices.device import DeviceState


def device(name: str = "a", *, incarnation: str = "1", identity: str = "") -> DeviceState:
    return DeviceState(name=name, reachable=True, incarnation=incarnation, identity=identity)


def test_the_first_thing_that_a_device_tells_is_no_news() -> None:
    known = DeviceIncarnations()
    assert known.record_and_compare([device(incarnation="")]) == set()
    assert known.record_and_compare([device()]) == set()
    assert known.record_and_compare([device(), device("b")]) == set()


def test_a_device_that_tells_another_incarnation_or_identity_is_named_once() -> None:
    known = DeviceIncarnations()
    known.record_and_compare([device(identity="x"), device("b")])
    assert known.record_and_compare([device(identity="x", incarnation="2"), device("b")]) == {"a"}
    assert known.record_and_compare([device(identity="y", incarnation="2"), device("b")]) == {"a"}
    assert known.record_and_compare([device(identity="y", incarnation="2"), device("b")]) == set()


def test_a_device_that_tells_nothing_keeps_what_it_told() -> None:
    known = DeviceIncarnations()
    known.record_and_compare([device()])
    assert known.record_and_compare([device(incarnation="")]) == set()
    assert known.reports_incarnation("a") and not known.reports_incarnation("b")
    assert known.record_and_compare([device(incarnation="2")]) == {"a"}


def test_a_copy_goes_its_own_way() -> None:
    known = DeviceIncarnations()
    known.record_and_compare([device()])
    copy = known.copy()
    assert known.record_and_compare([device(incarnation="2")]) == {"a"}
    assert copy.record_and_compare([device(incarnation="2")]) == {"a"}
