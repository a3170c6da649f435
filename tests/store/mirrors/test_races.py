"""Two controllers that write one mirrored load balancer at once."""

import asyncio

import pytest
from msgspec.structs import replace

from evenkeel.core.control.mirrors import STALE_SNAPSHOT, MirrorConflict
from evenkeel.core.control.writes import Change
from evenkeel.core.resources.tree_changes import tree_changes
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import member
from tests.store.conftest import WITH_GALERA, databases
from tests.store.mirrors.test_mirror_writes import PLAN, VIP, mark, put, stored, whole

backend = databases(*WITH_GALERA)


@pytest.mark.parametrize("repeats", [1, 3])
async def test_the_first_put_at_once_by_two_controllers_is_one_revision(
    store: SqlStore, other_store: SqlStore, repeats: int
) -> None:
    wanted = whole()
    asked = [put(each, wanted) for _ in range(repeats) for each in (store, other_store)]
    answers = await asyncio.gather(*asked)
    assert [answer.revision for answer in answers if answer is not None] == [1]
    assert (await stored(store, wanted)).load_balancer.revision == 1


async def test_of_different_states_put_at_once_the_newest_stays(store: SqlStore, other_store: SqlStore) -> None:
    first = whole()
    await put(store, first, 0.5)
    states = [
        replace(first, members=(member(number, pool_id=first.pools[0].id, load_balancer_id=first.load_balancer.id),))
        for number in range(10)
    ]
    answers = await asyncio.gather(
        *(put(store if at % 2 else other_store, state, float(at + 1)) for at, state in enumerate(states)),
        return_exceptions=True,
    )
    refused = [answer for answer in answers if isinstance(answer, MirrorConflict)]
    assert {error.code for error in refused} <= {STALE_SNAPSHOT}
    assert all(answer is None or isinstance(answer, Change | MirrorConflict) for answer in answers)
    assert not tree_changes(await stored(store, first), states[-1])


async def test_a_delete_and_a_put_at_once_leave_what_the_newer_one_says(store: SqlStore, other_store: SqlStore) -> None:
    for deleted_at in (1.0, 3.0):
        what = whole()
        what = replace(what, load_balancer=replace(what.load_balancer, vip=replace(VIP, network_id=str(deleted_at))))
        plan = replace(PLAN, network_id=str(deleted_at))
        await asyncio.gather(
            store.mirrors.put_mirrored_load_balancer(what, plan, mark(2.0)),
            other_store.mirrors.remove_mirrored_load_balancer(what.load_balancer.id, "prod", deleted_at),
            return_exceptions=True,
        )
        found = await store.mirrors.find_mirrored_load_balancer(what.load_balancer.id)
        assert (found is None) == (deleted_at == 3.0)
