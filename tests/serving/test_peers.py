import pytest

from evenkeel.serving.peers import host_of, is_in, networks


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
    assert host_of(address) == host


def test_networks_of_an_option() -> None:
    assert is_in("::ffff:127.0.0.1", networks(["127.0.0.0/8", "::1"], "x"))
    assert not is_in("what", networks(["127.0.0.0/8"], "x"))
    with pytest.raises(ValueError, match=r"^api.proxies: 10\.0\.0\.1/8 .*allowed"):
        networks(["10.0.0.1/8"], "api.proxies")
