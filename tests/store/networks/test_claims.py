"""Claims on VIPs: held by a stored load balancer, let go by whatever removes it, given to one controller at a time."""

import asyncio

import pytest
from sqlalchemy import Connection, delete, insert, select, update

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.network import DueClaim, PortClaim
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import UNKNOWN_HISTORY
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import bare, new_id, vip
from tests.store.conftest import WITH_GALERA, statements_of

GRACE = 1000.0
PORT = new_id()


def claim(load_balancer_id: str = "lb") -> PortClaim:
    return PortClaim(claim_id=load_balancer_id, device_owner="Octavia", device_id=f"lb-{load_balancer_id}")


async def due(store: SqlStore, *, limit: int = 10, retry_seconds: float = 1000.0) -> tuple[DueClaim, ...]:
    backoff = Backoff(initial_seconds=retry_seconds, max_seconds=300.0)
    return await store.claims.take_due_claims(limit=limit, backoff=backoff)


async def create(store: SqlStore, load_balancer_id: str) -> None:
    wanted = vip(address="10.0.0.9", port_id=PORT, claim=claim(load_balancer_id))
    await store.tenants.create_load_balancer(bare(id=load_balancer_id), wanted)


async def standing(store: SqlStore) -> list[str]:
    return await store.database.read(
        lambda connection: list(connection.scalars(select(schema.vip_claim.c.load_balancer_id)))
    )


async def test_a_claim_is_due_once_its_grace_is_over(store: SqlStore) -> None:
    await store.claims.store_claim(claim("early"), grace_seconds=GRACE)
    await store.claims.store_claim(claim("late"), grace_seconds=-1.0)

    (found,) = await due(store)
    assert (found.claim, found.attempts) == (claim("late"), 1)
    assert 0 <= found.age_seconds < 600


async def test_due_claim_waits_while_a_history_is_unknown(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=-1.0)
    row = {"id": "another's", "kind": UNKNOWN_HISTORY, "noted_at": 1.0}
    await store.database.write(lambda connection: connection.execute(insert(schema.other_history).values(**row)))
    assert await due(store) == ()

    await store.operators.accept_history("another's")
    assert [each.claim for each in await due(store)] == [claim()]


async def test_a_claim_from_before_the_clock_was_set_back_is_due(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=100_000.0)

    assert [each.claim for each in await due(store)] == [claim()]
    assert await due(store) == ()


async def test_an_abandoned_claim_is_due_at_once(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=GRACE)
    await store.claims.abandon_claim(claim())

    assert [each.claim for each in await due(store)] == [claim()]


async def test_one_that_was_forgotten_too_early_is_written_down_again(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=GRACE)
    await store.claims.delete_claim("lb")
    await store.claims.abandon_claim(claim())
    await store.claims.abandon_claim(claim())

    assert [each.claim for each in await due(store)] == [claim()]


async def test_a_stored_load_balancer_holds_its_claim(store: SqlStore) -> None:
    lb = new_id()
    await store.claims.store_claim(claim(lb), grace_seconds=GRACE)
    await create(store, lb)
    await store.claims.abandon_claim(claim(lb))
    await store.claims.delete_claim(lb)

    assert await due(store) == ()
    assert await standing(store) == [lb]


async def test_a_claim_is_due_with_its_port_when_the_load_balancer_is_deleted(store: SqlStore) -> None:
    lb = new_id()
    await store.claims.store_claim(claim(lb), grace_seconds=GRACE)
    await create(store, lb)
    await store.tenants.delete_load_balancer(lb, cascade=True, project_id=None)

    (found,) = await due(store)
    assert (found.claim.claim_id, found.claim.port_id) == (lb, PORT)
    await store.claims.delete_claim(lb)
    assert await standing(store) == []


async def test_any_removal_of_the_row_lets_go(store: SqlStore) -> None:
    lb = new_id()
    await store.claims.store_claim(claim(lb), grace_seconds=GRACE)
    await create(store, lb)
    await store.database.write(lambda connection: connection.execute(delete(schema.load_balancer)))

    assert [each.claim.claim_id for each in await due(store)] == [lb]


