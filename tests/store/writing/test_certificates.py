"""What references name is kept once for each project, used by who refers to it, and goes when nobody does."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.limits import LoadBalancerLimits, ObjectLimitReached
from evenkeel.core.resources.model import Listener, LoadBalancerTree, NewPool, Pool
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate
from evenkeel.store.engine.clock import db_now
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.scheduling.cleanup import CERTIFICATE_UNUSED_SECONDS
from evenkeel.store.sql_store import SqlStore, open_store
from evenkeel.store.writing.certificates import certificate_id
from tests.store.builders import FACTS, PROJECT, create, l7policy, listener, pool, tree, vip
from tests.store.conftest import statements_of

CERTIFICATE, AUTHORITY, LIST = CertificateKind
NOT_AFTER = FACTS.not_after


def found(reference: str, kind: CertificateKind = CERTIFICATE, sha256: str = "a" * 64) -> CheckedCertificate:
    return CheckedCertificate(reference=reference, kind=kind, sha256=sha256, facts=None if kind is LIST else FACTS)


def https(**values: Any) -> Listener:
    return listener(protocol="TERMINATED_HTTPS", protocol_port=443, **values)


def with_tls() -> LoadBalancerTree:
    """A load balancer with a listener and a pool that refer to certificates."""
    plain = tree()
    row = replace(https(default_tls_container_ref="one", sni_container_refs=("two", "one")), load_balancer_id="x")
    to_members = replace(
        plain.pools[0], tls_enabled=True, tls_container_ref="one", ca_tls_container_ref="ca", crl_container_ref="crl"
    )
    return replace(plain, listeners=(row,), pools=(to_members,))


FOUND = (found("one"), found("two"), found("ca", AUTHORITY), found("crl", LIST))


async def created(store: SqlStore) -> LoadBalancerTree:
    made = with_tls()
    change = await store.tenants.create_load_balancer(made, vip(), FOUND)
    assert change.tree is not None
    return change.tree


async def uses(store: SqlStore) -> set[tuple[str, str, str]]:
    """Who uses which reference of which kind."""
    certificate, use = schema.certificate, schema.certificate_use
    joined = certificate.join(use, use.c.certificate_id == certificate.c.id)
    statement = select(use.c.owner_id, certificate.c.reference, certificate.c.kind).select_from(joined)
    rows = await store.database.read(lambda connection: list(connection.execute(statement)))
    return {(row.owner_id, row.reference, row.kind) for row in rows}


async def rows(store: SqlStore) -> dict[tuple[str, str], Any]:
    """By reference and kind."""
    statement = select(schema.certificate)
    found_rows = await store.database.read(lambda connection: list(connection.execute(statement)))
    return {(row.reference, row.kind): row for row in found_rows}


async def test_a_tree_uses_what_its_parts_refer_to(store: SqlStore) -> None:
    made = await created(store)
    listener_id, pool_id = made.listeners[0].id, made.pools[0].id
    assert await uses(store) == {
        (listener_id, "one", "certificate"),
        (listener_id, "two", "certificate"),
        (pool_id, "one", "certificate"),
        (pool_id, "ca", "authority"),
        (pool_id, "crl", "revocation_list"),
    }
    kept = (await rows(store))["one", "certificate"]
    assert (kept.project_id, kept.sha256, kept.announced_sha256) == (PROJECT, "a" * 64, "a" * 64)
    assert (kept.not_after, kept.problem, kept.expiry_told_days) == (NOT_AFTER.timestamp(), "", None)
    assert kept.next_check_at == pytest.approx(kept.checked_at + StoreOptions().certificate_refresh_seconds)
    assert "www.example.org" in kept.facts


async def test_unread_reference_has_no_rows(store: SqlStore) -> None:
    await store.tenants.create_load_balancer(with_tls(), None)
    assert await uses(store) == set() and await rows(store) == {}


async def test_listeners_and_pools_of_every_way_to_make_them(store: SqlStore) -> None:
    plain = await create(store)
    root = {"load_balancer_id": plain.load_balancer.id}
    tls = {"tls_enabled": True, "tls_container_ref": "pool", **root}
    first, second, third = (pool(**tls) for _ in range(3))
    row = https(default_tls_container_ref="one", **root)
    checked = (found("one"), found("pool"))
    policy = l7policy(listener_id=row.id, action="REDIRECT_TO_POOL", redirect_pool_id=third.id, **root)
    tenants = store.tenants
    await tenants.add_listener(row, new_pools=[NewPool(pool=first)], certificates=checked, project_id=None)
    await tenants.add_pool(second, (), None, listener_id=None, certificates=checked[1:], project_id=None)
    new_pool = NewPool(pool=third)
    await tenants.add_l7policy(policy, (), new_pool=new_pool, certificates=checked[1:], project_id=None)
    expected = {(row.id, "one", "certificate")} | {(each.id, "pool", "certificate") for each in (first, second, third)}
    assert await uses(store) == expected


async def test_a_change_keeps_adds_and_drops_uses(store: SqlStore) -> None:
    made = await created(store)
    listener_id, pool_id = made.listeners[0].id, made.pools[0].id
    changes = {"default_tls_container_ref": None, "sni_container_refs": ("two", "three")}
    await store.tenants.update_child(Listener, listener_id, changes, certificates=[found("three")], project_id=None)
    await store.tenants.update_child(Pool, pool_id, {"name": "other"}, project_id=None)
    of_listener = {(reference, kind) for owner, reference, kind in await uses(store) if owner == listener_id}
    assert of_listener == {("two", "certificate"), ("three", "certificate")}
    assert len(await uses(store)) == 5

    # what is known from before is used again unread
    await store.tenants.update_child(
        Listener, listener_id, {"sni_container_refs": ("one", "never read")}, project_id=None
    )
    of_listener = {(reference, kind) for owner, reference, kind in await uses(store) if owner == listener_id}
    assert of_listener == {("one", "certificate")}


async def test_uses_go_with_listeners_and_pools(store: SqlStore) -> None:
    made = await created(store)
    await store.tenants.delete_child(Listener, made.listeners[0].id, project_id=None)
    assert {owner for owner, _, _ in await uses(store)} == {made.pools[0].id}
    await store.tenants.delete_child(Pool, made.pools[0].id, project_id=None)
    assert await uses(store) == set()


async def test_uses_go_with_the_load_balancer(store: SqlStore) -> None:
    made = await created(store)
    await store.tenants.delete_load_balancer(made.load_balancer.id, cascade=True, project_id=None)
    assert await uses(store) == set()


async def test_another_content_is_due_to_be_announced_to_those_who_had_the_former(store: SqlStore) -> None:
    made = await created(store)
    expiry = update(schema.certificate).values(expiry_told_days=7)
    await store.database.write(lambda connection: connection.execute(expiry))
    root = {"load_balancer_id": made.load_balancer.id}
    row = listener(protocol="TERMINATED_HTTPS", protocol_port=444, default_tls_container_ref="one", **root)
    await store.tenants.add_listener(row, certificates=[found("one", sha256="b" * 64)], project_id=None)
    kept = (await rows(store))["one", "certificate"]
    assert (kept.sha256, kept.announced_sha256, kept.expiry_told_days) == ("b" * 64, "a" * 64, None)
    assert kept.next_check_at == kept.checked_at
    assert (await rows(store))["two", "certificate"].expiry_told_days == 7


async def test_a_reference_of_two_projects_is_two_things(store: SqlStore) -> None:
    await created(store)
    other = with_tls()
    other = replace(other, load_balancer=replace(other.load_balancer, project_id=ProjectId("project-2")))
    await store.tenants.create_load_balancer(other, None, FOUND)
    ids = {certificate_id(ProjectId(project), "one", CERTIFICATE) for project in (PROJECT, "project-2")}
    statement = select(schema.certificate.c.id).where(schema.certificate.c.reference == "one")
    assert set(await store.database.read(lambda connection: list(connection.scalars(statement)))) == ids


async def test_unused_rows_go_after_a_while_and_only_they(store: SqlStore) -> None:
    made = await created(store)
    await store.tenants.update_child(Listener, made.listeners[0].id, {"sni_container_refs": ()}, project_id=None)
    assert await store.scheduling.remove_unused_certificates(limit=10) == 0  # it was read just now
    long_ago = update(schema.certificate).values(checked_at=db_now() - CERTIFICATE_UNUSED_SECONDS - 1)
    await store.database.write(lambda connection: connection.execute(long_ago))
    assert await store.scheduling.remove_unused_certificates(limit=10) == 1
    assert set(await rows(store)) == {("one", "certificate"), ("ca", "authority"), ("crl", "revocation_list")}
    await store.tenants.delete_load_balancer(made.load_balancer.id, cascade=True, project_id=None)
    assert await store.scheduling.remove_unused_certificates(limit=2) == 2
    assert await store.scheduling.remove_unused_certificates(limit=2) == 1
    assert await rows(store) == {}


async def test_many_writes_of_one_reference_at_once_come_to_one_row(store: SqlStore) -> None:
    changes = await asyncio.gather(*(store.tenants.create_load_balancer(with_tls(), None, FOUND) for _ in range(8)))
    assert len(changes) == 8
    assert len(await rows(store)) == 4 and len(await uses(store)) == 8 * 5


async def test_a_load_balancer_has_only_so_many(store: SqlStore, database_url: str) -> None:
    made = await created(store)
    narrow = open_store(database_url, StoreOptions(load_balancer_limits=LoadBalancerLimits(certificate=6)))
    listener_id = made.listeners[0].id
    try:
        changes: dict[str, Any] = {"sni_container_refs": ("two", "three", "four")}
        checked = [found("three"), found("four")]
        with pytest.raises(ObjectLimitReached, match="at most 6 certificates: it has 5, and 2 more were requested"):
            await narrow.tenants.update_child(Listener, listener_id, changes, certificates=checked, project_id=None)
        changes = {"sni_container_refs": ("two", "three")}
        await narrow.tenants.update_child(Listener, listener_id, changes, certificates=checked, project_id=None)
    finally:
        await narrow.close()


async def test_objects_without_references_cost_no_statement(store: SqlStore) -> None:
    with statements_of(store.database) as seen:
        made = await create(store)
        await store.tenants.update_child(Listener, made.listeners[0].id, {"name": "other"}, project_id=None)
        await store.tenants.delete_child(Listener, made.listeners[0].id, project_id=None)
    assert not [text for text in seen if "certificate" in text.lower() and "insert into listener" not in text.lower()]


async def test_the_number_of_statements_does_not_depend_on_the_number_of_references(store: SqlStore) -> None:
    counts = []
    for count in (1, 200):
        made = await created(store)
        names = tuple(f"ref-{number}" for number in range(count))
        with statements_of(store.database) as seen:
            for references in (names, ("two",)):
                checked = [found(name) for name in references]
                await store.tenants.update_child(
                    Listener,
                    made.listeners[0].id,
                    {"sni_container_refs": references},
                    certificates=checked,
                    project_id=None,
                )
        counts.append(len(seen))
    assert counts[0] == counts[1]
