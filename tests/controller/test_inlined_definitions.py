"""Small definitions of new load balancers travel with hints, and are what their agent would be answered."""

from msgspec.structs import replace

from evenkeel.controller.inlined_definitions import (
    DEFINITION_BYTES_MAX,
    INLINED_BYTES_MAX,
    InlinedDefinition,
    inlined_definition,
    inlined_definitions,
)
from evenkeel.core.control.shards import OwnershipTerm
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Vip

TERM = OwnershipTerm(session_id="s", epoch=3, history="h")
VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
ROOT = LoadBalancer(id="lb", project_id="t", provider="lab", vip=VIP, revision=1)


def listener(number: int, **given: str) -> Listener:
    return Listener(
        **{"id": f"l{number}", "load_balancer_id": "lb", "project_id": "t", "protocol": "HTTP", **given},  # type: ignore[arg-type]
        protocol_port=number,
    )


def change(tree: LoadBalancerTree, term: OwnershipTerm | None = TERM) -> Change:
    return Change(load_balancer_id="lb", revision=1, environment="lab", owner=None, placed=True, tree=tree, term=term)


def definition(tree: LoadBalancerTree) -> InlinedDefinition:
    found = inlined_definition(change(tree))
    assert found is not None
    return found


def test_children_are_in_the_order_in_which_they_are_read() -> None:
    tree = LoadBalancerTree(load_balancer=ROOT, listeners=(listener(2), listener(1)))
    assert definition(tree).service == service_definition_of_tree(replace(tree, listeners=(listener(1), listener(2))))


def test_definition_with_certificates_or_without_vip_is_not_inlined() -> None:
    tree = LoadBalancerTree(load_balancer=ROOT)
    assert inlined_definition(change(tree, None)) is None
    assert inlined_definition(change(replace(tree, load_balancer=replace(ROOT, vip=None)))) is None
    assert inlined_definition(replace(change(tree), self_contained=False)) is None
    secret = listener(1, protocol="TERMINATED_HTTPS", default_tls_container_ref="https://keys/1")
    assert inlined_definition(change(replace(tree, listeners=(secret,)))) is None


def test_a_large_one_stays_and_so_do_too_many() -> None:
    large = LoadBalancerTree(load_balancer=replace(ROOT, name="x" * DEFINITION_BYTES_MAX))
    assert inlined_definition(change(large)) is None
    one = definition(LoadBalancerTree(load_balancer=replace(ROOT, name="x" * (DEFINITION_BYTES_MAX - 1000))))
    found = inlined_definitions({f"lb-{n}": one for n in range(20)})
    assert found is not None
    assert len(found.services) == INLINED_BYTES_MAX // one.size_bytes


def test_of_two_owners_nothing_travels() -> None:
    one = definition(LoadBalancerTree(load_balancer=ROOT))
    later = replace(one, term=replace(TERM, epoch=4))
    assert inlined_definitions({"a": one, "b": None}) is not None
    assert inlined_definitions({"a": one, "b": later}) is None
    assert inlined_definitions({"a": None}) is None
    assert inlined_definitions({}) is None
