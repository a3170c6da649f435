"""Giving VIPs back: until it worked, and not believing too early that there is nothing to be given back."""

from typing import Any

import pytest

from evenkeel.controller.port_releases import LATE_SECONDS, PortReleases
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.network import DueClaim, PortClaim


class Store:
    """Claims that are due at every look until they are forgotten."""

    def __init__(self, *due: DueClaim) -> None:
        self.due = list(due)

    async def take_due_claims(self, *, limit: int, backoff: Backoff) -> tuple[DueClaim, ...]:
        assert limit > 0 < backoff.initial_seconds
        return tuple(self.due)

    async def delete_claim(self, load_balancer_id: str) -> None:
        self.due = [each for each in self.due if each.claim.claim_id != load_balancer_id]


class Ports:
    """The network service's ports, by load balancer."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.down = False
        self.refused = ""

    async def release_vip(self, claim: PortClaim) -> bool:
        if self.down:
            raise NetworkUnavailable("down")
        if claim.claim_id == self.refused:
            raise Conflict("in use")
        found = claim.claim_id in self.names
        self.names.discard(claim.claim_id)
        return found


def due(name: str = "lb", *, age_seconds: float = 1.0, port_id: str | None = None) -> DueClaim:
    claim = PortClaim(claim_id=name, device_owner="Octavia", device_id=f"lb-{name}", port_id=port_id)
    return DueClaim(claim=claim, age_seconds=age_seconds, attempts=1)


async def look(store: Any, ports: Any) -> None:
    await PortReleases(store, ports).process_due()


async def test_due_claim_deletes_its_port_and_is_removed() -> None:
    store, ports = Store(due("a"), due("b", port_id="p")), Ports("a", "b", "other")
    await look(store, ports)
    assert (store.due, ports.names) == ([], {"other"})


async def test_release_is_retried_until_the_network_service_answers() -> None:
    store, ports = Store(due()), Ports("lb")
    ports.down = True
    with pytest.raises(NetworkUnavailable):
        await look(store, ports)
    assert store.due
    ports.down = False
    await look(store, ports)
    assert (store.due, ports.names) == ([], set())


async def test_one_that_is_refused_does_not_hold_up_the_others() -> None:
    store, ports = Store(due("a"), due("b")), Ports("a", "b")
    ports.refused = "a"
    await look(store, ports)
    assert ([each.claim.claim_id for each in store.due], ports.names) == (["a"], {"a"})


async def test_a_port_that_is_made_late_is_given_back_too() -> None:
    store, ports = Store(due()), Ports()
    await look(store, ports)
    assert store.due, "a request that timed out may still be carried out"
    ports.names.add("lb")
    await look(store, ports)
    assert (store.due, ports.names) == ([], set())


async def test_nothing_found_is_believed_in_the_end() -> None:
    store = Store(due(age_seconds=LATE_SECONDS + 1))
    await look(store, Ports())
    assert store.due == []


async def test_a_known_port_that_is_gone_is_believed_at_once() -> None:
    store = Store(due(port_id="p"))
    await look(store, Ports())
    assert store.due == []
