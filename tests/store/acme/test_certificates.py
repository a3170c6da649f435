"""Requested certificates: one controller at a time takes a step, and results of an earlier turn are not stored."""

import asyncio

import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import (
    AcmeCertificate,
    AcmeProgress,
    AcmeState,
    AcmeStep,
    NewAcmeCertificate,
    TxtRecord,
)
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

PROJECT = ProjectId("p1")
ORDERED = AcmeProgress(
    step=AcmeStep.PLACE, state=AcmeState.ORDERING, order_url="https://ca.example/order/1", order_until=2e9
)


def new(
    name: str = "www", *, project_id: str = "p1", per_project_max: int = 100, reference: str = ""
) -> NewAcmeCertificate:
    return NewAcmeCertificate(
        id=f"{project_id}-{name}",
        project_id=ProjectId(project_id),
        name=name,
        names=(f"{name}.example.org", "example.org"),
        authority="second",
        per_project_max=per_project_max,
        reference=reference,
    )


async def taken(world: World, lease_seconds: float = 60.0) -> AcmeCertificate:
    (one,) = await world.store.acme.take_due_certificates(limit=10, lease_seconds=lease_seconds)
    return one


async def test_a_request_is_due_at_once_and_taken_by_one_controller(world: World) -> None:
    for number in range(10):
        await world.store.acme.store_request(new(f"n{number}"))
    others = [world.another_controller() for _ in range(3)]
    found = await asyncio.gather(*(other.acme.take_due_certificates(limit=10, lease_seconds=60.0) for other in others))
    assert sorted(one.name for some in found for one in some) == [f"n{number}" for number in range(10)]
    assert await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0) == ()


async def test_a_project_with_many_due_certificates_does_not_delay_those_of_others(world: World) -> None:
    for number in range(20):
        await world.store.acme.store_request(new(f"n{number}"))
    await world.store.acme.store_request(new(project_id="p2"))
    found = await world.store.acme.take_due_certificates(limit=3, lease_seconds=60.0)
    assert sorted(one.project_id for one in found) == ["p1", "p1", "p2"]


async def test_a_request_is_returned_as_it_was_made(world: World) -> None:
    made = await world.store.acme.store_request(new())
    assert (made.names, made.progress) == (("www.example.org", "example.org"), AcmeProgress())
    assert made.authority == "second"
    assert await world.store.acme.find_requested_certificate(PROJECT, "www") == made
    await world.store.acme.store_request(new(project_id="p2"))
    assert await world.store.acme.list_requested_certificates(PROJECT) == (made,)
    assert [one.project_id for one in await world.store.acme.list_requested_certificates(None)] == ["p1", "p2"]


async def test_a_taken_name_and_more_than_the_projects_limit_are_refused(world: World) -> None:
    await world.store.acme.store_request(new())
    with pytest.raises(Conflict, match="requested already"):
        await world.store.acme.store_request(new())
    with pytest.raises(Conflict, match="certificates_per_project"):
        await world.store.acme.store_request(new("other", per_project_max=1))


@pytest.mark.parametrize("most", [1, 7])
async def test_requests_at_the_same_time_do_not_exceed_the_projects_limit(world: World, most: int) -> None:
    controllers = [world.another_controller() for _ in range(4)]
    found = await asyncio.gather(
        *(
            controllers[number % 4].acme.store_request(new(f"n{number}", per_project_max=most, project_id=project))
            for number in range(24)
            for project in ("p1", "p2")
        ),
        return_exceptions=True,
    )
    assert all(isinstance(one, AcmeCertificate | Conflict) for one in found)
    for project in ("p1", "p2"):
        assert len(await world.store.acme.list_requested_certificates(ProjectId(project))) == most


async def test_progress_is_stored_with_its_event_and_keeps_the_turn_while_it_is_due_at_once(world: World) -> None:
    await world.store.acme.store_request(new())
    one = await taken(world)
    next_one = await world.store.acme.store_progress(
        one, AdvancedProgress(ORDERED, 0.0, ("certificate_x", "was x")), lease_seconds=60.0
    )
    assert next_one is not None and next_one.progress == ORDERED and next_one.turn == one.turn
    assert await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0) == ()
    told = [event.text for event in await world.events("certificate_x")]
    assert told == ["certificate www of project p1 (www.example.org, example.org) was x"]


