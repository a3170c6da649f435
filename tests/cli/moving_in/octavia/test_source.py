"""Reading of an Octavia: pages, filters, as few requests as there can be, and answers that are none."""

import copy
from typing import Any

import pytest

from evenkeel.cli.client import ApiRefused
from evenkeel.cli.moving_in.foreign import InvalidSourceData
from evenkeel.cli.moving_in.octavia.source import PROJECTS_ASKED_ONE_BY_ONE_MAX, LoadBalancerFilter, OctaviaApi
from tests.cli.moving_in.octavia.recorded import HTTP_POOL, LB, MEMBER, RecordedOctavia, uid


def test_only_pools_and_policies_with_children_are_queried_one_by_one(
    api: OctaviaApi, octavia: RecordedOctavia
) -> None:
    found = api.read(LoadBalancerFilter(provider="amphora"))
    assert [row["id"] for row in found.load_balancers] == [LB] and found.moving == frozenset()
    assert [row["id"] for row in found.members[HTTP_POOL]] == [MEMBER] and len(found.members) == 1
    assert {id_: len(rows) for id_, rows in found.rules.items()} == {uid("e", 1): 1, uid("e", 2): 1}
    assert (len(found.listeners), len(found.pools), len(found.health_monitors)) == (4, 3, 3)
    assert sorted(path.partition("?")[0] for path in octavia.queries) == sorted(
        [
            *["/loadbalancers"] * 2,
            *("/listeners", "/pools", "/healthmonitors", "/l7policies"),
            f"/pools/{HTTP_POOL}/members",
            *(f"/l7policies/{uid('e', number)}/rules" for number in (1, 2)),
        ]
    )


def test_all_pages_are_read_by_markers_of_our_own(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    octavia.page_rows = 2
    found = api.read(LoadBalancerFilter())
    assert (len(found.listeners), len(found.pools)) == (4, 3)
    assert f"/listeners?limit=1000&marker={uid('b', 2)}" in octavia.queries


def test_source_without_load_balancers_is_queried_once(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    assert api.read(LoadBalancerFilter(provider="ovn")).load_balancers == ()
    assert octavia.queries == ["/loadbalancers?limit=1000"]


@pytest.mark.parametrize(
    ("provider", "wanted", "taken"),
    [("octavia", "amphora", True), ("ovn", "amphora", False), ("ovn", None, True), ("amphora", "octavia", False)],
)
def test_load_balancers_of_the_wanted_provider_and_its_alias_are_read(
    api: OctaviaApi, octavia: RecordedOctavia, provider: str, wanted: str | None, taken: bool
) -> None:
    octavia.rows("/loadbalancers")[0]["provider"] = provider
    assert bool(api.read(LoadBalancerFilter(provider=wanted)).load_balancers) == taken
    assert api.read(LoadBalancerFilter(provider=wanted, ids=(LB,))).load_balancers


def test_lists_of_the_wanted_projects_are_read_only(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    api.read(LoadBalancerFilter(project_id="p1"))
    api.read(LoadBalancerFilter(ids=(LB,)))
    assert octavia.queries.count("/listeners?project_id=p1&limit=1000") == 2
    assert octavia.queries.count(f"/loadbalancers/{LB}") == 2


def test_lists_of_all_projects_are_read_for_load_balancers_of_many(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    first = octavia.rows("/loadbalancers")[0]
    others = [
        {**first, "id": uid("a", number), "project_id": f"p{number}", "listeners": [], "pools": []}
        for number in range(2, PROJECTS_ASKED_ONE_BY_ONE_MAX + 2)
    ]
    octavia.rows("/loadbalancers").extend(others)
    api.read(LoadBalancerFilter(ids=tuple(row["id"] for row in octavia.rows("/loadbalancers"))))
    assert "/listeners?limit=1000" in octavia.queries


def test_children_of_load_balancers_that_are_not_wanted_are_not_queried(
    api: OctaviaApi, octavia: RecordedOctavia
) -> None:
    other = copy.deepcopy(octavia.rows("/pools")[1]) | {"id": uid("c", 9), "loadbalancers": [{"id": uid("a", 9)}]}
    octavia.rows("/pools").append(other)
    api.read(LoadBalancerFilter())
    assert not [path for path in octavia.queries if uid("c", 9) in path]


@pytest.mark.parametrize(
    "change",
    [{"updated_at": "2026-11-28T18:00:00"}, {"provisioning_status": "PENDING_UPDATE"}, {"pools": []}],
)
def test_load_balancer_that_changes_while_it_is_read_is_named(
    api: OctaviaApi, octavia: RecordedOctavia, change: dict[str, Any]
) -> None:
    answer = octavia.answer

    def changing(method: str, path: str, body: Any) -> tuple[int, Any]:
        found = copy.deepcopy(answer(method, path, body))
        if "/rules" in path:
            octavia.rows("/loadbalancers")[0].update(change)
        return found

    octavia.answer = changing  # type: ignore[method-assign]
    assert api.read(LoadBalancerFilter()).moving == {LB}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"vips": []}, "GET /loadbalancers has no list loadbalancers"),
        ({"loadbalancers": {}}, "has no list loadbalancers"),
        ({"loadbalancers": ["x"]}, "an object without id in loadbalancers"),
        ({"loadbalancers": [{"id": 5}]}, "an object without id in loadbalancers"),
        ([], "GET /loadbalancers is no object"),
    ],
)
def test_answer_that_is_not_octavias_is_refused(
    api: OctaviaApi, octavia: RecordedOctavia, document: Any, words: str
) -> None:
    octavia.answer = lambda *_: (200, document)  # type: ignore[method-assign]
    with pytest.raises(InvalidSourceData, match=words):
        api.read(LoadBalancerFilter())


def test_repeated_page_ends_the_reading(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    page = {"loadbalancers": octavia.rows("/loadbalancers"), "loadbalancers_links": [{"rel": "next", "href": "x"}]}
    octavia.answer = lambda *_: (200, page)  # type: ignore[method-assign]
    with pytest.raises(InvalidSourceData, match="the source repeats a page of GET /loadbalancers"):
        api.read(LoadBalancerFilter())


def test_refusal_names_what_was_asked(api: OctaviaApi, octavia: RecordedOctavia) -> None:
    octavia.refused["/pools"] = 403
    with pytest.raises(ApiRefused, match="the source refuses GET /pools: not for you"):
        api.read(LoadBalancerFilter())
    with pytest.raises(ApiRefused, match=f"the source refuses GET /loadbalancers/{uid('a', 7)}"):
        api.read(LoadBalancerFilter(ids=(uid("a", 7),)))
