"""Flavors, availability zones and their profiles; where load balancers of a zone go."""

import asyncio
from typing import Any

import pytest

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.catalogue import AvailabilityZone, AvailabilityZoneProfile, Flavor, FlavorProfile, Offer
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, add_agent, add_shard, bare, create, ids, new_id, next_moment, vip
from tests.store.conftest import ON_ALL


async def flavor(store: SqlStore, **values: Any) -> Flavor:
    profile = FlavorProfile(id=new_id(), name="profile", provider_name="prod", flavor_data='{"a": 1}')
    await store.catalogue.add_catalogue_entry(profile)
    row = Flavor(**{"id": new_id(), "name": new_id(), "flavor_profile_id": profile.id} | values)
    made: Flavor = await store.catalogue.add_catalogue_entry(row)
    return made


async def zone(store: SqlStore, name: str = "east", data: str = "{}") -> AvailabilityZone:
    profile = AvailabilityZoneProfile(id=new_id(), name="p", provider_name="prod", availability_zone_data=data)
    await store.catalogue.add_catalogue_entry(profile)
    made: AvailabilityZone = await store.catalogue.add_catalogue_entry(
        AvailabilityZone(name=name, availability_zone_profile_id=profile.id)
    )
    return made


async def test_entries_are_stored_shown_listed_changed_and_deleted(store: SqlStore) -> None:
    first = await flavor(store, name="gold")
    await next_moment(store)
    second = await flavor(store, name="iron", enabled=False)

    assert first.created_at > 0
    assert await store.catalogue.catalogue_entry(Flavor, first.id) == first
    listed = sorted([first.id, second.id])
    page = await store.catalogue.list_catalogue(Flavor, ListQuery(limit=1))
    assert (ids(page.items), page.after) == (listed[:1], True)
    assert ids((await store.catalogue.list_catalogue(Flavor, ListQuery(marker=listed[0]))).items) == listed[1:]
    assert ids((await store.catalogue.list_catalogue(Flavor, ListQuery(filters={"enabled": (False,)}))).items) == [
        second.id
    ]
    changed = await store.catalogue.update_catalogue_entry(Flavor, first.id, {"description": "d", "enabled": False})
    assert (changed.description, changed.enabled, changed.name) == ("d", False, "gold")
    await store.catalogue.delete_catalogue_entry(Flavor, first.id)
    for asked in (
        store.catalogue.catalogue_entry(Flavor, first.id),
        store.catalogue.delete_catalogue_entry(Flavor, first.id),
        store.catalogue.update_catalogue_entry(Flavor, first.id, {"description": "x"}),
    ):
        with pytest.raises(NotFound, match=f"Flavor {first.id} not found"):
            await asked


async def test_names_of_flavors_and_zones_are_taken_once(store: SqlStore) -> None:
    await flavor(store, name="gold")
    other = await flavor(store, name="iron")
    await zone(store)

    for refused in (
        flavor(store, name="gold"),
        zone(store),
        store.catalogue.update_catalogue_entry(Flavor, other.id, {"name": "gold"}),
    ):
        with pytest.raises(Conflict, match=r"A (flavor of gold|availability zone of east) already exists"):
            await refused


async def test_a_profile_that_does_not_exist_is_named(store: SqlStore) -> None:
    with pytest.raises(Invalid, match=r"flavor_profile_id.*nope"):
        await store.catalogue.add_catalogue_entry(Flavor(id=new_id(), name="x", flavor_profile_id="nope"))


async def test_profiles_in_use_keep_what_they_say(store: SqlStore) -> None:
    used = (await flavor(store)).flavor_profile_id

    with pytest.raises(Conflict, match=f"Flavor profile {used} is in use"):
        await store.catalogue.update_catalogue_entry(FlavorProfile, used, {"flavor_data": "{}"})
    with pytest.raises(Conflict, match="is in use and cannot be modified"):
        await store.catalogue.delete_catalogue_entry(FlavorProfile, used)
    assert (
        await store.catalogue.update_catalogue_entry(FlavorProfile, used, {"name": "new"})
    ).flavor_data == '{"a": 1}'


