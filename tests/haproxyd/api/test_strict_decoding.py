"""Requests are read to the last field."""

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.api.strict_decoding import BodyRefused, decode_body

CHANGE = wire.PartitionChange(
    epoch=3,
    load_balancers=(
        wire.LoadBalancerConfig(
            id="a",
            revision=1,
            backends=(wire.Backend(name="b", ping=wire.Ping(delay=1, timeout=1, rise=1, fall=1)),),
            files=(wire.File(name="f", kind="acl", content="10.0.0.0/8\n"),),
        ),
    ),
    peers=(wire.HaproxyPeer(name="p", address="192.0.2.1", port=1),),
)


def test_encoded_change_is_decoded_unchanged() -> None:
    assert decode_body(msgspec.json.encode(CHANGE), wire.PartitionChange) == CHANGE


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"epoch": 1, "extra": 1}, "extra"),
        ({"epoch": 1, "load_balancers": [{"id": "a", "revision": 1, "colour": "red"}]}, "colour"),
        ({"epoch": 1, "load_balancers": [{"id": "a", "revision": 1, "backends": [{"name": "b", "ping": {"ttl": 1}}]}]},
         "ping"),
        ({"epoch": 1, "peers": [{"name": "a", "address": "b", "port": 1, "x": 2}]}, "x"),
        ({"epoch": "one"}, "epoch"),
        ({}, "epoch"),
        ({"epoch": 1, "load_balancers": [{"id": "a", "revision": 1, "files": [
            {"name": "f", "kind": "secret", "content": "KEY"}]}]}, "kind"),
        ([], "object"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_understood_is_named(body: object, named: str) -> None:
    with pytest.raises(BodyRefused, match=named) as error:
        decode_body(msgspec.json.encode(body), wire.PartitionChange)
    assert "KEY" not in str(error.value)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"epoch": 1}}'])
def test_body_that_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(BodyRefused, match="body"):
        decode_body(body, wire.PartitionChange)
