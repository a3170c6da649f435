"""Moves of load balancers: who gets which definition in each step, and which report leads to the next."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import insert, update

from evenkeel.core.control.move_requests import MoveProgress, MoveRequest
from evenkeel.core.control.moves import MoveStep
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.protocol.messages import ReportApplied, WantedCertificate
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]
ALL = {"load_balancer_ids": None, "after_id": "", "limit": 100}


async def two_groups(world: World, **changes: Any) -> LoadBalancer:
    """A load balancer on group 1 of agent a1, and agent b1 of group 2."""
    await world.agent("a1")
    await world.agent("b1", group_number=2, endpoints=("192.0.2.2",), **changes)
    return await world.placed()


async def begin(world: World, *load_balancers: LoadBalancer, **changes: Any) -> None:
    request = MoveRequest(
        project_id="p1",
        environment="east",
        group_number=2,
        load_balancer_ids=tuple(each.id for each in load_balancers),
        home_agent_id="b1",
        whole_project=True,
    )
    await world.operator.begin_moves(replace(request, **changes))


async def definitions(world: World, agent_id: str, **changes: Any) -> dict[str, ServiceDefinition]:
    """What the agent gets for its shard of the project."""
    shard = await world.shard_of("p1", 1 if agent_id == "a1" else 2)
    arguments: dict[str, Any] = ALL | {"knows_standby": True} | changes
    session = f"session-of-{agent_id}"
    found = await world.store.ownership.services(agent_id, session, shard.id, shard.epoch, **arguments)
    return {service.load_balancer_id: service for service in found.page.services}


async def report(world: World, agent_id: str, load_balancer: LoadBalancer, **changes: Any) -> None:
    """The agent reports the definition that it would get now, or one with ``changes``."""
    shard = await world.shard_of("p1", 1 if agent_id == "a1" else 2)
    service = (await definitions(world, agent_id))[load_balancer.id]
    outcome = Applied(load_balancer_id=service.load_balancer_id, revision=service.revision, change_id=service.change_id)
    sent = ReportApplied(
        agent_id=agent_id,
        session_id=f"session-of-{agent_id}",
        shard_id=shard.id,
        epoch=shard.epoch,
        outcomes=(replace(outcome, **changes),),
    )
    receipt = await world.store.reports.record_applied(sent)
    assert (receipt.stale, receipt.unknown) == (False, ())


async def state(world: World, load_balancer: LoadBalancer) -> MoveProgress:
    (found,) = await world.operator.moves(load_balancer_id=load_balancer.id)
    return found


async def step(world: World, load_balancer: LoadBalancer) -> MoveStep:
    return (await state(world, load_balancer)).step


async def reached_counts(world: World) -> dict[int, int]:
    """Numbers that make observers of the device groups report all statuses again, when they grow."""
    return {row.number: row.reached_count for row in await world.rows(schema.device_group)}


async def test_each_side_gets_its_definition_and_confirms_each_step(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)

    assert not (await definitions(world, "a1"))[lb.id].standby
    assert (await definitions(world, "b1"))[lb.id].standby
    work = await world.store.ownership.assignments("b1", "session-of-b1", work_limit=10)
    assert [shard.work for shard in work.shards if shard.project_id == "p1"] == [(lb.id,)]
    await report(world, "b1", lb)

    assert await step(world, lb) is MoveStep.STOPPING
    assert (await definitions(world, "a1"))[lb.id].standby
    assert (await definitions(world, "b1"))[lb.id].standby
    await report(world, "a1", lb)

    assert await step(world, lb) is MoveStep.STARTING
    assert (await definitions(world, "a1"))[lb.id].standby
    assert not (await definitions(world, "b1"))[lb.id].standby
    before = await reached_counts(world)
    await report(world, "b1", lb)

    assert await step(world, lb) is MoveStep.CLEANING
    assert await reached_counts(world) == {1: before[1], 2: before[2] + 1}
    assert (await definitions(world, "a1"))[lb.id].deleted
    await report(world, "a1", lb)

    done = await state(world, lb)
    assert (done.step, done.back, done.source, done.target) == (MoveStep.DONE, False, "east/1", "east/2")
    assert done.gap_seconds is not None
    assert await definitions(world, "a1") == {}
    row = await world.load_balancer_row(lb.id)
    assert (row.provisioning_status, row.shard_id) == ("ACTIVE", (await world.shard_of("p1", 2)).id)
    kinds = [event.kind for event in await world.events() if event.kind.startswith("move_")]
    assert kinds == ["move_preparing", "move_stopping", "move_starting", "move_cleaning", "move_done"]


async def test_late_reports_lead_to_no_step(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    copied = (await definitions(world, "b1"))[lb.id]
    await world.tenant_changes(lb.id, change_id="newer")
    old = {"revision": copied.revision, "change_id": copied.change_id}
    await report(world, "b1", lb, **old)
    assert await step(world, lb) is MoveStep.PREPARING
    await report(world, "b1", lb, change_id="of another history")
    assert await step(world, lb) is MoveStep.PREPARING
    await report(world, "b1", lb)
    await report(world, "a1", lb)
    await report(world, "b1", lb)
    assert await step(world, lb) is MoveStep.CLEANING
    await report(world, "a1", lb, **old)
    assert await step(world, lb) is MoveStep.CLEANING


async def test_agent_that_does_not_know_standbys_gets_no_copy(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    given = (await definitions(world, "b1", knows_standby=False))[lb.id]
    assert given.problem == "its agent has to be upgraded before it can move"
    assert given.waiting


async def test_copy_that_is_refused_goes_and_one_that_waits_stays(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    await report(world, "b1", lb, error="out of reach", waiting=True)
    assert (await state(world, lb)).reason == "out of reach"
    assert await step(world, lb) is MoveStep.PREPARING
    await report(world, "b1", lb, error="no such profile")
    found = await state(world, lb)
    assert (found.step, found.back, found.reason) == (MoveStep.CLEANING, True, "no such profile")
    assert (await world.load_balancer_row(lb.id)).provisioning_status == "ACTIVE"


async def test_time_limit_of_a_step_is_noticed_without_a_report(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    hints = await world.store.scheduling.advance_moves(limit=10)
    assert [change.owner is not None and change.owner.group_number for change in hints] == [2]
    await world.db.write(lambda c: c.execute(update(schema.load_balancer_move).values(deadline_at=db_now() - 1.0)))
    await world.store.scheduling.advance_moves(limit=10)
    found = await state(world, lb)
    assert (found.step, found.back) == (MoveStep.CLEANING, True)


async def test_deleted_load_balancer_is_removed_when_both_sides_have_removed_it(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    await world.store.tenants.delete_load_balancer(lb.id, project_id=None, cascade=True)
    await report(world, "a1", lb)
    assert await step(world, lb) is MoveStep.CLEANING
    assert await world.load_balancer_row(lb.id) is not None
    await report(world, "b1", lb)
    await report(world, "a1", lb)
    assert await world.load_balancer_row(lb.id) is None
    assert await world.rows(schema.load_balancer_move) == []


async def test_certificates_are_given_to_both_sides(world: World) -> None:
    lb = await two_groups(world, sealing_key=bytes(32))
    await report(world, "a1", lb)
    await world.certificate(lb, "ref")
    wanted = WantedCertificate(
        load_balancer_id=lb.id, reference="ref", kind=CertificateKind.CERTIFICATE, sha256="a" * 64
    )
    await begin(world, lb)
    shard = await world.shard_of("p1", 2)
    reader = await world.store.ownership.certificate_reader("b1", "session-of-b1", shard.id, shard.epoch, [wanted])
    assert len(reader.readable) == 1


async def test_new_load_balancers_follow_the_project(world: World) -> None:
    lb = await two_groups(world)
    await report(world, "a1", lb)
    await begin(world, lb)
    found = await world.store.scheduling.shard_with_capacity("east", "p1", None)
    assert found is not None
    assert found.shard_id == (await world.shard_of("p1", 2)).id


async def test_full_device_group_is_refused_and_nothing_begins(world: World) -> None:
    lb = await two_groups(world, capacity={"tenants": CapacityFigure(value=5.0, limit=5.0)})
    await report(world, "a1", lb)
    with pytest.raises(Conflict, match="is at capacity"):
        await begin(world, lb)
    assert await world.operator.moves() == ()
    assert await world.shard_of("p1", 2) is None


async def test_all_load_balancers_of_a_request_move_or_none(world: World) -> None:
    lb = await two_groups(world)
    other = await world.placed()
    await report(world, "a1", lb)
    await world.store.tenants.delete_load_balancer(other.id, project_id=None, cascade=True)
    with pytest.raises(Conflict, match="is being deleted"):
        await begin(world, lb, other)
    assert await world.operator.moves() == ()


async def test_another_environment_is_the_provider_after_the_switch(world: World) -> None:
    await world.environment("west")
    lb = await two_groups(world, environment="west")
    await report(world, "a1", lb)
    await begin(world, lb, environment="west", whole_project=False, listening=(lb.id,))
    await report(world, "b1", lb)
    assert await step(world, lb) is MoveStep.STARTING
    assert (await world.load_balancer_row(lb.id)).provider == "west"


async def test_port_is_bound_to_the_new_host_before_the_old_devices_remove_anything(world: World) -> None:
    lb = await two_groups(world)
    claim = {"load_balancer_id": "claim", "held_by": lb.id, "port_id": "port", "attempts": 0}
    claim |= {"made_at": 0.0, "due_at": 0.0, "device_owner": "", "device_id": ""}
    await world.db.write(lambda c: c.execute(insert(schema.vip_claim).values(**claim)))
    await report(world, "a1", lb)
    await begin(world, lb, listening=(lb.id,))
    await report(world, "b1", lb)
    await report(world, "b1", lb)
    assert await step(world, lb) is MoveStep.DRAINING
    await world.store.scheduling.advance_moves(limit=10)
    assert await step(world, lb) is MoveStep.DRAINING
    port = await world.store.ports.find_due_port(lb.id)
    assert port is not None
    assert port.options.binding_host == "host-of-b1"
    assert await world.store.ports.record_port_updated(port)
    await world.store.scheduling.advance_moves(limit=10)
    assert await step(world, lb) is MoveStep.CLEANING


async def test_reports_and_looks_of_several_controllers_at_once_take_each_step_once(world: World) -> None:
    await world.agent("a1")
    await world.agent("b1", group_number=2, endpoints=("192.0.2.2",))
    found = [await world.placed() for _ in range(4)]
    stores = [world.another_controller(), world.another_controller()]
    await begin(world, *found)
    for _ in range(20):
        shards = {"a1": await world.shard_of("p1", 1), "b1": await world.shard_of("p1", 2)}
        sent = []
        for agent_id, shard in shards.items():
            outcomes = tuple(
                Applied(load_balancer_id=one.load_balancer_id, revision=one.revision, change_id=one.change_id)
                for one in (await definitions(world, agent_id)).values()
            )
            session_id = f"session-of-{agent_id}"
            sent.append(
                ReportApplied(
                    agent_id=agent_id, session_id=session_id, shard_id=shard.id, epoch=shard.epoch, outcomes=outcomes
                )
            )
        await asyncio.gather(
            *(store.reports.record_applied(each) for store in stores for each in sent),
            *(store.scheduling.advance_moves(limit=10) for store in stores),
        )
    assert {row.step for row in await world.operator.moves()} == {MoveStep.DONE}
    kinds = Counter(event.kind for event in await world.events() if event.kind.startswith("move_"))
    assert set(kinds.values()) == {len(found)}
    assert await definitions(world, "a1") == {}
