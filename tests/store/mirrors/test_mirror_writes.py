"""Mirrored trees on all databases: locks, constraints and the statements of many rows differ between them."""

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.control.mirrors import MirroredSourceState
from evenkeel.core.control.writes import Change
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.limits import ObjectLimitReached
from evenkeel.core.resources.model import LoadBalancerTree, Vip
from evenkeel.core.resources.tree_changes import children_of, tree_changes
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import FACTS, confirm, listener, load_balancer, member, placed, pool, tree, with_policies
from tests.store.conftest import BACKENDS, databases, statements_of

backend = databases(*BACKENDS)

VIP = Vip(address="203.0.113.5", subnet_id="s", network_id="n", port_id="p")
PLAN = VipPlan(subnet_id="s", network_id="n", port_id="p", address="203.0.113.5")


def whole(members: int = 2) -> LoadBalancerTree:
    """A load balancer with objects of all kinds."""
    return with_policies(tree(members=members, vip=VIP))


def mark(snapshot: float, **more: Any) -> MirroredSourceState:
    return MirroredSourceState(provider="prod", snapshot=snapshot, digest="d", **more)


async def put(store: SqlStore, what: LoadBalancerTree, snapshot: float = 1.0, **more: Any) -> Change | None:
    return await store.mirrors.put_mirrored_load_balancer(what, PLAN, mark(snapshot), **more)


async def stored(store: SqlStore, what: LoadBalancerTree) -> LoadBalancerTree:
    found = await store.mirrors.find_mirrored_load_balancer(what.load_balancer.id)
    assert found is not None
    return found.tree


async def test_a_tree_that_moves_replaces_and_revives_objects_is_stored_as_given(store: SqlStore) -> None:
    await placed(store)
    first = whole()
    (one, other), (group,), (front,) = first.members, first.pools, first.listeners
    more = pool(load_balancer_id=first.load_balancer.id)
    back = listener(load_balancer_id=first.load_balancer.id, protocol_port=81, default_pool_id=more.id)
    swapped = replace(
        first,
        listeners=(replace(front, protocol_port=81), replace(back, protocol_port=80)),
        pools=(group, more),
        members=(replace(one, pool_id=more.id), replace(other, address=one.address)),
        l7policies=(replace(first.l7policies[0], listener_id=back.id, position=1, redirect_pool_id=more.id),),
        l7rules=first.l7rules[:1],
    )
    bare = LoadBalancerTree(load_balancer=first.load_balancer)
    for snapshot, wanted in enumerate((first, swapped, bare, swapped, first, bare, first), start=1):
        change = await put(store, wanted, float(snapshot))
        assert change is not None and change.revision == snapshot
        now = await stored(store, wanted)
        assert not tree_changes(now, wanted)
        assert {row.id for rows in children_of(now).values() for row in rows if not row.deleted} == {
            row.id for rows in children_of(wanted).values() for row in rows
        }
        await confirm(store, first.load_balancer.id)


async def test_the_number_of_statements_does_not_depend_on_the_number_of_new_objects(store: SqlStore) -> None:
    await placed(store)
    counts = []
    for number in (2, 60):
        first = replace(whole(), load_balancer=load_balancer(vip=replace(VIP, network_id=f"n{number}")))
        root = first.load_balancer
        group = first.pools[0]
        bare = LoadBalancerTree(load_balancer=root, pools=(group,))
        members = tuple(member(at, pool_id=group.id, load_balancer_id=root.id) for at in range(number))
        await store.mirrors.put_mirrored_load_balancer(bare, replace(PLAN, network_id=f"n{number}"), mark(1.0))
        with statements_of(store.database) as seen:
            await put(store, replace(bare, members=members), 2.0)
            await put(store, bare, 3.0)
        counts.append(len(seen))
    assert counts[0] == counts[1] < 60


async def test_uses_of_certificates_follow_the_listeners(store: SqlStore) -> None:
    def checked(reference: str) -> CheckedCertificate:
        return CheckedCertificate(reference=reference, kind=CertificateKind.CERTIFICATE, sha256=reference, facts=FACTS)

    async def used() -> list[str]:
        joined = select(schema.certificate.c.reference).join(schema.certificate_use).order_by("reference")
        return await store.database.query(lambda connection: list(connection.scalars(joined)))

    await placed(store)
    root = load_balancer(vip=VIP)
    tls = listener(load_balancer_id=root.id, protocol="TERMINATED_HTTPS", default_tls_container_ref="a")
    wanted = LoadBalancerTree(load_balancer=root, listeners=(tls,))
    await put(store, wanted, 1.0, certificates=[checked("a")])
    assert await used() == ["a"]
    other = replace(wanted, listeners=(replace(tls, default_tls_container_ref="b", sni_container_refs=("a",)),))
    await put(store, other, 2.0, certificates=[checked("b")])
    assert await used() == ["a", "b"]
    await put(store, replace(other, listeners=()), 3.0)
    assert await used() == []
    await put(store, wanted, 4.0, certificates=[checked("a")])
    assert await used() == ["a"]


async def test_more_objects_than_a_load_balancer_may_have_are_refused(store: SqlStore) -> None:
    limits = replace(StoreOptions().load_balancer_limits, member=1)
    small = SqlStore(store.database, StoreOptions(load_balancer_limits=limits))
    wanted = whole()
    with pytest.raises(ObjectLimitReached, match="at most 1 members"):
        await put(small, wanted)
    assert await store.mirrors.find_mirrored_load_balancer(wanted.load_balancer.id) is None