async def test_a_refused_create_leaves_its_claim_free(store: SqlStore) -> None:
    first, second = new_id(), new_id()
    for lb in (first, second):
        await store.claims.store_claim(claim(lb), grace_seconds=GRACE)
    await create(store, first)
    with pytest.raises(Conflict):
        await create(store, second)
    await store.claims.abandon_claim(claim(second))

    assert [each.claim.claim_id for each in await due(store)] == [second]


async def test_a_create_that_comes_after_giving_back_began_is_refused_and_stores_nothing(store: SqlStore) -> None:
    lb = new_id()
    await store.claims.store_claim(claim(lb), grace_seconds=-1.0)
    assert await due(store)

    with pytest.raises(NetworkUnavailable, match="being deleted"):
        await create(store, lb)
    assert sum((await store.operators.load_balancer_summary()).by_status.values()) == 0


async def test_two_claims_on_one_load_balancer_are_a_conflict(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=GRACE)
    with pytest.raises(Conflict, match="lb is being allocated"):
        await store.claims.store_claim(claim(), grace_seconds=GRACE)


ALSO_AT_TWO_NODES = pytest.mark.parametrize("backend", WITH_GALERA, indirect=True)


@ALSO_AT_TWO_NODES
async def test_each_due_claim_goes_to_one_controller(store: SqlStore, other_store: SqlStore) -> None:
    names = sorted(f"lb-{number}" for number in range(12))
    for name in names:
        await store.claims.store_claim(claim(name), grace_seconds=-1.0)

    answers = await asyncio.gather(*(due(at, limit=20) for at in (store, other_store, store, other_store)))
    assert sorted(each.claim.claim_id for answer in answers for each in answer) == names


@ALSO_AT_TWO_NODES
async def test_a_vip_is_either_stored_or_given_back(store: SqlStore, other_store: SqlStore) -> None:
    names = [new_id() for _ in range(12)]
    for name in names:
        await store.claims.store_claim(claim(name), grace_seconds=-1.0)

    async def try_to_store(number: int) -> str | None:
        wanted = vip(address=f"10.0.1.{number}", port_id=new_id(), claim=claim(names[number]))
        try:
            await store.tenants.create_load_balancer(bare(id=names[number]), wanted)
        except NetworkUnavailable:
            return None
        return names[number]

    created, taken = await asyncio.gather(
        asyncio.gather(*(try_to_store(number) for number in range(12))),
        due(other_store, limit=20),
    )
    outcomes = [name for name in created if name] + [each.claim.claim_id for each in taken]
    assert sorted(outcomes) == sorted(names)


async def test_claim_that_could_not_be_released_is_due_at_growing_intervals(store: SqlStore) -> None:
    await store.claims.store_claim(claim(), grace_seconds=-1.0)
    for attempt, pause in enumerate((60, 120, 240, *[300] * 8), start=1):
        before = await store.database.query(_now)
        (found,) = await due(store, retry_seconds=60.0)
        after = await store.database.query(_now)
        assert found.attempts == attempt
        assert await due(store) == ()
        due_at = await store.database.write(_make_due)
        assert before + pause - 0.01 < due_at < after + pause + 0.01


def _now(connection: Connection) -> float:
    return connection.scalar(select(db_now())) or 0.0


def _make_due(connection: Connection) -> float:
    """When the claim would have been due, which it is now."""
    due_at: float = connection.scalar(select(schema.vip_claim.c.due_at))
    connection.execute(update(schema.vip_claim).values(due_at=db_now() - 1))
    return due_at


async def test_a_look_with_nothing_to_do_is_one_query(store: SqlStore) -> None:
    for number in range(3):
        lb = new_id()
        await store.claims.store_claim(claim(lb), grace_seconds=-1.0)
        wanted = vip(address=f"10.0.0.{number + 1}", port_id=new_id(), claim=claim(lb))
        await store.tenants.create_load_balancer(bare(id=lb), wanted)

    with statements_of(store.database) as statements:
        assert await due(store) == ()
    assert len(statements) == 1
