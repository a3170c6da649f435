"""Environments on the same devices, with names that begin alike: none touches another's partitions."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import StaleOwner
from evenkeel.devices.bigip.naming import BigIpNames, plain_or_digest
from tests.devices.bigip.rig import TYPES, BigIpRig, Hands, steady
from tests.devices.owner import Owner
from tests.devices.services import gone, service, session_of

ENVIRONMENTS = ("dev", "dev_a", "dev_a_b", "d")
PROJECTS = ("x", "a_x", "a_b_x", "b_x", "ev_x")
"""Of each environment; with some of another's, their names would once have been one."""

tenants = st.text(alphabet="ab_-.", min_size=1, max_size=6) | st.text(max_size=80)
prefixes = st.text(alphabet="ab_-.", min_size=1, max_size=6)


@given(prefixes, tenants, prefixes, tenants)
def test_no_two_tenants_share_a_partition_whatever_their_environments(
    prefix: str, tenant: str, other_prefix: str, other_tenant: str
) -> None:
    one = BigIpNames(environment="e", prefix=prefix, group=1).partition_name(tenant)
    other = BigIpNames(environment="e", prefix=other_prefix, group=1).partition_name(other_tenant)
    assert (one == other) == ((prefix, tenant) == (other_prefix, other_tenant))


@given(tenants)
def test_a_name_ends_with_what_stands_for_the_tenant(tenant: str) -> None:
    name = BigIpNames(environment="dev_a", prefix="dev_a", group=1).partition_name(tenant)
    assert name.rpartition("_")[0] == "dev_a"
    assert name.rpartition("_")[2] == (plain_or_digest(tenant) if tenant else "-common")


@given(st.text(alphabet="abcdef0123456789-", min_size=1, max_size=64))
def test_usual_tenants_are_called_as_ever(tenant: str) -> None:
    names = BigIpNames(environment="dev", prefix="dev", group=1)
    if not tenant.startswith("-"):
        assert names.partition_name(tenant) == f"dev_{tenant}"


def tenant_batch(project: str, *services: ServiceDefinition) -> PartitionBatch:
    changed = tuple(
        ServiceDefinition(**{name: getattr(one, name) for name in one.__struct_fields__} | {"project_id": project})
        for one in services
    )
    return PartitionBatch(project_id=project, epoch=1, session_id=session_of(1), services=changed, complete=True)


class Tenants:
    """One load balancer for each (environment, project), every one with an address of its own."""

    def __init__(self, pair: BigIpRig) -> None:
        self._hands = [Hands(pair.emulator, name) for name in pair.emulator.devices]
        self.agents: dict[str, Owner] = {name: pair.owner(environment=name) for name in ENVIRONMENTS}
        self.all = list(itertools.product(ENVIRONMENTS, PROJECTS))

    def partition(self, environment: str, project: str) -> str:
        return BigIpNames(environment=environment, prefix=environment, group=1).partition_name(project)

    async def apply(self, tenant: tuple[str, str], *services: ServiceDefinition) -> None:
        outcome = await self.agents[tenant[0]].apply(tenant_batch(tenant[1], *services))
        assert not any(one.error for one in outcome.outcomes), outcome

    async def content(self) -> dict[tuple[str, str], Any]:
        """Everything in every tenant's partition on both devices, guards included."""
        places = {self.partition(*tenant): tenant for tenant in self.all}
        assert len(places) == len(self.all)
        found: dict[tuple[str, str], Any] = {tenant: {} for tenant in self.all}
        for hands, kind in itertools.product(self._hands, TYPES):
            answer = hands.read(f"{kind}?expandSubcollections=true")
            for item in answer.get("items", ()):
                if item["partition"] in places:
                    found[places[item["partition"]]][str(id(hands)), kind, item["name"]] = steady(item)
        return found


@pytest.fixture
async def world(pair: BigIpRig) -> Tenants:
    made = Tenants(pair)
    for number, tenant in enumerate(made.all):
        await made.apply(tenant, service(number, members=1), service(100 + number, members=1))
    return made


async def test_changes_of_one_environment_leave_partitions_of_others_unchanged(world: Tenants) -> None:
    before = await world.content()
    assert all(before.values())
    for number, tenant in enumerate(world.all):
        # a change, whereby the second load balancer becomes an orphan; then a delete
        for services in ((service(number, members=2),), (gone(number),)):
            await world.apply(tenant, *services)
            after = await world.content()
            assert after[tenant] != before[tenant]
            assert {**after, tenant: before[tenant]} == before
            before = after
    left = {kind for objects in before.values() for _, kind, _ in objects}
    assert left == {"ltm/data-group/internal"}


async def test_each_environment_observes_its_own_only(world: Tenants) -> None:
    for environment, agent in world.agents.items():
        mine = {number for number, tenant in enumerate(world.all) if tenant[0] == environment}
        expected = {f"lb-{offset + number}" for number in mine for offset in (0, 100)}
        seen = await agent.observe()
        assert {one.id for one in seen.statuses if one.kind == "loadbalancer"} == expected
        assert {one.listener_id for one in seen.statistics} == {id_.replace("lb", "listener") for id_ in expected}


async def test_a_guard_of_one_environment_rules_no_other(world: Tenants) -> None:
    await world.agents["dev_a"].take_over("x", 7, session_of(7))
    await world.apply(("dev", "a_x"), service(1, members=3))
    with pytest.raises(StaleOwner):
        await world.agents["dev_a"].apply(tenant_batch("x", service(5)))


async def test_the_option_prefix_names_the_partitions(rig: BigIpRig) -> None:
    agent = rig.owner(environment="dev", prefix="lab.1")
    await agent.apply(tenant_batch("a", service(1)))
    assert await rig.hands.content("lab.1_a")
    assert not await rig.hands.content("dev_a")
    assert (await agent.apply(tenant_batch("a", service(1)))).writes == 0
