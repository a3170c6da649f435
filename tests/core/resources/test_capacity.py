import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.resources.capacity import (
    CapacityFigure,
    Metric,
    amounts_of_new_load_balancer,
    capacity_figures,
    capacity_score,
    metrics_at_limit,
    parse_policy,
)

limits = st.floats(min_value=0.001, max_value=1e12)
values = st.floats(min_value=0, max_value=1e12)
policies = st.dictionaries(st.sampled_from([metric.value for metric in Metric]), limits)
measured = st.dictionaries(
    st.sampled_from([metric.value for metric in Metric]), st.builds(CapacityFigure, value=values, limit=limits)
)
amounts = st.dictionaries(st.sampled_from([metric.value for metric in Metric]), values)


def test_the_metrics_are_the_eleven_of_f5() -> None:
    assert set(Metric) == {
        "throughput",
        "inbound_throughput",
        "outbound_throughput",
        "active_connections",
        "tenant_count",
        "node_count",
        "route_domain_count",
        "vlan_count",
        "tunnel_count",
        "ssltps",
        "clientssl_profile_count",
    }


@given(policies)
def test_a_policy_reads_back_as_it_was_written(policy: dict[str, float]) -> None:
    text = ", ".join(f"{name}:{limit!r}" for name, limit in policy.items())
    assert parse_policy(text) == policy


@pytest.mark.parametrize("text", ["", "  ", " , "])
def test_an_empty_policy_limits_nothing(text: str) -> None:
    assert parse_policy(text) == {}


@pytest.mark.parametrize(
    ("text", "wrong", "allowed"),
    [
        ("tenants:5", "'tenants'", "tenant_count"),
        ("tenant_count", "'tenant_count'", "metric:limit"),
        ("tenant_count:none", "'none'", "above 0"),
        ("tenant_count:", "''", "above 0"),
        ("tenant_count:0", "'0'", "above 0"),
        ("tenant_count:-3", "'-3'", "above 0"),
        ("tenant_count:nan", "'nan'", "above 0"),
        ("tenant_count:inf", "'inf'", "above 0"),
        ("tenant_count:2e18", "'2e18'", "at most 1e+18"),
        ("tenant_count:1:2", "'1:2'", "above 0"),
        ("node_count:1, node_count:2", "node_count", "one limit"),
    ],
)
def test_a_bad_policy_is_refused_by_name_value_and_what_is_allowed(text: str, wrong: str, allowed: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_policy(text)
    assert str(refused.value).startswith("capacity_policy: ")
    assert wrong in str(refused.value) and allowed in str(refused.value)


def test_figures_leave_out_what_was_not_measured_or_not_requested() -> None:
    found = capacity_figures({"tenant_count": 10.0, "ssltps": 5.0}, {"tenant_count": 3.0, "vlan_count": 2.0})
    assert found == {"tenant_count": CapacityFigure(value=3.0, limit=10.0)}


def test_the_fullest_metric_decides() -> None:
    found = {"node_count": CapacityFigure(value=1, limit=4), "tenant_count": CapacityFigure(value=9, limit=10)}
    assert capacity_score(found) == 0.9
    assert capacity_score(found, {"node_count": 3.0}) == 1.0
    assert capacity_score({}, {"node_count": 3.0}) == 0.0


@given(measured, amounts, amounts)
def test_the_score_grows_with_what_is_reserved(
    found: dict[str, CapacityFigure], some: dict[str, float], more: dict[str, float]
) -> None:
    both = {name: some.get(name, 0.0) + more.get(name, 0.0) for name in {*some, *more}}
    assert 0.0 <= capacity_score(found) <= capacity_score(found, some) <= capacity_score(found, both)


@given(measured, amounts)
def test_a_group_is_full_exactly_if_a_metric_is_named(found: dict[str, CapacityFigure], some: dict[str, float]) -> None:
    assert (capacity_score(found, some) >= 1.0) == bool(metrics_at_limit(found, some))


def test_the_reason_tells_figure_and_limit() -> None:
    found = {
        "throughput": CapacityFigure(value=1_000_000_000.5, limit=1e9),
        "tenant_count": CapacityFigure(value=9, limit=10),
        "vlan_count": CapacityFigure(value=1, limit=2),
    }
    assert metrics_at_limit(found, {"tenant_count": 1.0}) == (
        "tenant_count 10 of 10",
        "throughput 1000000000.5 of 1000000000",
    )


@given(st.integers(0, 20), st.booleans())
def test_a_load_balancer_adds_its_addresses_and_its_tenant_if_that_is_new(addresses: int, new: bool) -> None:
    added = amounts_of_new_load_balancer(addresses, new_tenant=new)
    assert added.get("tenant_count", 0.0) == (1.0 if new else 0.0)
    assert added.get("node_count", 0.0) == addresses
    assert set(added) <= {"tenant_count", "node_count"}
