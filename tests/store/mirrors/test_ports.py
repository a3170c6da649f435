"""The port of a mirrored load balancer's VIP, which the other system has made."""

from msgspec.structs import replace

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.network import borrowed_port_claim
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, placed
from tests.store.conftest import RULES_ON, databases
from tests.store.mirrors.test_mirror_writes import PLAN, mark, whole

backend = databases(*RULES_ON)
BACKOFF = Backoff(initial_seconds=200.0, max_seconds=300.0)


async def test_the_port_is_bound_to_the_devices_and_never_made_again(store: SqlStore) -> None:
    await placed(store)
    what = whole()
    id_ = what.load_balancer.id
    change = await store.mirrors.put_mirrored_load_balancer(
        what, replace(PLAN, claim=borrowed_port_claim(id_, PLAN.port_id)), mark(1.0)
    )
    assert change is not None and change.tell_network
    due = await store.ports.find_due_port(id_)
    assert due is not None
    assert (due.port_id, due.options.binding_host) == (PLAN.port_id, f"host-of-{AGENT}")
    pages = [await store.lost_ports.take_ports_to_check(older_seconds=1000.0, limit=10) for _ in range(2)]
    assert pages == [(), ()]


async def test_the_port_of_a_removed_load_balancer_is_given_back_not_deleted(store: SqlStore) -> None:
    what = whole()
    claim = borrowed_port_claim(what.load_balancer.id, PLAN.port_id)
    await store.mirrors.put_mirrored_load_balancer(what, replace(PLAN, claim=claim), mark(1.0))
    await store.mirrors.remove_mirrored_load_balancer(what.load_balancer.id, "prod", 2.0)
    (released,) = await store.claims.take_due_claims(limit=10, backoff=BACKOFF)
    assert released.claim == claim and released.claim.borrowed
