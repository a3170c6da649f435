"""Immutability as strict as Octavia's: only what is ACTIVE takes changes, decided where nobody can come in between."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from sqlalchemy import update

from evenkeel.core.control.environments import Environment
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, LoadBalancerTree, Member, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from evenkeel.store.tenants.store import SqlTenants
from tests.store.builders import AGENT, SESSION, SHARD, create, listener, member, monitor, placed, pool
from tests.store.conftest import empty, statements_of

MANY = 50
STRICT = StoreOptions(strict_immutability=True)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    opened = open_store(database_url, STRICT)
    await opened.database.write(empty)
    await opened.operators.add_environment(Environment(name="prod", device_driver="noop"))
    await placed(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def other_store(store: SqlStore, other_database_url: str) -> AsyncIterator[SqlStore]:
    opened = open_store(other_database_url, STRICT)
    yield opened
    await opened.close()


async def confirm(store: SqlStore, load_balancer_id: str, error: str = "") -> None:
    """Its device holds the newest revision, or refuses it."""
    root = await store.tenants.get(LoadBalancer, load_balancer_id, project_id=None)
    applied = Applied(load_balancer_id=load_balancer_id, revision=root.revision, error=error)
    await store.reports.record_applied(
        ReportApplied(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=1, outcomes=(applied,))
    )


async def set_status(store: SqlStore, load_balancer_id: str, status: str) -> None:
    statement = update(schema.load_balancer).where(schema.load_balancer.c.id == load_balancer_id)
    await store.database.write(lambda connection: connection.execute(statement.values(provisioning_status=status)))


def writes(stored: LoadBalancerTree) -> dict[str, Any]:
    """Every kind of write to something below the load balancer."""
    root, at, group = stored.load_balancer.id, stored.listeners[0].id, stored.pools[0].id
    server, check = stored.members[0].id, stored.health_monitors[0].id
    return {
        "add listener": lambda s: s.tenants.add_listener(
            listener(load_balancer_id=root, protocol_port=99), project_id=None
        ),
        "change listener": lambda s: s.tenants.update_child(Listener, at, {"name": "x"}, project_id=None),
        "delete listener": lambda s: s.tenants.delete_child(Listener, at, project_id=None),
        "add pool": lambda s: s.tenants.add_pool(
            pool(load_balancer_id=root), [], None, listener_id=None, project_id=None
        ),
        "change pool": lambda s: s.tenants.update_child(Pool, group, {"name": "x"}, project_id=None),
        "delete pool": lambda s: s.tenants.delete_child(Pool, group, project_id=None),
        "add member": lambda s: s.tenants.add_members((member(77, pool_id=group),), project_id=None),
        "change member": lambda s: s.tenants.update_child(Member, server, {"weight": 3}, project_id=None),
        "delete member": lambda s: s.tenants.delete_child(Member, server, project_id=None),
        "replace members": lambda s: s.tenants.replace_members(group, [], additive_only=False, project_id=None),
        "add monitor": lambda s: s.tenants.add_health_monitor(monitor(pool_id=group), project_id=None),
        "change monitor": lambda s: s.tenants.update_child(HealthMonitor, check, {"delay": 9}, project_id=None),
        "delete monitor": lambda s: s.tenants.delete_child(HealthMonitor, check, project_id=None),
    }


class ViewOfLbaas(NamedTuple):
    """A store as LBaaS v2 and v1 write to it."""

    store: SqlStore

    @property
    def tenants(self) -> SqlTenants:
        return self.store.lbaas_tenants


async def test_parts_of_a_pending_load_balancer_are_immutable_for_its_sake(store: SqlStore) -> None:
    stored = await create(store)
    root = stored.load_balancer.id

    for name, write in writes(stored).items():
        with pytest.raises(Conflict) as refused:
            await write(store)
        assert str(refused.value) == f"Load Balancer {root} is immutable and cannot be updated.", name
        assert refused.value.code == "immutable"
    assert (await store.tenants.tree(root, project_id=None)).load_balancer.revision == 1


@pytest.mark.parametrize("status", ["PENDING_CREATE", "PENDING_UPDATE", "ERROR"])
async def test_a_load_balancer_that_is_not_active_states_in_which_state_it_is(store: SqlStore, status: str) -> None:
    root = (await create(store)).load_balancer.id
    await set_status(store, root, status)

    with pytest.raises(Conflict) as refused:
        await store.tenants.update_load_balancer(root, {"name": "x"}, project_id=None)
    assert str(refused.value) == f"Invalid state {status} of loadbalancer resource {root}"


async def test_each_write_is_taken_by_an_active_one_and_makes_it_pending(store: SqlStore) -> None:
    stored = await create(store)
    root = stored.load_balancer.id
    await confirm(store, root)

    assert isinstance(await store.tenants.update_load_balancer(root, {"name": "x"}, project_id=None), Change)
    with pytest.raises(Conflict, match="Invalid state PENDING_UPDATE"):
        await store.tenants.update_load_balancer(root, {"name": "y"}, project_id=None)
    await confirm(store, root)
    assert isinstance(await writes(stored)["change member"](store), Change)
    with pytest.raises(Conflict, match="immutable"):
        await writes(stored)["change member"](store)


async def test_nothing_is_in_error_below_an_active_one(store: SqlStore) -> None:
    """Octavia lets nobody change the members and the monitor of a pool in ERROR, or the rules of a policy in ERROR."""
    stored = await create(store)
    root = stored.load_balancer.id
    await confirm(store, root)
    await writes(stored)["change member"](store)
    await confirm(store, root, error="the device refuses it")

    failed = await store.tenants.tree(root, project_id=None)
    assert ProvisioningStatus.ERROR in {each.provisioning_status for each in failed.members}
    for name, write in writes(stored).items():
        with pytest.raises(Conflict, match="immutable"):
            await write(store)
        assert (await store.tenants.tree(root, project_id=None)) == failed, name

    await confirm(store, root)  # it was tried again
    healed = await store.tenants.tree(root, project_id=None)
    below = (*healed.listeners, *healed.pools, *healed.members, *healed.health_monitors)
    assert {each.provisioning_status for each in (healed.load_balancer, *below)} == {ProvisioningStatus.ACTIVE}
    assert isinstance(await writes(stored)["change member"](store), Change)


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR"])
async def test_delete_and_failover_are_let_in_from_active_and_error_only(store: SqlStore, status: str) -> None:
    root = (await create(store)).load_balancer.id

    def leave(name: str) -> Any:
        if name == "failover":
            return store.tenants.fail_over_load_balancer(root, project_id=None)
        return store.tenants.delete_load_balancer(root, cascade=True, project_id=None)

    for name in ("failover", "delete"):
        with pytest.raises(Conflict, match="Invalid state PENDING"):
            await leave(name)
        await set_status(store, root, status)
        assert isinstance(await leave(name), Change)
    with pytest.raises(Conflict, match="Invalid state PENDING_DELETE"):
        await leave("delete")


async def test_delete_that_the_device_refused_may_be_repeated(store: SqlStore) -> None:
    root = (await create(store)).load_balancer.id
    await confirm(store, root)
    first = await store.tenants.delete_load_balancer(root, cascade=True, project_id=None)
    with pytest.raises(Conflict, match="Invalid state PENDING_DELETE"):
        await store.tenants.delete_load_balancer(root, cascade=True, project_id=None)
    await confirm(store, root, error="the device refuses it")

    again = await store.tenants.delete_load_balancer(root, cascade=True, project_id=None)
    assert (again.load_balancer_id, again.revision, again.owner) == (root, first.revision, first.owner)
    for write in (
        store.tenants.fail_over_load_balancer(root, project_id=None),
        store.lbaas_tenants.update_load_balancer(root, {"name": "x"}, project_id=None),
        store.tenants.add_listener(listener(load_balancer_id=root, protocol_port=99), project_id=None),
    ):
        with pytest.raises(Conflict) as refused:
            await write
        assert str(refused.value) == f"Load Balancer {root} is immutable and cannot be updated."


async def test_lbaas_changes_what_is_in_error_and_nothing_that_is_pending(store: SqlStore) -> None:
    stored = await create(store)
    root = stored.load_balancer.id
    lbaas = ViewOfLbaas(store)

    async def rename(name: str = "x") -> Change:
        return await lbaas.tenants.update_load_balancer(root, {"name": name}, project_id=None)

    every = writes(stored)
    kinds = ("monitor", "member", "pool", "listener")  # each goes before what it is in
    names = [f"change {kind}" for kind in kinds] + [f"delete {kind}" for kind in kinds]
    for name, write in {**{name: every[name] for name in names}, "change load balancer": lambda _: rename()}.items():
        await set_status(store, root, "PENDING_UPDATE")
        with pytest.raises(Conflict):
            await write(lbaas)
        await set_status(store, root, "ERROR")
        assert isinstance(await write(lbaas), Change), name
        if name.startswith("delete"):
            await set_status(store, root, "ERROR")
            assert isinstance(await write(lbaas), Change), f"{name} again"
    await set_status(store, root, "PENDING_UPDATE")
    with pytest.raises(Conflict, match="Invalid state PENDING_UPDATE"):
        await rename("y")


async def test_unknown_object_is_not_found_rather_than_immutable(store: SqlStore) -> None:
    with pytest.raises(NotFound):
        await store.tenants.update_load_balancer("nobody", {"name": "x"}, project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.delete_child(Pool, "nobody", project_id=None)
    root = (await create(store)).load_balancer.id
    with pytest.raises(NotFound):
        await store.tenants.delete_load_balancer(root, cascade=True, project_id="somebody-else")


async def test_of_many_writes_at_once_one_is_accepted_each_time_it_is_active(
    store: SqlStore, other_store: SqlStore
) -> None:
    stored = await create(store)
    root, group = stored.load_balancer.id, stored.pools[0].id
    for turn in range(2):
        await confirm(store, root)

        def ask(number: int, turn: int = turn) -> Any:
            by = store if number % 2 else other_store
            if number % 3 == 0:
                return by.tenants.update_load_balancer(root, {"name": f"{turn}-{number}"}, project_id=None)
            return by.tenants.add_members((member(1000 * (turn + 1) + number, pool_id=group),), project_id=None)

        answers = await asyncio.gather(*(ask(number) for number in range(MANY)), return_exceptions=True)

        accepted = [answer for answer in answers if isinstance(answer, Change)]
        assert len(accepted) == 1
        assert all(isinstance(answer, Conflict) for answer in answers if not isinstance(answer, Change))
        assert (await store.tenants.tree(root, project_id=None)).load_balancer.revision == turn + 2


async def test_strict_immutability_costs_no_further_statement(store: SqlStore, database_url: str) -> None:
    root = (await create(store)).load_balancer.id
    lax = open_store(database_url)
    counts = []
    for by in (store, lax):
        await confirm(store, root)
        with statements_of(by.database) as seen:
            await by.tenants.update_load_balancer(root, {"name": "x"}, project_id=None)
        counts.append(len(seen))
    await lax.close()
    assert counts[0] == counts[1]
