"""Names in DNS zones of a project are proven by records, which are removed after the order, whatever is interrupted."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.acme import AcmeSettings
from evenkeel.controller.acme.dns_proof import RECORDS_MAX
from evenkeel.controller.acme.issuing import UNUSED_LOOK_SECONDS
from evenkeel.core.kit.errors import DnsZoneUnavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.caa import CaaRecord
from evenkeel.core.tls.acme.progress import ORDER_SECONDS
from evenkeel.core.tls.acme.values import AcmeState, AcmeStep, TxtRecord
from evenkeel.core.tls.acme.zones import ZoneScope
from tests.controller.acme.world import LOAD_BALANCER, Killed, World

WILDCARD = "*.example.org"
RECORD = "_acme-challenge.example.org"
ZONE = ZoneScope(zone="example.org", projects=(ProjectId("p1"),))
OPERATOR_ACTION_EFFECTS = 60
"""More effects than an order has."""


def world_of(*names: str, zones: tuple[ZoneScope, ...] = (ZONE,)) -> World:
    world = World()
    world.zones = zones
    world.resolver.found = {}
    world.authority.asks_for = names[0]
    assert world.database.certificate is not None
    world.database.certificate = replace(world.database.certificate, names=names)
    return world


@pytest.fixture
def world() -> World:
    return world_of(WILDCARD, "example.org")


async def issue(world: World) -> None:
    """Let one controller work until the certificate is issued."""
    controller = world.controller()
    while world.progress.state is not AcmeState.ISSUED:
        await controller.process_due()


def left(world: World) -> tuple[Any, ...]:
    """Records that are stored with the request, and values in the zone."""
    stored = () if world.database.certificate is None else world.database.certificate.records
    return (*stored, *(value for values in world.zone.texts.values() for value in values))


async def test_a_wildcard_and_its_domain_are_proven_by_two_records_of_one_name_that_are_removed(world: World) -> None:
    controller, seen = world.controller(), 0
    while world.progress.state is not AcmeState.ISSUED:
        world.zone.late = "" if seen else "Name server 192.0.2.53 does not have the record yet."
        await controller.process_due()
        seen = max(seen, len(world.zone.texts.get(RECORD, ())))
    assert seen == 2 and left(world) == () and world.database.challenges == {}
    assert len(world.authority.orders) == 1


@pytest.mark.parametrize("before", [True, False])
async def test_a_controller_killed_at_any_effect_leaves_no_record_once_another_one_has_finished(before: bool) -> None:
    for number in range(1, OPERATOR_ACTION_EFFECTS):
        world = world_of(WILDCARD, "example.org")
        world.effects.kill_at, world.effects.before = number, before
        try:
            await issue(world)
            assert number > world.effects.done  # nothing was left to interrupt
            break
        except Killed:
            pass
        stored = world.database.certificate.records if world.database.certificate else ()
        assert {one.value for one in stored} >= {value for each in world.zone.texts.values() for value in each}
        await issue(world)
        assert left(world) == () and world.database.told == ["certificate_issued"], number
    else:
        pytest.fail("an order has more effects than expected")


async def test_each_name_of_a_request_is_proven_by_the_method_that_fits() -> None:
    world = world_of("api.example.org", "www.example.net")
    world.resolver.found = {"www.example.net": ("192.0.2.1",)}
    world.database.applied = False
    controller = world.controller()
    while world.progress.step is not AcmeStep.PLACE:
        await controller.process_due()
    assert len(world.zone.texts["_acme-challenge.api.example.org"]) == 1
    assert len(world.database.challenges[LOAD_BALANCER]) == 1
    world.database.applied = True
    await issue(world)
    assert left(world) == () and world.database.challenges == {}


@pytest.mark.parametrize(
    ("zones", "reason"),
    [
        ((ZoneScope(zone="example.org", projects=(ProjectId("p2"),)),), "no DNS zone of the project has it"),
        ((ZONE, ZoneScope(zone="team.example.org", projects=(ProjectId("p2"),))), "no DNS zone of the project has it"),
        ((), "no DNS zone of the project has it"),
    ],
    ids=["of another project", "part of another project", "none"],
)
async def test_a_wildcard_outside_of_the_projects_zones_waits_and_nothing_is_ordered(
    zones: tuple[ZoneScope, ...], reason: str
) -> None:
    world = world_of("*.team.example.org", zones=zones)
    await world.controller().process_due()
    assert world.progress.state is AcmeState.WAITING and reason in world.progress.problem
    assert world.authority.orders == [] and world.zone.changes == 0


async def test_a_name_in_another_projects_zone_is_proven_by_load_balancers_alone() -> None:
    world = world_of("www.example.org", zones=(ZoneScope(zone="example.org", projects=(ProjectId("p2"),)),))
    await world.controller().process_due()
    assert world.progress.problem == "www.example.org has no address in the DNS."
    world.resolver.found = {"www.example.org": ("192.0.2.1",)}
    await issue(world)
    assert world.zone.changes == 0


async def test_a_zone_server_that_takes_no_changes_makes_the_request_wait_before_an_order(world: World) -> None:
    world.zone.failure = DnsZoneUnavailable("Name server 192.0.2.53 of zone example.org refuses changes: REFUSED.")
    await world.controller().process_due()
    assert world.progress.state is AcmeState.WAITING and "refuses changes: REFUSED" in world.progress.problem
    assert world.authority.orders == []
    world.zone.failure = None
    await issue(world)


async def test_a_zone_server_that_hangs_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(names: Sequence[str]) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(world.zone, "check", hang)
    world.settings = AcmeSettings(lease_seconds=0.2)
    await world.controller().process_due()
    assert world.progress.problem == "The servers of DNS zones did not finish within 0.1 s."


async def test_a_record_that_never_appears_ends_the_order_with_the_reason_and_is_removed(world: World) -> None:
    world.zone.late = "Name server 192.0.2.53 does not have the record yet."
    controller = world.controller()
    await controller.process_due()
    assert (world.progress.step, world.progress.problem) == (AcmeStep.PLACE, world.zone.late)
    world.clock += ORDER_SECONDS + 1
    await controller.process_due()
    assert world.progress.state is AcmeState.FAILED and world.zone.late in world.progress.problem
    assert left(world) == ()


async def test_records_that_could_not_be_removed_are_removed_later(world: World) -> None:
    world.zone.removal_failure = DnsZoneUnavailable("it is away")
    await issue(world)
    assert len(left(world)) == 4
    world.database.due = False
    controller = world.controller()
    await controller.process_due()
    assert len(left(world)) == 4
    world.zone.removal_failure = None
    await controller.process_due()
    assert len(left(world)) == 4
    world.clock += UNUSED_LOOK_SECONDS
    await controller.process_due()
    assert left(world) == ()


async def test_no_record_is_set_beyond_those_that_could_not_be_removed(world: World) -> None:
    old = tuple(TxtRecord(name=RECORD, value=f"old-{number}", zone="example.org") for number in range(RECORDS_MAX))
    assert world.database.certificate is not None
    world.database.certificate = replace(world.database.certificate, records=old)
    world.zone.removal_failure = DnsZoneUnavailable("it is away")
    await world.controller().process_due()
    assert f"{RECORDS_MAX} records of earlier orders could not be removed" in world.progress.problem
    assert world.database.certificate.records == old and world.zone.texts == {}


async def test_no_record_is_set_by_a_controller_that_another_one_has_relieved(world: World) -> None:
    kept = world.database.store_dns_records

    async def keep_after_another_has_taken_over(taken: Any, records: Any) -> bool:
        await world.database.take_due_certificates(limit=1, lease_seconds=1.0)
        return await kept(taken, records)

    world.database.store_dns_records = keep_after_another_has_taken_over  # type: ignore[method-assign]
    await world.controller().process_due()
    assert len(world.authority.orders) == 1 and left(world) == ()


async def test_a_deleted_request_stays_until_its_records_are_removed(world: World) -> None:
    world.zone.late = "not yet"
    controller = world.controller()
    await controller.process_due()
    assert world.database.certificate is not None and len(left(world)) == 4
    removed = replace(world.progress, step=AcmeStep.REMOVE)
    world.database.certificate = replace(world.database.certificate, progress=removed)
    world.zone.removal_failure = DnsZoneUnavailable("it is away")
    await controller.process_due()
    assert len(left(world)) == 4
    world.zone.removal_failure = None
    await controller.process_due()
    assert world.database.certificate is None and left(world) == ()


async def test_records_of_a_zone_that_is_not_configured_any_more_do_not_keep_a_request(world: World) -> None:
    world.zone.removal_failure = DnsZoneUnavailable("it is away")
    await issue(world)
    world.zones = ()
    world.clock += UNUSED_LOOK_SECONDS
    assert world.database.certificate is not None
    removed = replace(world.progress, step=AcmeStep.REMOVE)
    world.database.certificate = replace(world.database.certificate, progress=removed)
    await world.controller().process_due()
    assert world.database.certificate is None


async def test_caa_records_are_those_of_wildcards_and_of_dns_01(world: World) -> None:
    allowed = CaaRecord(0, "issue", "ca.example; validationmethods=dns-01")
    world.resolver.authorizations = {"example.org": (allowed, CaaRecord(0, "issuewild", "another.example"))}
    await world.controller().process_due()
    assert "do not allow a certificate for *.example.org" in world.progress.problem
    world.resolver.authorizations = {"example.org": (allowed,)}
    await issue(world)
