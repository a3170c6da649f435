"""Ports of VIPs that are created here before the other system commits their load balancers."""

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.mirrors import ID_TAKEN, STALE_SNAPSHOT, MirrorConflict
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import NetworkUnavailable
from evenkeel.core.networking.network import DueClaim, PortClaim, borrowed_port_claim
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.store.engine.clock import db_now
from evenkeel.store.networks.claims import KEPT_SECONDS_MAX
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, new_id, placed
from tests.store.conftest import RULES_ON, databases
from tests.store.mirrors.test_mirror_writes import PLAN, mark, whole

backend = databases(*RULES_ON)
GRACE = 1000.0


def claim_on(id_: str) -> PortClaim:
    return PortClaim(claim_id=id_, device_owner="Octavia", device_id=f"lb-{id_}")


async def kept(store: SqlStore, id_: str, *, provider: str = "prod", port_id: str = PLAN.port_id) -> None:
    """A port created for a load balancer whose create the other system has not committed."""
    await store.claims.store_claim(claim_on(id_), grace_seconds=GRACE)
    await store.mirrors.store_vip_port(id_, provider, port_id)


async def due(store: SqlStore) -> tuple[DueClaim, ...]:
    return await store.claims.take_due_claims(limit=10, backoff=Backoff(initial_seconds=200.0, max_seconds=300.0))


async def move_due(store: SqlStore, seconds: float) -> None:
    """Let all claims become due so many seconds earlier."""
    table = schema.vip_claim
    statement = update(table).values(due_at=table.c.due_at - seconds)
    await store.database.write(lambda connection: connection.execute(statement))


def plan_of(what: LoadBalancerTree) -> VipPlan:
    """The plan of a put, which does not know who made the port."""
    return replace(PLAN, claim=borrowed_port_claim(what.load_balancer.id, PLAN.port_id))


async def test_kept_port_outlives_the_grace_of_its_claim(store: SqlStore) -> None:
    id_ = new_id()
    await kept(store, id_)
    await move_due(store, GRACE + 3600.0)
    assert await due(store) == ()
    await move_due(store, KEPT_SECONDS_MAX)
    assert [each.claim for each in await due(store)] == [replace(claim_on(id_), port_id=PLAN.port_id)]


async def test_claim_of_a_request_that_ended_before_its_port_was_kept_is_due_after_its_grace(store: SqlStore) -> None:
    id_ = new_id()
    await store.claims.store_claim(claim_on(id_), grace_seconds=GRACE)
    await move_due(store, GRACE + 1.0)
    assert [each.claim for each in await due(store)] == [claim_on(id_)]
    with pytest.raises(NetworkUnavailable, match="is being deleted"):
        await store.mirrors.store_vip_port(id_, "prod", PLAN.port_id)


async def test_port_that_was_abandoned_is_not_kept(store: SqlStore) -> None:
    id_ = new_id()
    await store.claims.store_claim(claim_on(id_), grace_seconds=GRACE)
    await store.claims.abandon_claim(claim_on(id_))
    with pytest.raises(NetworkUnavailable):
        await store.mirrors.store_vip_port(id_, "prod", PLAN.port_id)


async def test_keeping_a_port_again_changes_nothing(store: SqlStore) -> None:
    id_ = new_id()
    await kept(store, id_)
    await store.mirrors.store_vip_port(id_, "prod", PLAN.port_id)
    with pytest.raises(MirrorConflict) as refused:
        await store.mirrors.store_vip_port(id_, "other", PLAN.port_id)
    assert refused.value.code == ID_TAKEN


