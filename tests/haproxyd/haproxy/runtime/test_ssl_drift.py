"""Certificates of a running process that are not those it was told."""

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload
from evenkeel.haproxyd.haproxy.runtime.ssl_drift import (
    certificate_drift_commands,
    certificate_fingerprints,
    parse_certificates,
    ssl_drift,
)
from tests.haproxyd.tlsworld import certificate, file, without_key

A, B = certificate("a.test"), certificate("b.test")


def config(*files: wire.File) -> HaproxyConfig:
    listed = wire.File(name="l.list", kind="crt_list", content="a.pem\nb.pem [alpn h2] b.test\n")
    one = wire.LoadBalancerConfig(id="lb", revision=1, files=(*files, listed))
    return HaproxyConfig(load_balancers={"lb": one})


BOTH = config(file("a.pem", A), file("b.pem", B))


def shown(name: str, *certificates: str) -> str:
    """As 2.6.12 has it."""
    prints = "".join(f"Serial: 01\nSHA1 FingerPrint: {certificate_fingerprints(one)[0]}\n \n" for one in certificates)
    return f"Filename: {name}\nStatus: Used\n{prints}\n"


LIST = "# l.list\na.pem\nb.pem [alpn h2 ] b.test\n\n"


def test_every_file_is_requested_and_read_again() -> None:
    assert certificate_drift_commands(BOTH) == (
        "show ssl cert a.pem",
        "show ssl cert b.pem",
        "show ssl crt-list l.list",
    )
    seen = parse_certificates(shown("a.pem", A) + LIST)
    assert seen.listed == {"l.list": ["a.pem", "b.pem"]}
    assert seen.fingerprints == {"a.pem": certificate_fingerprints(A)}


def test_matching_certificates_are_no_drift() -> None:
    assert ssl_drift(BOTH, shown("a.pem", A) + shown("b.pem", B) + LIST) == ()
    assert ssl_drift(config(file("a.pem", "no PEM")), LIST + shown("a.pem", B) + shown("b.pem", B)) == ()
    chain = config(file("a.pem", A + without_key(B)), file("b.pem", B))
    assert ssl_drift(chain, shown("a.pem", A) + shown("b.pem", B) + LIST) == ()


def test_another_certificate_is_found_and_undone() -> None:
    found = ssl_drift(BOTH, shown("a.pem", A) + shown("b.pem", A) + LIST)
    assert {(one.load_balancer_id, one.text) for one in found} == {("lb", "certificate b.pem was changed")}
    assert [one.command.text for one in found] == ["set ssl cert b.pem", "commit ssl cert b.pem"]
    assert found[0].command.payload == B


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (shown("a.pem", A) + LIST, "certificate b.pem is not there"),
        (shown("a.pem", A) + shown("b.pem", B) + LIST.replace("a.pem\n", ""), "list l.list was changed"),
        (shown("a.pem", A) + shown("b.pem", B) + LIST.replace("\n\n", "\nc.pem\n\n"), "list l.list was changed"),
    ],
)
def test_missing_certificate_needs_a_reload(text: str, reason: str) -> None:
    with pytest.raises(NeedsReload, match=reason) as raised:
        ssl_drift(BOTH, text)
    assert raised.value.load_balancer_id == "lb"


def test_authorities_are_compared_as_a_set() -> None:
    authority = wire.LoadBalancerConfig(id="lb", revision=1, files=(file("ca.pem", A + B, kind="ca"),))
    only = HaproxyConfig(load_balancers={"lb": authority})
    assert ssl_drift(only, shown("ca.pem", B, A)) == () == ssl_drift(only, "no such file\n")
    with pytest.raises(NeedsReload, match=r"authority ca\.pem was changed"):
        ssl_drift(only, shown("ca.pem", A))
