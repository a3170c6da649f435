import pytest

from evenkeel.devices.haproxy import open_group
from evenkeel.devices.haproxy.naming import HaproxyNames, plain_or_digest
from evenkeel.devices.haproxy.options import HaproxyOptions, parse_options

GOOD = {"haproxyd_url": "https://lb1:9443", "haproxyd_username": "agent", "haproxyd_password": "s3cret"}
PAIR = {"ha_type": "pair", "haproxyd_url": "https://lb1, https://[2001:db8::1]:8443/"}


def parsed(**changes: str) -> HaproxyOptions:
    return parse_options({**GOOD, **changes}, environment="dev", group_number=1, host="host-1")


def test_unset_options_have_their_defaults() -> None:
    options = parsed(haproxyd_url="https://lb1")
    assert options.hosts == ("lb1:9443",) and options.verify_tls and options.prefix == "dev"


def test_a_pair_has_two_daemons() -> None:
    assert parsed(**PAIR).hosts == ("lb1:9443", "[2001:db8::1]:8443")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"haproxyd_url": ""}, "haproxyd_url.*exactly 1"),
        ({"haproxyd_url": "https://a,https://b"}, "standalone needs exactly 1"),
        ({"ha_type": "pair"}, "pair needs exactly 2"),
        ({"ha_type": "pair", "haproxyd_url": "https://a,https://a:9443"}, "named twice"),
        ({"haproxyd_url": "http://a"}, "allowed is https://host"),
        ({"haproxyd_url": "https://a/path"}, "allowed is https://host"),
        ({"haproxyd_url": "https://a:99999"}, "allowed is https://host"),
        ({"haproxyd_url": "a:9443"}, "allowed is https://host"),
        ({"ha_type": "scalen"}, "ha_type: 'scalen': allowed are standalone, pair"),
        ({"haproxyd_password": ""}, "haproxyd_password: not set"),
        ({"haproxyd_username": "a:b"}, "haproxyd_username.*':'"),
        ({"verify_tls": "maybe"}, "verify_tls.*maybe"),
        ({"request_timeout": "soon"}, "request_timeout: 'soon'"),
        ({"port": "1"}, "port: no such option"),
    ],
)
def test_a_wrong_option_is_refused_by_name(changes: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parsed(**changes)


def test_a_password_in_the_url_is_refused_and_not_reported() -> None:
    with pytest.raises(ValueError, match="haproxyd_url") as refusal:
        parsed(haproxyd_url="https://agent:s3cret@lb1")
    assert "s3cret" not in str(refusal.value)


def test_a_file_of_authorities_that_cannot_be_used_is_refused(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="ca_file"):
        open_group({**GOOD, "ca_file": f"{tmp_path}/absent.pem"}, environment="dev", group_number=1, host="host-1")


def test_environments_never_share_a_partition() -> None:
    assert HaproxyNames(prefix="dev").partition_name("a_x") != HaproxyNames(prefix="dev_a").partition_name("x")
    assert not HaproxyNames(prefix="dev").is_own_partition(HaproxyNames(prefix="dev_a").partition_name("x"))
    assert HaproxyNames(prefix="dev").is_own_partition(HaproxyNames(prefix="dev").partition_name("a_x"))


@pytest.mark.parametrize("text", ["", "a_b", "a b", "-a", "ä", "a" * 61])
def test_a_project_id_that_means_something_in_a_name_becomes_its_digest(text: str) -> None:
    assert (
        plain_or_digest(text).startswith("-") and len(plain_or_digest(text)) == 41 and "_" not in plain_or_digest(text)
    )


@pytest.mark.parametrize("prefix", ["", "_a", "-a", "a b", "a" * 65, "a/b"])
def test_a_prefix_that_cannot_be_part_of_a_name_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        HaproxyNames(prefix=prefix)
