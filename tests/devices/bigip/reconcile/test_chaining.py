"""A BIG-IP that would send to an address of its own: what is new to it is refused."""

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId
from tests.devices.bigip.reconcile.test_plan import made, planned
from tests.devices.services import gone, member, pool, service, vip

FRONT = LoadBalancerId("lb-1")
BACK = LoadBalancerId("lb-2")
BEHIND = service(2)
"""A load balancer at the address that is a member of the other one."""


def in_front(**changes: object) -> ServiceDefinition:
    """A load balancer with the VIP of the other one as a member."""
    return service(1, pools=(pool(1, members=(member(1, 1, address=vip(2).address), member(1, 2))),), **changes)


def test_member_that_is_a_vip_on_the_device_is_refused() -> None:
    todo = planned(made(BEHIND), in_front())
    assert not todo.operations_of_owners(frozenset({FRONT}))
    assert todo.problems == {
        FRONT: f"member address {vip(2).address} is the VIP of load balancer lb-2 on the same devices:"
        " a BIG-IP does not send to addresses that it answers for itself"
    }


def test_vip_that_is_a_member_on_the_device_is_refused() -> None:
    todo = planned(made(in_front()), BEHIND)
    assert not todo.operations_of_owners(frozenset({BACK}))
    assert f"vip_address {vip(2).address} is a member of load balancer lb-1" in todo.problems[BACK]


def test_of_two_that_are_new_the_one_with_the_member_is_refused() -> None:
    todo = planned({}, in_front(), BEHIND)
    assert todo.problems.keys() == {FRONT}
    assert todo.operations_of_owners(frozenset({BACK}))


def test_load_balancer_with_its_own_vip_as_a_member_is_refused() -> None:
    todo = planned({}, service(1, pools=(pool(1, members=(member(1, 1, address=vip(1).address),)),)))
    assert todo.problems.keys() == {FRONT}


def test_member_that_the_device_holds_already_stays() -> None:
    observed = {**made(in_front()), **made(BEHIND)}
    assert not planned(observed, in_front(), BEHIND, complete=True).problems
    assert not planned(observed, in_front(name="renamed", revision=2)).problems


@pytest.mark.parametrize("removed", ["deleted", "not named"])
def test_address_of_a_load_balancer_that_goes_may_become_a_member(removed: str) -> None:
    others = (gone(2),) if removed == "deleted" else ()
    assert not planned(made(BEHIND), in_front(), *others, complete=removed == "not named").problems


def test_standby_does_not_answer_for_its_vip() -> None:
    assert not planned({}, in_front(), service(2, standby=True)).problems
    assert not planned(made(service(2, standby=True)), in_front()).problems
    assert not planned(made(in_front()), service(2, standby=True)).problems
