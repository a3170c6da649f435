"""What a quota allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.errors import Invalid, QuotaReached
from evenkeel.core.resources.catalogue import parse_profile_data, zone_group_of
from evenkeel.core.resources.quota import TITLES, UNLIMITED, Quotas, exceeded_quotas

limits = st.integers(UNLIMITED, 5)
counts = st.dictionaries(st.sampled_from(sorted(TITLES)), st.integers(0, 6))


@given(quotas=st.builds(Quotas, **dict.fromkeys(TITLES, limits)), used=counts, wanted=counts)
def test_exceeded_quotas_are_exactly_those_above_their_limit(
    quotas: Quotas, used: dict[str, int], wanted: dict[str, int]
) -> None:
    met = exceeded_quotas(quotas, used, wanted)
    for name, title in TITLES.items():
        limit, more = getattr(quotas, name), wanted.get(name, 0)
        fits = limit == UNLIMITED or more <= 0 or used.get(name, 0) + more <= limit
        assert (title in met) is not fits


@given(own=st.dictionaries(st.sampled_from(sorted(TITLES)), st.none() | limits))
def test_own_limits_stand_in_place_of_the_defaults(own: dict[str, int | None]) -> None:
    both = Quotas(loadbalancer=7, l7rule=8).with_project_limits(own)
    for name in TITLES:
        default = {"loadbalancer": 7, "l7rule": 8}.get(name, UNLIMITED)
        assert getattr(both, name) == (default if own.get(name) is None else own[name])


def test_a_refusal_reads_as_octavias() -> None:
    assert str(QuotaReached(["Pool", "L7 Rule"])) == "Quota has been met for resources: Pool, L7 Rule"


@pytest.mark.parametrize("text", ["", "no", "[]", "1", "null", '{"a": }', "[" * 4000])
def test_profile_data_that_is_no_object_is_named(text: str) -> None:
    with pytest.raises(Invalid, match="is not a valid option for flavor_data"):
        parse_profile_data("flavor_data", text)


@pytest.mark.parametrize("number", [0, -1, "1", 1.5, True, [1], 2**31])
def test_a_zone_names_its_group_by_a_number(number: object) -> None:
    assert zone_group_of({"environment_group_number": 3}) == 3
    assert zone_group_of({}) is None
    with pytest.raises(Invalid, match="environment_group_number should be the number"):
        zone_group_of({"environment_group_number": number})
