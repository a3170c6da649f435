"""Facts of networks are read again, and load balancers on those that changed are told to their agents."""

import asyncio
from typing import Any

import pytest

from evenkeel.controller.network_facts import NetworkFactsUpdates
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.core.networking.attachment import NetworkFacts, NetworkToReread
from evenkeel.core.networking.networks import MemberHost


class Everything:
    """The store, the network service and the driver."""

    def __init__(self, *due: NetworkToReread) -> None:
        self.due = list(due)
        self.done: list[Any] = []
        self.away = False

    async def take_due_network_facts(self, *, older_seconds: float, limit: int) -> tuple[NetworkToReread, ...]:
        assert older_seconds == 7.0
        taken, self.due = self.due[:limit], self.due[limit:]
        return tuple(taken)

    async def read_facts(self, subnet_ids: frozenset[str]) -> NetworkFacts:
        self.done.append(sorted(subnet_ids))
        return NetworkFacts()

    async def store_network_facts(self, _found: Any) -> tuple[str, ...]:
        return ("network changed",)

    async def find_hosts(self, network_id: str, addresses: frozenset[str]) -> dict[str, MemberHost]:
        self.done.append((network_id, sorted(addresses)))
        if self.away:
            raise NetworkUnavailable("away")
        return {}

    async def make_network_facts_due(self, network_ids: list[str]) -> None:
        self.done.append(("unanswered", sorted(network_ids)))

    async def store_hosts(self, network_id: str, _hosts: Any, *, late: bool) -> tuple[str, ...]:
        assert late
        return (f"members of {network_id} moved",)

    async def change_accepted(self, change: Any) -> None:
        self.done.append(change)


async def test_facts_and_members_of_due_networks_are_read_and_changes_told() -> None:
    it: Any = Everything(
        NetworkToReread(network_id="n1", subnets=frozenset({"s1", "s2"}), members=frozenset({"10.0.0.1"})),
        NetworkToReread(network_id="n2", subnets=frozenset({"s3"}), members=frozenset()),
    )
    await NetworkFactsUpdates(it, it, it, ControllerSettings(network_facts_seconds=7.0)).read_due()
    assert it.done == [
        ["s1", "s2", "s3"],
        "network changed",
        ("n1", ["10.0.0.1"]),
        "members of n1 moved",
    ]


async def test_networks_about_which_nobody_answered_are_due_again() -> None:
    it: Any = Everything(
        *(NetworkToReread(network_id=id_, subnets=frozenset(), members=frozenset({"10.0.0.1"})) for id_ in ("n1", "n2"))
    )
    it.away = True
    with pytest.raises(NetworkUnavailable):
        await NetworkFactsUpdates(it, it, it, ControllerSettings(network_facts_seconds=7.0)).read_due()
    assert it.done[-2:] == [("n1", ["10.0.0.1"]), ("unanswered", ["n1", "n2"])]


async def test_a_pause_ends_when_an_agent_heard_that_ports_moved() -> None:
    it: Any = Everything()
    facts = NetworkFactsUpdates(it, it, it, ControllerSettings())
    facts.wake()
    await asyncio.wait_for(facts.pause(3600.0), 60.0)
