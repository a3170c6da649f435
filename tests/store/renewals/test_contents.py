"""References are read again by one controller at a time, and new content becomes a new revision of who uses it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import select

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, DueCertificate
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.builders import FACTS
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

OLD, NEW = "a" * 64, "b" * 64
CERTIFICATE = CertificateKind.CERTIFICATE


def found(sha256: str = NEW, *, not_after: datetime = datetime(2099, 1, 1, tzinfo=UTC)) -> CheckedCertificate:
    facts = replace(FACTS, not_after=not_after)
    return CheckedCertificate(reference="ref-1", kind=CERTIFICATE, sha256=sha256, facts=facts)


async def row_of(world: World, id_: str) -> Any:
    statement = select(schema.certificate).where(schema.certificate.c.id == id_)
    return await world.db.read(lambda connection: connection.execute(statement).one())


async def revision(world: World, load_balancer: LoadBalancer) -> int:
    root: LoadBalancer = await world.store.tenants.get(LoadBalancer, load_balancer.id, project_id=None)
    return root.revision


async def events(world: World) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in await world.operator.events() if "certificate" in event.kind]


async def one_due(world: World) -> DueCertificate:
    (due,) = await world.store.renewals.take_due_certificates(limit=10)
    return due


async def test_due_certificate_is_taken_once_until_the_next_time(world: World) -> None:
    id_ = await world.certificate(await world.load_balancer(), "ref-1")
    due = await one_due(world)
    assert due == DueCertificate(id=id_, project_id=ProjectId("p1"), reference="ref-1", kind=CERTIFICATE)
    assert await world.store.renewals.take_due_certificates(limit=10) == ()
    await world.change(schema.certificate, id_, next_check_at=db_now() - 1.0)
    assert await one_due(world) == due


async def test_controllers_share_the_work(world: World) -> None:
    load_balancer = await world.load_balancer()
    for number in range(10):
        await world.certificate(load_balancer, f"ref-{number}", owner_id=f"listener-{number}")
    others = [world.another_controller() for _ in range(3)]
    taken = await asyncio.gather(*(other.renewals.take_due_certificates(limit=10) for other in others))
    references = [due.reference for some in taken for due in some]
    assert sorted(references) == sorted(f"ref-{number}" for number in range(10))


async def test_longest_due_certificate_comes_first(world: World) -> None:
    load_balancer = await world.load_balancer()
    for number in range(5):
        id_ = await world.certificate(load_balancer, f"ref-{number}", owner_id=f"listener-{number}")
        await world.change(schema.certificate, id_, next_check_at=db_now() - 10.0 * number - 1.0)
    assert {due.reference for due in await world.store.renewals.take_due_certificates(limit=2)} == {"ref-4", "ref-3"}


async def test_unused_certificate_is_not_read(world: World) -> None:
    await world.certificate(await world.load_balancer(), "ref-1")
    await world.db.write(lambda connection: connection.execute(schema.certificate_use.delete()))
    assert await world.store.renewals.take_due_certificates(limit=10) == ()


async def test_a_clock_that_was_set_back_delays_nothing_for_long(world: World) -> None:
    id_ = await world.certificate(await world.load_balancer(), "ref-1")
    await world.change(schema.certificate, id_, next_check_at=db_now() + 1e6)
    assert (await one_due(world)).id == id_


async def test_requested_refresh_is_due_at_once(world: World) -> None:
    await world.certificate(await world.load_balancer(), "ref-1")
    await one_due(world)
    await world.store.renewals.make_certificate_due(ProjectId("p1"), "ref-1", CERTIFICATE)
    await world.store.renewals.make_certificate_due(ProjectId("p1"), "gone", CERTIFICATE)
    assert (await one_due(world)).reference == "ref-1"


async def test_the_same_content_changes_no_load_balancer(world: World) -> None:
    load_balancer = await world.load_balancer()
    id_ = await world.certificate(load_balancer, "ref-1")
    assert await world.store.renewals.record_content(await one_due(world), found(OLD)) == ()
    assert await revision(world, load_balancer) == load_balancer.revision
    row = await row_of(world, id_)
    assert row.sha256 == row.announced_sha256 == OLD and row.not_after == found().facts.not_after.timestamp()  # type: ignore[union-attr]
    assert await events(world) == []


async def test_new_content_is_a_new_revision_of_every_load_balancer_that_uses_it(world: World) -> None:
    await world.agent("a1")
    using = await world.placed(id="lb-1")
    waiting = await world.load_balancer(id="lb-2")
    other = await world.load_balancer(id="lb-3")
    id_ = await world.certificate(using, "ref-1")
    use = {"owner_id": "listener-2", "certificate_id": id_, "load_balancer_id": waiting.id}
    await world.db.write(lambda connection: connection.execute(schema.certificate_use.insert().values(**use)))
    before = {each.id: await revision(world, each) for each in (using, waiting, other)}
    changes = await world.store.renewals.record_content(await one_due(world), found())
    assert [(each.load_balancer_id, each.placed, each.owner is not None) for each in changes] == [
        ("lb-1", True, True),
        ("lb-2", False, False),
    ]
    after = {each.id: await revision(world, each) for each in (using, waiting, other)}
    assert after == {"lb-1": before["lb-1"] + 1, "lb-2": before["lb-2"] + 1, "lb-3": before["lb-3"]}
    row = await row_of(world, id_)
    assert row.sha256 == row.announced_sha256 == NEW
    ((kind, text),) = await events(world)
    assert kind == "certificate_renewed" and "certificate ref-1 of project p1" in text and text.endswith(": 2")
    root: LoadBalancer = await world.store.tenants.get(LoadBalancer, "lb-1", project_id=None)
    assert root.provisioning_status.startswith("PENDING") and root.change_id != using.change_id


async def test_content_that_a_request_has_read_before_is_announced_to_the_others(world: World) -> None:
    """A request stores what it read; the load balancers that had the reference before learn of it here."""
    load_balancer = await world.load_balancer()
    id_ = await world.certificate(load_balancer, "ref-1")
    await world.change(schema.certificate, id_, sha256=NEW)
    (change,) = await world.store.renewals.record_content(await one_due(world), found(NEW))
    assert change.load_balancer_id == load_balancer.id
    assert (await row_of(world, id_)).announced_sha256 == NEW


async def test_deleted_load_balancers_are_left_alone(world: World) -> None:
    load_balancer = await world.load_balancer(deleted=True)
    await world.certificate(load_balancer, "ref-1")
    assert await world.store.renewals.record_content(await one_due(world), found()) == ()


async def test_a_row_that_went_meanwhile_is_no_error(world: World) -> None:
    await world.certificate(await world.load_balancer(), "ref-1")
    due = await one_due(world)
    await world.db.write(lambda connection: connection.execute(schema.certificate_use.delete()))
    await world.db.write(lambda connection: connection.execute(schema.certificate.delete()))
    assert await world.store.renewals.record_content(due, found()) == ()
    await world.store.renewals.record_read_problem(due, "gone")
    assert await events(world) == []


async def test_unreadable_certificate_changes_nothing_and_is_reported_once(world: World) -> None:
    load_balancer = await world.load_balancer()
    id_ = await world.certificate(load_balancer, "ref-1")
    due = await one_due(world)
    for _ in range(3):
        await world.store.renewals.record_read_problem(due, "Could not retrieve certificate: ['ref-1']" + "x" * 5000)
    assert await revision(world, load_balancer) == load_balancer.revision
    row = await row_of(world, id_)
    assert row.sha256 == OLD and row.problem.startswith("Could not retrieve") and len(row.problem) == 1000
    assert [kind for kind, _ in await events(world)] == ["certificate_unreadable"]
    await world.store.renewals.record_content(due, found(OLD))
    assert [kind for kind, _ in await events(world)] == ["certificate_unreadable", "certificate_readable"]
    assert (await row_of(world, id_)).problem == ""


async def test_two_controllers_that_read_the_same_content_make_one_revision(world: World) -> None:
    load_balancer = await world.load_balancer()
    await world.certificate(load_balancer, "ref-1")
    due = await one_due(world)
    others = [world.another_controller() for _ in range(2)]
    await asyncio.gather(*(other.renewals.record_content(due, found()) for other in others))
    assert await revision(world, load_balancer) == load_balancer.revision + 1
    assert len(await events(world)) == 1
