"""Messages about forwarding entries: only ids of networks are taken from them, whatever they are."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.neutron_agent.forwarding import NETWORKS_MAX, extract_network_ids

ONE, OTHER = (f"{number}0000000-0000-4000-8000-000000000000" for number in "ab")
PORTS = {"192.0.2.1": [["fa:16:3e:00:00:01", "10.0.0.9"], ["00:00:00:00:00:00", "0.0.0.0"]]}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({ONE: {"segment_id": 7, "network_type": "vxlan", "ports": PORTS}}, {ONE}),
        ({"chg_ip": {ONE: {"192.0.2.1": {"before": [["m", "10.0.0.9"]], "after": []}}, OTHER: {}}}, {ONE, OTHER}),
        ({"not-an-id": {}, 7: {}, ONE.upper(): {}}, set()),
        ({"chg_ip": [ONE]}, set()),
        (None, set()),
        ([ONE], set()),
    ],
)
def test_networks_of_neutrons_messages(entries: object, expected: set[str]) -> None:
    assert extract_network_ids(entries) == expected


def test_one_message_is_about_a_limited_number() -> None:
    assert len(extract_network_ids({str(uuid.uuid4()): {} for _ in range(3 * NETWORKS_MAX)})) == NETWORKS_MAX


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)
    )
)
def test_no_message_is_an_error(entries: object) -> None:
    extract_network_ids(entries)
