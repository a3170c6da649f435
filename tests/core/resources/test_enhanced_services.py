from evenkeel.core.resources.enhanced_services import (
    EnhancedService,
    is_service_name,
    select_services,
    services_in_tags,
    usable_services,
)


def test_the_nearest_choice_comes_first_and_each_name_once() -> None:
    names = select_services(
        policies=("second", "first"),
        listener_tags=("esd:tagged", "blue", "esd:first"),
        load_balancer_tags=("esd:lb", "esd:a"),
        flavor=("gold", "lb"),
    )
    assert names == ("second", "first", "tagged", "a", "lb", "gold")


def test_other_tags_are_just_tags() -> None:
    assert services_in_tags(("web", "ESD:web", "esd", "x-esd:web")) == ()
    assert services_in_tags(("esd:b", "esd:a", "esd:b")) == ("a", "b")


def test_names_are_plain() -> None:
    assert is_service_name("esd_demo_1")
    assert is_service_name("proxy-protocol.2")
    for wrong in ("", "a b", "a/b", "a:b", "é", "x" * 65, "a\n"):
        assert not is_service_name(wrong)


def test_only_what_can_be_used_is_offered() -> None:
    services = (
        EnhancedService(name="good"),
        EnhancedService(name="bad", problem="no such profile"),
        EnhancedService(name="", file="x.json", problem="not JSON"),
    )
    assert [one.name for one in usable_services(services)] == ["good"]
