"""Whether views agree, over hand-made answers."""

from typing import Any

from evenkeel.demo.views import member_differences, ownership_violations, unsettled_object_texts


def agent(name: str, *serving: tuple[str, int], alive: bool = True) -> dict[str, Any]:
    """An agent that says it serves these shards."""
    said = [{"shard_id": shard_id, "epoch": epoch} for shard_id, epoch in serving]
    return {"id": name, "host": name, "alive": alive, "serving": said}


def shard(name: str, acting: str | None, epoch: int = 1) -> dict[str, Any]:
    """A shard in the table."""
    return {"id": name, "acting_agent_id": acting, "epoch": epoch}


def test_equal_views_agree() -> None:
    assert ownership_violations([agent("a", ("s", 1)), agent("b")], [shard("s", "a")]) == []


def test_a_shard_that_nobody_serves_is_found() -> None:
    assert ownership_violations([agent("a")], [shard("s", None)]) == ["shard s has no acting agent"]


def test_a_dead_owner_is_found_and_its_last_words_do_not_count() -> None:
    found = ownership_violations([agent("a", ("s", 1), alive=False)], [shard("s", "a")])
    assert found == ["shard s is assigned to a, which is not alive"]


def test_an_owner_that_does_not_know_is_found() -> None:
    assert ownership_violations([agent("a")], [shard("s", "a")]) == [
        "a does not report that it serves shard s at epoch 1"
    ]


def test_an_old_epoch_disagrees_on_both_sides() -> None:
    assert len(ownership_violations([agent("a", ("s", 1))], [shard("s", "a", epoch=2)])) == 2


def test_two_that_claim_one_shard_are_found() -> None:
    found = ownership_violations([agent("a", ("s", 1)), agent("b", ("s", 1))], [shard("s", "a")])
    assert found == ["b reports that it serves shard s at epoch 1, which is not its own"]


def test_objects_that_are_not_active_are_named() -> None:
    rows = [
        {"id": "1", "name": "web", "provisioning_status": "ACTIVE"},
        {"id": "2", "name": "", "provisioning_status": "ERROR"},
    ]
    assert unsettled_object_texts(rows) == ["2 is ERROR"]


def test_devices_that_hold_what_is_wanted_do_not_differ() -> None:
    assert member_differences({"one": {"a:80", "b:80"}, "two": {"b:80", "a:80"}}, {"a:80", "b:80"}) == []


def test_each_device_is_reported_with_what_it_lacks_and_what_it_holds_too_much() -> None:
    assert member_differences({"one": {"a:80", "c:80"}, "two": set()}, {"a:80", "b:80"}) == [
        "one lacks b:80",
        "one still holds c:80",
        "two lacks a:80, b:80",
    ]
