import pytest

from evenkeel.serving.peers import client_identity, is_in_networks, parse_networks


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_addresses_of_one_host_count_together(address: str, host: str) -> None:
    assert client_identity(address) == host


def test_networks_of_an_option() -> None:
    assert is_in_networks("::ffff:127.0.0.1", parse_networks(["127.0.0.0/8", "::1"], "x"))
    assert not is_in_networks("what", parse_networks(["127.0.0.0/8"], "x"))
    with pytest.raises(ValueError, match=r"^api.proxies: 10\.0\.0\.1/8 .*allowed"):
        parse_networks(["10.0.0.1/8"], "api.proxies")
