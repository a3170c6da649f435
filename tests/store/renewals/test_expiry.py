"""Operators are told 30, 7 and 1 days before a certificate in use ends, and when it has, once each."""

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from evenkeel.core.tls.certificates import DAY_SECONDS, CertificateKind, ReferenceQuery
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture
from tests.store.renewals.test_contents import events, found, one_due

__all__ = ["world_fixture"]


async def ending_in(world: World, id_: str, days: float) -> None:
    await world.change(schema.certificate, id_, not_after=db_now() + days * DAY_SECONDS)


async def told(world: World) -> list[str]:
    """What was told now, shortly."""
    before = len(await events(world))
    count = await world.store.renewals.warn_of_expiry(limit=100)
    now = (await events(world))[before:]
    assert len(now) == count
    return [kind.removeprefix("certificate_") + text.partition("within")[2].partition(":")[0] for kind, text in now]


async def test_each_moment_is_reported_once(world: World) -> None:
    id_ = await world.certificate(await world.load_balancer(), "ref-1")
    moments = {31.0: [], 29.0: ["expiring 30 d"], 6.9: ["expiring 7 d"], 0.9: ["expiring 1 d"], -0.1: ["expired"]}
    for days, expected in moments.items():
        await ending_in(world, id_, days)
        assert await told(world) == expected, days
        assert await told(world) == [], days


@pytest.mark.parametrize(("days", "expected"), [(3.0, "expiring 7 d"), (-100.0, "expired")])
async def test_expiry_that_is_found_late_is_reported_once_at_its_stage(
    world: World, days: float, expected: str
) -> None:
    await ending_in(world, await world.certificate(await world.load_balancer(), "ref-1"), days)
    assert await told(world) == [expected]
    assert await told(world) == []


async def test_a_renewed_certificate_is_reported_again(world: World) -> None:
    id_ = await world.certificate(await world.load_balancer(), "ref-1")
    await ending_in(world, id_, 5.0)
    assert await told(world) == ["expiring 7 d"]
    await world.store.renewals.record_content(await one_due(world), found())
    assert await told(world) == []
    await ending_in(world, id_, 5.0)
    assert await told(world) == ["expiring 7 d"]


async def test_unused_certificate_or_one_without_expiry_is_not_reported(world: World) -> None:
    id_ = await world.certificate(await world.load_balancer(), "ref-1")
    assert await told(world) == []
    await ending_in(world, id_, 5.0)
    await world.db.write(lambda connection: connection.execute(schema.certificate_use.delete()))
    assert await told(world) == []


async def test_controllers_tell_it_once_together(world: World) -> None:
    await ending_in(world, await world.certificate(await world.load_balancer(), "ref-1"), 5.0)
    others = [world.another_controller() for _ in range(3)]
    counts = await asyncio.gather(*(other.renewals.warn_of_expiry(limit=100) for other in others))
    assert sum(counts) == 1 == len(await events(world))


async def test_a_revocation_list_is_reported_when_it_is_out_of_date(world: World) -> None:
    """Most of them are never far from their next one."""
    id_ = await world.certificate(await world.load_balancer(), "ref-1", kind="revocation_list")
    await ending_in(world, id_, 0.5)
    assert await told(world) == []
    await ending_in(world, id_, -0.5)
    assert await told(world) == ["expired"]


async def test_date_at_which_a_revocation_list_is_out_of_date_is_stored(world: World) -> None:
    await world.certificate(await world.load_balancer(), "ref-1", kind="revocation_list")
    end = datetime(2026, 1, 1, tzinfo=UTC)
    ended = replace(found(), kind=CertificateKind.REVOCATION_LIST, facts=None, next_update=end)
    await world.store.renewals.record_content(await one_due(world), ended)
    assert await told(world) == ["expired"]
    (row,) = await world.operator.references(ReferenceQuery(expiring_days=0), limit=10)
    assert row.ends_at == end