async def test_results_of_a_controller_whose_turn_is_over_are_not_stored(world: World) -> None:
    await world.store.acme.store_request(new())
    slow = await taken(world)
    await world.change(schema.acme_certificate, slow.id, next_attempt_at=db_now() - 1.0)
    quick = await taken(world)
    assert (
        await world.store.acme.store_progress(
            slow, AdvancedProgress(ORDERED, 5.0, ("certificate_x", "x")), lease_seconds=60.0
        )
        is None
    )
    assert (
        await world.store.acme.store_progress(quick, AdvancedProgress(AcmeProgress(waits=1), 5.0), lease_seconds=60.0)
        is not None
    )
    assert await world.events("certificate_x") == []


async def test_a_renewal_that_is_due_in_months_is_not_taken(world: World) -> None:
    await world.store.acme.store_request(new())
    issued = AcmeProgress(state=AcmeState.ISSUED, not_after=2e9)
    await world.store.acme.store_progress(
        await taken(world), AdvancedProgress(issued, 60 * 86_400.0), lease_seconds=60.0
    )
    assert await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0) == ()


async def test_a_deleted_request_is_removed_by_the_next_step_and_hidden_before(world: World) -> None:
    await world.store.acme.store_request(new())
    busy = await taken(world)
    assert await world.store.acme.request_removal(PROJECT, "www")
    assert not await world.store.acme.request_removal(PROJECT, "www")
    assert await world.store.acme.find_requested_certificate(PROJECT, "www") is None
    assert await world.store.acme.list_requested_certificates(None) == ()
    assert await world.store.acme.store_progress(busy, AdvancedProgress(ORDERED, 5.0), lease_seconds=60.0) is None
    leaving = await taken(world)
    assert leaving.progress.step is AcmeStep.REMOVE
    await world.store.acme.remove_request(leaving)
    assert (await world.store.acme.store_request(new())).progress == AcmeProgress()


@pytest.mark.parametrize(
    ("reference", "parameter"),
    [
        ("acme://www.example.org", ""),
        ("acme://www.example.org", "?self_signed"),
        ("acme://internal@www.example.org", "?self_signed"),
    ],
)
async def test_a_request_by_a_reference_is_removed_when_no_listener_has_it_any_more(
    world: World, reference: str, parameter: str
) -> None:
    made = await world.store.acme.store_request(new(reference=reference))
    await world.store.acme.store_request(new("by-api"))
    await world.store.acme.store_request(new("unused-of-another", project_id="p2", reference=reference))
    load_balancer = await world.load_balancer(project_id="p1")
    await world.certificate(load_balancer, reference + parameter)
    assert await world.store.acme.request_removal_of_unused(3600.0) == 0
    for id_ in (made.id, "p1-by-api", "p2-unused-of-another"):
        await world.change(schema.acme_certificate, id_, referenced_at=db_now() - 4000.0)
    assert await world.store.acme.request_removal_of_unused(3600.0) == 1
    assert [one.name for one in await world.store.acme.list_requested_certificates(None)] == ["by-api", "www"]
    use = schema.certificate_use
    await world.db.write(lambda connection: connection.execute(use.delete()))
    assert await world.store.acme.mark_used(PROJECT, "www") is not None
    assert await world.store.acme.request_removal_of_unused(3600.0) == 0
    await world.change(schema.acme_certificate, made.id, referenced_at=db_now() - 4000.0)
    assert await world.store.acme.request_removal_of_unused(3600.0) == 1
    assert await world.store.acme.mark_used(PROJECT, "www") is None


async def test_only_an_issued_certificate_without_an_order_is_to_be_revoked(world: World) -> None:
    await world.store.acme.store_request(new())
    assert not await world.store.acme.request_revocation(PROJECT, "www", "superseded")
    issued = AcmeProgress(
        step=AcmeStep.RENEWAL, state=AcmeState.ISSUED, not_after=4e9, certificate_id="aki.1", renew_at=2e9
    )
    await world.store.acme.store_progress(await taken(world), AdvancedProgress(issued, 86_400.0), lease_seconds=60.0)
    assert await world.store.acme.request_revocation(PROJECT, "www", "superseded")
    revoking = await taken(world)
    assert revoking.progress == replace(issued, step=AcmeStep.REVOKE, revocation="superseded")
    assert not await world.store.acme.request_revocation(PROJECT, "www", "superseded")


