import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.loaded import LoadedPartsCache, remove_unused_backends, unused_backends

MEMBER = wire.BackendServer(name="m", address="10.0.0.1", port=80, arguments=("ssl", "ca-file", "p2:ca.1"))
POOLS = tuple(wire.Backend(name=name, servers=(MEMBER,) if name == "p2" else ()) for name in ("p1", "p2", "p1:tcp"))


def balancer(*lines: str, **fields: object) -> wire.LoadBalancerConfig:
    frontends = (wire.Frontend(name="f", binds=(), lines=lines),) if lines else ()
    one = wire.LoadBalancerConfig(id="lb", revision=1, frontends=frontends, backends=POOLS)
    return msgspec.structs.replace(one, **fields)


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("default_backend p1", {"p1"}),
        ("default_backend p1:tcp", {"p1:tcp"}),
        ("http-request set-var(txn.pool) str(p2) if !l7.chosen l7.1.1", {"p2"}),
        ("http-request track-sc0 src table p2", {"p2"}),
        ("default_backend p11", set()),
    ],
)
def test_a_backend_is_used_if_a_line_of_a_listener_names_it(line: str, used: set[str]) -> None:
    assert unused_backends(balancer(line)) == {"p1", "p2", "p1:tcp"} - used


def test_a_backend_that_a_used_backend_names_is_used() -> None:
    tracking = msgspec.structs.replace(MEMBER, arguments=("track", "p2/m"))
    pools = (msgspec.structs.replace(POOLS[0], servers=(tracking,)), *POOLS[1:])
    assert unused_backends(balancer("default_backend p1", backends=pools)) == {"p1:tcp"}
    assert unused_backends(balancer("mode http", backends=pools)) == {"p1", "p2", "p1:tcp"}


def test_a_backend_of_a_datagram_listener_is_used() -> None:
    listener = wire.DatagramListener(name="d", binds=(), backend="p2")
    assert unused_backends(balancer(datagram_listeners=(listener,))) == {"p1", "p1:tcp"}


def test_files_of_unused_backends_alone_are_not_loaded() -> None:
    files = tuple(
        wire.File(name=name, kind=kind, content=content)
        for name, kind, content in (
            ("p2:ca.1", "ca", "CA"),
            ("f:crt_list", "crt_list", "f:www.pem\n"),
            ("f:www.pem", "certificate", "KEY"),
            ("spare", "page", ""),
        )
    )
    assert remove_unused_backends(balancer("default_backend p1", files=files)).files == files[1:]
    assert remove_unused_backends(balancer("default_backend p2", files=files)).files == files


def test_a_load_balancer_without_unused_backends_is_loaded_as_it_is() -> None:
    one = balancer("use_backend p1", "use_backend p2", "use_backend p1:tcp")
    assert remove_unused_backends(one) is one


def test_loaded_parts_are_the_same_objects_until_the_load_balancer_is_replaced() -> None:
    parts, one = LoadedPartsCache(), balancer("default_backend p1")
    first = parts.loaded_parts({"lb": one})["lb"]
    assert parts.loaded_parts({"lb": one})["lb"] is first
    other = balancer("default_backend p2")
    assert parts.loaded_parts({"lb": other})["lb"].backends == POOLS[1:2]
