"""What stands here for flavors and availability zones of an Octavia."""

import pytest

from evenkeel.cli.client import ApiRefused, UsageError
from evenkeel.cli.moving_in.octavia.catalogue import (
    FLAVOR_KIND,
    ZONE_KIND,
    CatalogueEntry,
    CatalogueKind,
    ReplacementChooser,
    parse_pairs,
    read_entries,
)
from evenkeel.cli.moving_in.octavia.source import OctaviaApi
from tests.cli.moving_in.octavia.recorded import FLAVOR, RecordedOctavia

THEIRS = {
    each.identity: each
    for each in (CatalogueEntry("f-1", "big", "amphora", "{}"), CatalogueEntry("f-2", "small", "amphora"))
}
OURS = {
    each.identity: each for each in (CatalogueEntry("o-1", "big", "gold", "{}"), CatalogueEntry("o-2", "fast", "gold"))
}


def catalogue(
    kind: CatalogueKind = FLAVOR_KIND, ours: dict[str, CatalogueEntry] = OURS, **given: str
) -> ReplacementChooser:
    return ReplacementChooser(kind, source=THEIRS, ours=ours, given=given, provider="gold")


def test_flavor_is_replaced_by_ours_with_its_name_or_by_the_given_one() -> None:
    assert catalogue().choose("f-1").ours == "o-1"
    assert catalogue(small="fast").choose("f-2").ours == "o-2"
    # names and ids, and what is given before what has the same name
    assert catalogue(**{"f-1": "o-2"}).choose("f-1").ours == "o-2"


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        ({}, "no flavor here has its name: --flavor big=OURS"),
        ({"o": CatalogueEntry("o", "big", "gold", enabled=False)}, "is disabled: --flavor big=OURS"),
        ({"o": CatalogueEntry("o", "big", "silver")}, "is of provider silver: --flavor big=OURS"),
    ],
)
def test_flavor_without_an_equal_has_the_reason_and_what_helps(ours: dict[str, CatalogueEntry], reason: str) -> None:
    choice = catalogue(ours=ours).choose("f-1")
    assert choice.ours is None and reason in choice.reason


def test_flavor_that_the_source_does_not_show_is_named_by_its_id() -> None:
    assert catalogue().choose("f-9").reason == "no flavor here has its name: --flavor f-9=OURS"


def test_only_used_entries_are_reported_with_their_settings() -> None:
    made = catalogue()
    made.choose("f-1")
    made.choose("f-1")
    made.choose("f-2")
    assert [str(each) for each in made.used.values()] == [
        "flavor f-1 (big) {}: here o-1",
        "flavor f-2 (small): not carried over: no flavor here has its name: --flavor small=OURS",
    ]
    assert made.used["f-1"].as_json() == {
        "kind": "flavor",
        "id": "f-1",
        "name": "big",
        "flavor_data": "{}",
        "ours": "o-1",
        "reason": "",
    }


def test_zones_are_known_by_their_names() -> None:
    zones = {each.identity: each for each in (CatalogueEntry("east", "east", "gold"),)}
    made = ReplacementChooser(ZONE_KIND, source={}, ours=zones, given={}, provider="gold")
    assert made.choose("east").ours == "east"
    assert made.choose("west").reason == "no availability zone here has its name: --availability-zone west=OURS"


@pytest.mark.parametrize(
    ("given", "words"),
    [({"none": "fast"}, "the source has no 'none'"), ({"big": "none"}, "our catalogue has no 'none'")],
)
def test_given_names_must_exist(given: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        catalogue(**given)


@pytest.mark.parametrize(
    ("texts", "words"),
    [(["big"], "'big' is not of the form"), (["=x"], "not of the form"), (["a=b", "a=c"], "'a' is given twice")],
)
def test_pairs_that_are_none_are_refused(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_pairs("--flavor", texts)


def test_pairs_may_be_repeated_and_ours_may_contain_an_equals_sign() -> None:
    assert parse_pairs("--flavor", ["a=b", "a=b", "c=d=e"]) == {"a": "b", "c": "d=e"}


def test_entries_have_the_settings_of_their_profiles_at_the_administrators_request(
    api: OctaviaApi, octavia: RecordedOctavia
) -> None:
    data = '{"loadbalancer_topology": "SINGLE"}'
    assert read_entries(api, FLAVOR_KIND) == {FLAVOR: CatalogueEntry(FLAVOR, "big", "amphora", data)}
    assert read_entries(api, ZONE_KIND) == {}
    octavia.refused["/flavorprofiles"] = 403
    assert read_entries(api, FLAVOR_KIND) == {FLAVOR: CatalogueEntry(FLAVOR, "big")}


def test_release_without_flavors_has_no_entries_and_other_refusals_are_errors(
    api: OctaviaApi, octavia: RecordedOctavia
) -> None:
    octavia.refused |= {"/flavorprofiles": 404, "/flavors": 404}
    assert read_entries(api, FLAVOR_KIND) == {}
    octavia.refused["/flavors"] = 500
    with pytest.raises(ApiRefused, match="the source refuses GET /flavors"):
        read_entries(api, FLAVOR_KIND)
