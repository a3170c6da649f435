"""Values that become parts of nft's commands are checked before anything reads them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.layer4.configs import balancer

SETTINGS = DaemonSettings(name="host-1", state_dir=Path("/s"), run_dir=Path("/r"))
SERVER = wire.BackendServer(name="m1", address="10.2.0.1", port=53)
INJECTED = "10.0.0.0/8 }; flush ruleset #"


def changed_server(**changes: Any) -> wire.LoadBalancerConfig:
    return balancer(msgspec.structs.replace(SERVER, **changes))


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (balancer(SERVER, listener={"allowed_cidrs": (INJECTED,)}), "allowed_cidrs has '10.0.0.0/8 }; flush"),
        (balancer(SERVER, listener={"allowed_cidrs": ("fe80::%eth0/64",)}), "allowed_cidrs has"),
        (balancer(SERVER, listener={"name": "a }; flush ruleset"}), "frontend name is 'a }; flush ruleset'"),
        (balancer(SERVER, listener={"binds": ()}), "binds is empty"),
        (balancer(SERVER, listener={"flows_max": 0}), "flows_max is 0; 1 to 2147483647 is allowed"),
        (balancer(SERVER, listener={"backend": "other"}), "backend is 'other'; a backend with datagrams is allowed"),
        (balancer(SERVER, vips=("127.0.0.1",)), "bind: address is '127.0.0.1'"),
        (balancer(SERVER, vips=("192.0.2.1; drop",)), "bind: address is '192.0.2.1; drop'"),
        (balancer(SERVER, port=0), "bind: port is 0"),
        (balancer(SERVER, sticky_netmask="255.0.0.0; drop"), "sticky_netmask is '255.0.0.0; drop'"),
        (balancer(SERVER, sticky_seconds=-1), "sticky_seconds is -1; 0 to 604800 is allowed"),
        (changed_server(name="m1 drop"), "server name is 'm1 drop'"),
        (changed_server(address="10.2.0.1; drop"), "address is '10.2.0.1; drop'"),
        (changed_server(address="169.254.169.254"), "address is '169.254.169.254'"),
        (changed_server(ping_port=0), "ping_port: port is 0"),
        (changed_server(weight=257), "weight is 257"),
        (balancer(SERVER, msgspec.structs.replace(SERVER, name="m2")), "2 servers at '10.2.0.1' port 53"),
        (
            balancer(
                msgspec.structs.replace(SERVER, address="2001:db8::1"),
                msgspec.structs.replace(SERVER, address="2001:DB8:0::1", name="m2"),
            ),
            "2 servers at '2001:db8::1' port 53",
        ),
    ],
)
def test_bad_value_is_refused_by_name(config: wire.LoadBalancerConfig, text: str) -> None:
    assert text in load_balancer_problem(config, SETTINGS)


def test_good_load_balancer_is_accepted() -> None:
    assert load_balancer_problem(balancer(SERVER, listener={"allowed_cidrs": ("10.0.0.0/8", "::/0")}), SETTINGS) == ""


def test_protocols_of_listener_and_backend_agree_by_type() -> None:
    with pytest.raises(msgspec.ValidationError, match="protocol"):
        msgspec.json.decode(b'{"name": "l", "binds": [], "protocol": "icmp"}', type=wire.DatagramListener)
