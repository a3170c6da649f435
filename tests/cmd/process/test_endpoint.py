"""The URL that a controller announces."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from evenkeel.cmd.process.endpoint import api_url, api_url_for_other_hosts, bound_socket

NO_IPV6 = not socket.has_ipv6


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), pytest.param("::1", "[::1]", marks=pytest.mark.skipif(NO_IPV6, reason="no IPv6"))],
)
def test_an_ipv6_address_is_in_brackets(host: str, shown: str) -> None:
    conf: Any = SimpleNamespace(api=SimpleNamespace(ssl_cert_file=None))
    with bound_socket("api", host, 0) as listening:
        listening.listen()
        port = listening.getsockname()[1]
        assert api_url(listening, conf) == f"http://{shown}:{port}"
        with pytest.raises(ValueError, match=r"^api\.bind_host, api\.bind_port: .*") as raised:
            bound_socket("api", host, port)
    assert f"{shown}:{port}: " in str(raised.value)


def test_url_for_others_has_the_hosts_name_where_all_addresses_are_listened_on() -> None:
    conf: Any = SimpleNamespace(api=SimpleNamespace(ssl_cert_file="api.pem"))
    for host, shown in (("0.0.0.0", socket.gethostname()), ("127.0.0.1", "127.0.0.1")):
        with bound_socket("api", host, 0) as listening:
            assert api_url_for_other_hosts(listening, conf) == f"https://{shown}:{listening.getsockname()[1]}"
