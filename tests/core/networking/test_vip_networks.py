"""Which networks and subnets VIPs may be on."""

import pytest

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.networking.vip_networks import ANYWHERE, IDS_SHOWN, NOT_ALLOWED, VipNetworks


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (ANYWHERE, True),
        (VipNetworks(allowed=("n1",)), True),
        (VipNetworks(allowed=("s1",)), True),
        (VipNetworks(allowed=("n2", "s2")), False),
        (VipNetworks(denied=("n1",)), False),
        (VipNetworks(denied=("s1",)), False),
        (VipNetworks(denied=("n2", "s2")), True),
        (VipNetworks(allowed=("n1",), denied=("s1",)), False),
        (VipNetworks(allowed=("s1",), denied=("n1",)), False),
        (VipNetworks(allowed=("n1",), denied=("s2",)), True),
    ],
)
def test_subnet_counts_as_its_network_and_denied_before_allowed(rules: VipNetworks, allowed: bool) -> None:
    assert rules.allows(network_id="n1", subnet_id="s1") is allowed


def test_refusal_names_field_value_and_the_first_allowed_ids_and_no_denied_id_but_the_given_one() -> None:
    many = tuple(f"n-{number}" for number in range(IDS_SHOWN + 2))
    rules = VipNetworks(allowed=many, denied=("hidden", "n1"))
    with pytest.raises(Invalid) as refused:
        rules.check(network_id="n1", subnet_id="s1", field="vip_subnet_id", value="s1")
    text = str(refused.value)
    assert "vip_subnet_id. Value: 's1'" in text and "n1 is denied" in text and "hidden" not in text
    assert "n-0, n-1, n-2, n-3, n-4 and 2 more" in text
    assert refused.value.code == NOT_ALLOWED
