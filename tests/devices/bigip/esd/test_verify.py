from evenkeel.config.esd.definition import Definition
from evenkeel.devices.bigip.esd.verify import verify_definition

WEB = Definition(
    name="web",
    file="a.json",
    tags={"lbaas_ctcp": ("/Common/wan",), "lbaas_irule": ("/Common/r",), "lbaas_persist": ("/Common/hash",)},
)
GOOD = {
    "ltm/profile/tcp": frozenset({"/Common/wan"}),
    "ltm/rule": frozenset({"/Common/r", "/Common/s"}),
    "ltm/persistence/hash": frozenset({"/Common/hash"}),
    "ltm/persistence/cookie": frozenset(),
}


def test_objects_on_every_device_make_it_usable() -> None:
    found = verify_definition(WEB, {"one": GOOD, "two": GOOD})
    assert not found.problem
    assert found.types["lbaas_persist"] == "ltm/persistence/hash"


def test_object_missing_on_one_device_is_a_problem_that_names_device_and_object() -> None:
    found = verify_definition(WEB, {"one": GOOD, "two": {**GOOD, "ltm/rule": frozenset()}})
    assert found.problem == (
        "a.json: enhanced service 'web': lbaas_irule: '/Common/r': device two has no ltm/rule of that name; "
        "an object that is on every device is allowed"
    )


def test_an_object_of_another_type_does_not_count() -> None:
    other = {**GOOD, "ltm/profile/tcp": frozenset(), "ltm/profile/udp": frozenset({"/Common/wan"})}
    found = verify_definition(WEB, {"one": other}, strict=True)
    assert "device one has no ltm/profile/tcp" in found.problem
    assert "device one has no ltm/profile/tcp" in verify_definition(WEB, {"one": other}).warnings[0]


def test_persistence_may_be_of_any_type_but_the_same_everywhere() -> None:
    other = {**GOOD, "ltm/persistence/hash": frozenset(), "ltm/persistence/cookie": frozenset({"/Common/hash"})}
    assert not verify_definition(WEB, {"two": other}).problem
    assert "has another type on each device" in verify_definition(WEB, {"one": GOOD, "two": other}).problem
    none = {**GOOD, "ltm/persistence/hash": frozenset()}
    assert "none of ltm/persistence/cookie, " in verify_definition(WEB, {"one": none}, strict=True).problem


def test_a_device_that_was_not_asked_is_left_out() -> None:
    assert not verify_definition(WEB, {}).problem
    assert not verify_definition(WEB, {"one": GOOD, "two": {"ltm/rule": frozenset({"/Common/r"})}}).problem


def test_a_problem_of_the_file_stays() -> None:
    broken = Definition(name="web", file="a.json", problem="wrong")
    assert verify_definition(broken, {"one": GOOD}) == broken


def test_tag_with_an_object_that_no_device_has_is_discarded_with_a_warning() -> None:
    none = {**GOOD, "ltm/rule": frozenset()}
    found = verify_definition(WEB, {"one": none, "two": none})
    assert not found.problem and set(found.tags) == {"lbaas_ctcp", "lbaas_persist"} == set(found.types)
    (warning,) = found.warnings
    assert "lbaas_irule: '/Common/r': device one has no ltm/rule" in warning and "the tag is discarded" in warning


def test_definition_whose_objects_no_device_has_is_unusable() -> None:
    none = {kind: frozenset[str]() for kind in GOOD}
    assert verify_definition(WEB, {"one": none}).problem


def test_difference_between_devices_discards_nothing() -> None:
    """Else a new device without an iRule would end it on the device that has the traffic."""
    found = verify_definition(WEB, {"one": GOOD, "two": {**GOOD, "ltm/rule": frozenset()}})
    assert found.problem and found.tags == WEB.tags
