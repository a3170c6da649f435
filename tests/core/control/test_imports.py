"""What differs between a load balancer of another system and the one that exists here."""

from msgspec.structs import replace

from evenkeel.core.control.imports import DIFFERENCES_MAX, difference_texts
from evenkeel.core.resources.model import Vip
from tests.store.builders import tree, with_policies

VIP = Vip(address="203.0.113.5", subnet_id="s", network_id="n", port_id="p")


def test_same_tree_on_a_recreated_port_does_not_differ() -> None:
    made = with_policies(tree(members=2, vip=VIP))
    elsewhere = replace(made.load_balancer, vip=replace(VIP, port_id="other"))
    assert difference_texts(made, replace(made, load_balancer=elsewhere)) == ()


def test_attributes_and_objects_that_differ_are_named() -> None:
    made = with_policies(tree(members=2, vip=VIP))
    (first, *others), (front,) = made.members, made.listeners
    given = replace(
        made,
        load_balancer=replace(made.load_balancer, name="other", vip=replace(VIP, address="203.0.113.6")),
        listeners=(replace(front, protocol_port=8443),),
        members=tuple(others),
    )
    assert set(difference_texts(made, given)) == {
        "vip_address",
        "name",
        f"member {first.id}: exists only here",
        f"listener {front.id}: protocol_port",
    }
    assert f"member {first.id}: does not exist here" in difference_texts(given, made)


def test_listed_differences_are_limited() -> None:
    made = tree(members=DIFFERENCES_MAX + 9, vip=VIP)
    assert len(difference_texts(made, replace(made, members=()))) == DIFFERENCES_MAX