async def test_flavors_and_zones_are_in_use_as_long_as_a_load_balancer_has_them(store: SqlStore) -> None:
    row, place = await flavor(store), await zone(store)
    stored = await create(store, bare(flavor_id=row.id, availability_zone=place.name))

    for kind, key in ((Flavor, row.id), (AvailabilityZone, place.name)):
        with pytest.raises(Conflict, match="is in use and cannot be modified"):
            await store.catalogue.delete_catalogue_entry(kind, key)
    found = await store.tenants.get(LoadBalancer, stored.load_balancer.id, project_id=None)
    assert (found.flavor_id, found.availability_zone) == (row.id, place.name)
    for name, value in (("flavor_id", row.id), ("availability_zone", place.name)):
        assert ids((await store.tenants.list(LoadBalancer, ListQuery(filters={name: (value,)}))).items) == [found.id]
    await store.tenants.delete_load_balancer(found.id, cascade=False, project_id=None)
    await store.catalogue.delete_catalogue_entry(Flavor, row.id)
    await store.catalogue.delete_catalogue_entry(AvailabilityZone, place.name)


@ON_ALL
async def test_of_a_create_and_the_delete_of_its_flavor_one_is_refused(store: SqlStore) -> None:
    for _ in range(5):
        row = await flavor(store)
        answers = await asyncio.gather(
            store.tenants.create_load_balancer(bare(flavor_id=row.id), vip()),
            store.catalogue.delete_catalogue_entry(Flavor, row.id),
            return_exceptions=True,
        )
        (refused,) = [answer for answer in answers if isinstance(answer, BaseException)]
        assert isinstance(refused, Conflict | Invalid), refused


async def test_a_flavor_that_is_gone_is_named(store: SqlStore) -> None:
    with pytest.raises(Invalid, match=r"flavor_id gone was deleted"):
        await create(store, bare(flavor_id="gone"))


async def test_an_offer_tells_what_choosing_means(store: SqlStore) -> None:
    row = await flavor(store, enabled=False)
    await zone(store, data='{"environment_group_number": 2}')

    assert await store.catalogue.offer(Flavor, row.id) == Offer(enabled=False, provider_name="prod", data='{"a": 1}')
    found = await store.catalogue.offer(AvailabilityZone, "east")
    assert found is not None and found.data == '{"environment_group_number": 2}'
    assert await store.catalogue.offer(Flavor, "nope") is None


# -- where load balancers of a zone go


async def two_groups(store: SqlStore) -> None:
    """The tenant has a shard on the first."""
    await add_agent(store)
    await add_agent(store, "agent-2", group=2)
    await add_shard(store)


async def test_groups_outside_of_the_zone_are_not_eligible(store: SqlStore) -> None:
    await two_groups(store)
    root = (await create(store, bare(zone_group_number=2))).load_balancer

    async def eligible(load_balancer_id: str | None) -> list[int]:
        groups = await store.scheduling.read_placement_groups(
            "prod", PROJECT, settle_seconds=0.0, load_balancer_id=load_balancer_id
        )
        return [group.number for group in groups if group.eligible]

    assert await eligible(None) == [1, 2]
    assert await eligible(root.id) == [2]
    assert root.shard_id is None, "the tenant's shard is on another group"
    assert await store.scheduling.place_load_balancer(root.id, "prod", PROJECT, 1, "agent-1") is None
    assert await store.scheduling.place_load_balancer(root.id, "prod", PROJECT, 2, "agent-2") is not None


async def test_a_new_one_joins_the_tenants_shard_in_its_zone_at_once(store: SqlStore) -> None:
    await two_groups(store)

    here = await create(store, bare(zone_group_number=1))
    anywhere = await create(store, bare())

    assert here.load_balancer.shard_id == anywhere.load_balancer.shard_id == "shard-1"


async def test_load_balancers_that_wait_for_their_zone_do_not_hide_others(store: SqlStore) -> None:
    await add_agent(store)
    await create(store, bare(zone_group_number=2))
    can_go = await create(store, bare())

    assert (await store.scheduling.read_unplaced_load_balancers(limit=1))[0][0] == can_go.load_balancer.id
