"""Clients that are refused."""

import pytest

from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)


@pytest.mark.parametrize(
    ("protocol", "word"), [("HTTP", "reject"), ("TCP", "reject"), ("UDP", "drop"), ("SCTP", "drop")]
)
def test_networks_are_a_data_group_and_the_code_is_fixed(protocol: str, word: str) -> None:
    cidrs = ("192.0.2.7/32", "10.0.0.0/8", "10.0.0.0/8", "2001:db8::/32")
    wanted = service(listeners=(listener(protocol=protocol, allowed_cidrs=cidrs, default_pool_id=None),), pools=())
    found = {item.key.type: item for item in render_load_balancer(wanted, NAMES).objects}
    group = found["ltm/data-group/internal"]
    assert group.key.name == "dev_cidrs_listener-1" and group.attributes["type"] == "ip"
    assert [one["name"] for one in group.attributes["records"]] == ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]
    assert found["ltm/rule"].attributes["apiAnonymous"].splitlines()[1:] == [
        "when CLIENT_ACCEPTED {",
        '    if { ![class match [getfield [IP::client_addr] % 1] equals "/dev_a3f1c2/dev_cidrs_listener-1"] } {',
        f"        {word}",
        "        return",
        "    }",
        "}",
    ]
    everybody = service(listeners=(listener(protocol=protocol, default_pool_id=None),), pools=())
    assert {item.key.type for item in render_load_balancer(everybody, NAMES).objects} == {
        "ltm/virtual",
        "ltm/virtual-address",
    }


def test_clients_are_refused_before_anything_else() -> None:
    wanted = service(listeners=(listener(allowed_cidrs=("10.0.0.0/8",)),))
    pool = wanted.pools[0]
    by_port = type(pool)(
        **{name: getattr(pool, name) for name in pool.__struct_fields__} | {"lb_algorithm": "SOURCE_IP_PORT"}
    )
    (code,) = (
        item.attributes["apiAnonymous"]
        for item in render_load_balancer(service(listeners=wanted.listeners, pools=(by_port,)), NAMES).objects
        if item.key.type == "ltm/rule"
    )
    assert code.index("reject") < code.index("persist carp")
