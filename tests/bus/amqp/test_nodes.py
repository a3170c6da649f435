"""Transport URLs of several brokers."""

from pathlib import Path

from evenkeel.bus.amqp.nodes import Node, parse_nodes


def test_each_host_has_its_own_credentials_port_and_the_common_virtual_host() -> None:
    nodes = parse_nodes("rabbit://u1:p1@h1:5673,u2:p2@h2/my%2Fhost")
    assert nodes == (
        Node(host="h1", port=5673, user="u1", password="p1", vhost="my/host"),
        Node(host="h2", port=5672, user="u2", password="p2", vhost="my/host"),
    )


def test_a_host_without_credentials_has_those_of_the_one_before() -> None:
    assert [node.user for node in parse_nodes("amqp://u:p@h1,h2,v:q@h3/")] == ["u", "u", "v"]


def test_credentials_may_hold_escaped_and_awkward_characters() -> None:
    (node,) = parse_nodes("amqp://us%40er:p%2Fw:d@h/")
    assert (node.user, node.password) == ("us@er", "p/w:d")
    url = node.url("client")
    assert (url.user, url.password, url.host) == ("us@er", "p/w:d", "h")


def test_ipv6_hosts_are_in_brackets() -> None:
    nodes = parse_nodes("amqp://u:p@[::1]:5673,[fe80::1]/")
    assert [(node.host, node.port) for node in nodes] == [("::1", 5673), ("fe80::1", 5672)]
    assert nodes[0].url("c").host == "::1"


def test_an_empty_virtual_host_is_the_default_one() -> None:
    assert {parse_nodes(f"amqp://h{path}")[0].vhost for path in ("", "/", "/%2F", "//")} == {"/"}


def test_tls_has_its_port_and_files(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.touch()
    (node,) = parse_nodes(f"amqps://h/?ssl_ca_file={authority}")
    assert (node.port, node.tls) == (5671, True)
    url = node.url("c")
    assert (url.scheme, url.query["cafile"], url.query["heartbeat"]) == ("amqps", str(authority), "5")
    assert node.url("c", idle=True).query["heartbeat"] == "20"


def test_certificates_are_verified_unless_an_option_decides_otherwise() -> None:
    assert {node.tls_verify for node in parse_nodes("amqps://h1,h2/")} == {True}
    assert {node.tls_verify for node in parse_nodes("amqps://h1,h2/?ssl_verify=no")} == {False}


def test_a_node_never_shows_its_password() -> None:
    (node,) = parse_nodes("amqp://u:s3cret@h/")
    assert "s3cret" not in f"{node} {node!r} {[node]}"
