from evenkeel.core.resources.enhanced_services import EnhancedService, chosen, is_name, offered, tagged


def test_the_nearest_choice_comes_first_and_each_name_once() -> None:
    names = chosen(
        policies=("second", "first"),
        listener_tags=("esd:tagged", "blue", "esd:first"),
        load_balancer_tags=("esd:lb", "esd:a"),
        flavor=("gold", "lb"),
    )
    assert names == ("second", "first", "tagged", "a", "lb", "gold")


def test_other_tags_are_just_tags() -> None:
    assert tagged(("web", "ESD:web", "esd", "x-esd:web")) == ()
    assert tagged(("esd:b", "esd:a", "esd:b")) == ("a", "b")


def test_names_are_plain() -> None:
    assert is_name("esd_demo_1")
    assert is_name("proxy-protocol.2")
    for wrong in ("", "a b", "a/b", "a:b", "é", "x" * 65, "a\n"):
        assert not is_name(wrong)


def test_only_what_can_be_used_is_offered() -> None:
    services = (
        EnhancedService(name="good"),
        EnhancedService(name="bad", problem="no such profile"),
        EnhancedService(name="", file="x.json", problem="not JSON"),
    )
    assert list(offered(services)) == ["good"]
