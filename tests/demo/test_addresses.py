"""Where the VIP goes."""

import random
import socket
from ipaddress import ip_address, ip_network

from evenkeel.demo.addresses import choose_vip_address, is_free


def test_the_place_is_free_and_inside_its_subnet() -> None:
    place = choose_vip_address(random.Random(1))
    assert ip_address(place.address) in ip_network(place.cidr)
    assert is_free(place.address, place.port)


def test_a_port_in_use_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free("127.0.0.1", server.getsockname()[1])