async def test_no_more_orders_are_reserved_at_once_than_allowed(world: World) -> None:
    for number in range(6):
        await world.store.acme.store_request(new(f"n{number}"))
    first, *others = await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0)
    await world.store.acme.store_progress(first, AdvancedProgress(ORDERED, 60.0), lease_seconds=60.0)
    controllers = [world.another_controller() for _ in others]
    answers = await asyncio.gather(
        *(
            controller.acme.reserve_order(one, orders_max=3, lease_seconds=60.0)
            for controller, one in zip(controllers, others, strict=True)
        )
    )
    assert sorted(answers) == [False, False, False, True, True]
    reserved = next(one for one, answer in zip(others, answers, strict=True) if answer)
    refused = next(one for one, answer in zip(others, answers, strict=True) if not answer)
    # its own reservation does not keep a certificate from another attempt
    assert await world.store.acme.reserve_order(reserved, orders_max=3, lease_seconds=60.0)
    await world.store.acme.store_progress(reserved, AdvancedProgress(AcmeProgress(waits=1), 60.0), lease_seconds=60.0)
    assert await world.store.acme.reserve_order(refused, orders_max=3, lease_seconds=60.0)


RECORDS = (TxtRecord(zone="example.org", name="_acme-challenge.example.org", value="one"),)


async def test_records_are_kept_with_the_request_by_the_controller_whose_turn_it_is(world: World) -> None:
    await world.store.acme.store_request(new())
    slow = await taken(world)
    assert await world.store.acme.store_dns_records(slow, RECORDS)
    assert not await world.store.acme.store_dns_records(slow, ())  # it has others meanwhile
    noted = await world.store.acme.store_progress(slow, AdvancedProgress(ORDERED, 0.0), lease_seconds=60.0)
    assert noted is not None and noted.records == RECORDS
    await world.change(schema.acme_certificate, slow.id, next_attempt_at=db_now() - 1.0)
    quick = await taken(world)
    assert not await world.store.acme.store_dns_records(noted, ())
    assert await world.store.acme.store_dns_records(quick, ())
    found = await world.store.acme.find_requested_certificate(PROJECT, "www")
    assert found is not None and found.records == ()


async def test_records_are_left_if_no_order_is_open_and_no_step_is_due_soon(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.store.acme.store_request(new(name))
    ordered, soon, resting = await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0)
    for one in (ordered, soon, resting):
        assert await world.store.acme.store_dns_records(one, RECORDS)
    await world.store.acme.store_progress(ordered, AdvancedProgress(ORDERED, 900.0), lease_seconds=60.0)
    await world.store.acme.store_progress(soon, AdvancedProgress(AcmeProgress(), 100.0), lease_seconds=60.0)
    await world.store.acme.store_progress(
        resting, AdvancedProgress(AcmeProgress(step=AcmeStep.RENEWAL), 900.0), lease_seconds=60.0
    )
    (left,) = await world.store.acme.find_with_unneeded_records(limit=10, rest_seconds=120.0)
    assert (left.id, left.records) == (resting.id, RECORDS)
    assert await world.store.acme.store_dns_records(left, ())
    assert await world.store.acme.find_with_unneeded_records(limit=10, rest_seconds=120.0) == ()


async def test_a_reservation_ends_with_its_lease_and_none_is_made_after_the_turn(world: World) -> None:
    for name in ("a", "b"):
        await world.store.acme.store_request(new(name))
    one, other = await world.store.acme.take_due_certificates(limit=10, lease_seconds=60.0)
    assert await world.store.acme.reserve_order(one, orders_max=1, lease_seconds=60.0)
    assert not await world.store.acme.reserve_order(other, orders_max=1, lease_seconds=60.0)
    await world.change(schema.acme_certificate, one.id, order_until=db_now() - 1.0)
    assert await world.store.acme.reserve_order(other, orders_max=1, lease_seconds=60.0)
    late = replace(one, turn=one.turn - 1)
    assert not await world.store.acme.reserve_order(late, orders_max=9, lease_seconds=60.0)
