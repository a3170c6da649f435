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
    found = verify_definition(
        WEB, {"one": {**GOOD, "ltm/profile/tcp": frozenset(), "ltm/profile/udp": frozenset({"/Common/wan"})}}
    )
    assert "device one has no ltm/profile/tcp" in found.problem


def test_persistence_may_be_of_any_type_but_the_same_everywhere() -> None:
    other = {**GOOD, "ltm/persistence/hash": frozenset(), "ltm/persistence/cookie": frozenset({"/Common/hash"})}
    assert not verify_definition(WEB, {"two": other}).problem
    assert "has another type on each device" in verify_definition(WEB, {"one": GOOD, "two": other}).problem
    none = {**GOOD, "ltm/persistence/hash": frozenset()}
    assert "has no any of" not in verify_definition(WEB, {"one": none}).problem
    assert "none of ltm/persistence/cookie, " in verify_definition(WEB, {"one": none}).problem


def test_a_device_that_was_not_asked_is_left_out() -> None:
    assert not verify_definition(WEB, {}).problem
    assert not verify_definition(WEB, {"one": GOOD, "two": {"ltm/rule": frozenset({"/Common/r"})}}).problem


def test_a_problem_of_the_file_stays() -> None:
    broken = Definition(name="web", file="a.json", problem="wrong")
    assert verify_definition(broken, {"one": GOOD}) == broken
