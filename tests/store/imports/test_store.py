"""Imported load balancers on all databases: stored once with their ids, without quotas."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.control.imports import difference_texts
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import placed
from tests.store.conftest import BACKENDS, databases
from tests.store.mirrors.test_mirror_writes import PLAN, whole

backend = databases(*BACKENDS)


async def test_stored_tree_is_the_given_one_and_ids_and_addresses_are_taken_then(store: SqlStore) -> None:
    await placed(store)
    tree = whole()
    root = tree.load_balancer
    assert await store.imports.find_stored_load_balancer(root.id) is None
    await store.imports.check_creation(tree, PLAN)
    change = await store.imports.create_imported(tree, PLAN)
    assert (change.revision, change.load_balancer_id) == (1, root.id)
    found = await store.imports.find_stored_load_balancer(root.id)
    assert found is not None and not found.mirrored and difference_texts(found.tree, tree) == ()
    for write in (store.imports.check_creation, store.imports.create_imported):
        with pytest.raises(Conflict, match="already, and does not belong"):
            await write(tree, PLAN)
    other = whole()
    for write in (store.imports.check_creation, store.imports.create_imported):
        with pytest.raises(Conflict, match=r"203\.0\.113\.5 is in use"):
            await write(other, PLAN)


async def test_two_imports_of_the_same_load_balancer_at_once_store_it_once(store: SqlStore) -> None:
    await placed(store)
    tree = whole()
    results: list[Any] = await asyncio.gather(
        *(store.imports.create_imported(tree, PLAN) for _ in range(2)), return_exceptions=True
    )
    assert sorted(isinstance(result, Conflict) for result in results) == [False, True]


async def test_port_of_another_program_is_held_until_the_load_balancer_is_gone(store: SqlStore) -> None:
    await placed(store)
    tree = whole()
    id_ = tree.load_balancer.id
    claim = PortClaim(claim_id=id_, device_owner="neutron:LOADBALANCERV2", device_id=id_, port_id="p")
    plan: VipPlan = replace(PLAN, claim=claim, takes_over=True)
    change = await store.imports.create_imported(tree, plan)
    assert change.tell_network == change.placed  # it is bound once its host is known