async def test_put_holds_the_port_and_its_removal_deletes_the_port(store: SqlStore) -> None:
    what = whole()
    id_ = what.load_balancer.id
    await kept(store, id_)
    await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(1.0))
    assert await due(store) == ()
    assert await store.mirrors.find_unused_ports("prod", 0.0) == ()
    with pytest.raises(MirrorConflict) as late:
        await store.mirrors.store_vip_port(id_, "prod", PLAN.port_id)
    assert late.value.code == STALE_SNAPSHOT

    await store.mirrors.remove_mirrored_load_balancer(id_, "prod", 2.0)
    (released,) = await due(store)
    assert released.claim == replace(claim_on(id_), port_id=PLAN.port_id) and not released.claim.borrowed


async def test_port_of_a_placed_load_balancer_is_bound_and_its_changed_options_are_set(store: SqlStore) -> None:
    await placed(store)
    what = whole()
    id_ = what.load_balancer.id
    await kept(store, id_)
    change = await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(1.0))
    assert change is not None and change.tell_network
    bound = await store.ports.find_due_port(id_)
    assert bound is not None and bound.options.binding_host == f"host-of-{AGENT}"
    assert await store.ports.record_port_updated(bound)

    changed = replace(what, load_balancer=replace(what.load_balancer, vip_qos_policy_id="gold", vip_sg_ids=("web",)))
    change = await store.mirrors.put_mirrored_load_balancer(changed, plan_of(what), mark(2.0))
    assert change is not None and change.tell_network
    wanted = await store.ports.find_due_port(id_)
    assert wanted is not None
    assert (wanted.options.qos_policy_id, wanted.options.security_group_ids) == ("gold", ("web",))


async def test_options_of_a_port_made_elsewhere_are_not_set(store: SqlStore) -> None:
    what = whole()
    await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(1.0))
    changed = replace(what, load_balancer=replace(what.load_balancer, vip_qos_policy_id="gold"))
    change = await store.mirrors.put_mirrored_load_balancer(changed, plan_of(what), mark(2.0))
    assert change is not None and not change.tell_network
    assert await store.ports.find_due_port(what.load_balancer.id) is None


async def test_put_with_a_port_that_is_being_deleted_is_repeated(store: SqlStore) -> None:
    what = whole()
    id_ = what.load_balancer.id
    await kept(store, id_)
    await store.mirrors.remove_mirrored_load_balancer(id_, "prod", 1.0)
    assert len(await due(store)) == 1
    with pytest.raises(NetworkUnavailable):
        await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(2.0))
    assert await store.mirrors.find_mirrored_load_balancer(id_) is None

    await store.claims.delete_claim(id_)
    assert await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(2.0)) is not None


async def test_put_with_another_port_waits_until_the_one_made_here_is_deleted(store: SqlStore) -> None:
    what = whole()
    await kept(store, what.load_balancer.id, port_id="another")
    with pytest.raises(NetworkUnavailable, match="another port"):
        await store.mirrors.put_mirrored_load_balancer(what, plan_of(what), mark(1.0))


async def test_port_of_a_load_balancer_that_was_never_put_is_given_back_by_its_deletion(store: SqlStore) -> None:
    id_, other = new_id(), new_id()
    await kept(store, id_)
    await kept(store, other, port_id="another")
    assert await store.mirrors.remove_mirrored_load_balancer(id_, "prod", 1.0) is None
    assert [each.claim.claim_id for each in await due(store)] == [id_]
    assert await store.mirrors.find_unused_ports("prod", 0.0) == (other,)


async def test_unused_ports_are_those_of_the_provider_and_of_that_age(store: SqlStore) -> None:
    young, old, elsewhere = new_id(), new_id(), new_id()
    await kept(store, young)
    await kept(store, old, port_id="old")
    await kept(store, elsewhere, provider="other", port_id="elsewhere")
    table = schema.vip_claim
    aged = update(table).where(table.c.load_balancer_id != young).values(made_at=db_now() - 500.0)
    await store.database.write(lambda connection: connection.execute(aged))
    assert await store.mirrors.find_unused_ports("prod", 400.0) == (old,)
    assert set(await store.mirrors.find_unused_ports("prod", 0.0)) == {young, old}
