"""An outcome counts for the change it names, also where a database that lost commits gave its revision to another."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import Connection, update

from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.core.status.changes import (
    EARLIER_CHARACTERS_MAX,
    change_entries_since,
    contradicts_database,
    is_change_in_history,
)
from evenkeel.core.status.outcomes import Applied
from evenkeel.core.status.provisioning import LoadBalancerState, apply_report
from evenkeel.store.records import schema
from evenkeel.store.records.loading import load_trees
from evenkeel.store.writing.changes import change_id_assignments
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

NEW = LoadBalancerState(
    id="lb",
    revision=1,
    change_id=str(UUID(int=0)),
    earlier_changes="",
    applied_revision=0,
    deleted=False,
    admin_state_up=True,
    provisioning_status=ProvisioningStatus.PENDING_CREATE,
    operating_status=OperatingStatus.OFFLINE,
)


def change(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def raised(was: LoadBalancerState, number: int) -> LoadBalancerState:
    """What the API makes of it."""
    earlier = f"{was.revision}:{was.change_id[:8]} {was.earlier_changes}"
    status = ProvisioningStatus.PENDING_UPDATE if was.applied_revision else ProvisioningStatus.PENDING_CREATE
    return replace(
        was,
        revision=was.revision + 1,
        change_id=change(number),
        earlier_changes=earlier[:EARLIER_CHARACTERS_MAX],
        provisioning_status=status,
    )


def done(of: LoadBalancerState, error: str = "") -> Applied:
    """What an agent says that was told of it then."""
    return Applied(load_balancer_id=of.id, revision=of.revision, change_id=of.change_id, error=error)


@given(st.lists(st.tuples(st.sampled_from(["change", "lose", "report"]), st.integers(0, 30)), max_size=40))
def test_no_outcome_of_a_lost_change_confirms_anything(steps: list[tuple[str, int]]) -> None:
    state = replace(NEW, change_id=change(0))
    lineage = [change(0)]  # by revision - 1
    past = [(state, list(lineage))]
    told = [state]  # all that agents were ever told
    reported: set[str] = set()
    for number, (what, which) in enumerate(steps, 1):
        if what == "change":
            state = raised(state, number)
            lineage.append(state.change_id)
            told.append(state)
        elif what == "lose":
            state, kept = past[which % len(past)]
            lineage = list(kept)
        else:
            definition = told[which % len(told)]
            reported.add(definition.change_id)
            if applied := apply_report(state, done(definition)):
                state = applied.now
            if lineage[-1] == definition.change_id:
                assert state.provisioning_status is ProvisioningStatus.ACTIVE
        past.append((state, list(lineage)))
        assert state.applied_revision == 0 or lineage[state.applied_revision - 1] in reported
        assert state.provisioning_status is not ProvisioningStatus.ACTIVE or lineage[-1] in reported


def test_a_refusal_of_a_lost_change_is_not_the_new_ones() -> None:
    lost, made_instead = raised(NEW, 1), raised(NEW, 2)
    assert apply_report(made_instead, done(lost, "refused")) is None
    refused = apply_report(made_instead, done(made_instead, "refused"))
    assert refused is not None and refused.now.provisioning_status is ProvisioningStatus.ERROR


def test_a_deleted_one_is_not_removed_for_what_was_said_of_a_lost_change() -> None:
    lost, deleted = raised(NEW, 1), replace(raised(NEW, 2), deleted=True)
    assert apply_report(deleted, done(lost)) is None
    applied = apply_report(deleted, done(deleted))
    assert applied is not None and applied.removed


def test_one_that_is_changed_faster_than_its_device_is_written_gets_on() -> None:
    state = NEW
    for number in range(1, 400):
        under_way = state
        state = raised(raised(raised(state, 3 * number), 3 * number + 1), 3 * number + 2)
        applied = apply_report(state, done(under_way))
        assert applied is not None and applied.confirmed_revision == under_way.revision
        state = applied.now
        assert len(state.earlier_changes) < 100, "what is confirmed is forgotten"


def test_report_of_a_forgotten_change_is_ignored() -> None:
    state = NEW
    for number in range(1, EARLIER_CHARACTERS_MAX // 10):
        state = raised(state, number)
    assert apply_report(state, done(NEW)) is None
    assert apply_report(state, done(state)) is not None


def test_an_agent_of_the_version_before_says_no_change() -> None:
    state = raised(NEW, 1)
    assert apply_report(state, Applied(load_balancer_id="lb", revision=2)) is not None


@pytest.mark.parametrize(
    ("revision", "change_id", "expected"),
    [(5, change(5), False), (5, change(6), True), (6, change(6), True), (4, change(9), False), (6, "", False)],
)
def test_unknown_change_at_a_confirmed_revision_proves_lost_commits(
    revision: int, change_id: str, expected: bool
) -> None:
    outcome = Applied(load_balancer_id="lb", revision=revision, change_id=change_id)
    assert contradicts_database(outcome, revision=5, change_id=change(5)) is expected


def test_a_cut_entry_is_none() -> None:
    outcome = Applied(load_balancer_id="lb", revision=1, change_id=change(7))
    assert not is_change_in_history(outcome, revision=9, change_id=change(9), earlier_changes="8:00000008 1:00")
    assert change_entries_since("8:00000008 7:00000007 6:000", 7) == "8:00000008 7:00000007 "


# -- in the database


async def test_every_change_leaves_its_mark_in_the_statement_that_raises_the_revision(world: World) -> None:
    await world.agent("a1")
    lb = await world.placed(change_id=change(1))
    for name in ("one", "two"):
        await world.store.tenants.update_load_balancer(lb.id, {"name": name}, project_id=None)
    row = await world.load_balancer_row(lb.id)
    first, second = row.earlier_changes.split()
    assert second == "1:00000001" and first.startswith("2:") and len(first) == 10
    assert UUID(row.change_id).version == 4 and not row.change_id.startswith(first[2:])

    def definition(connection: Connection) -> tuple[int, str]:
        service = service_definition_of_tree(load_trees(connection, [lb.id])[lb.id])
        return service.revision, service.change_id

    assert await world.db.read(definition) == (3, row.change_id)


async def test_remembered_changes_of_a_row_are_bounded(world: World) -> None:
    await world.agent("a1")
    lb = await world.placed(change_id=change(1))
    table = schema.load_balancer
    await world.change(table, lb.id, earlier_changes="9" * EARLIER_CHARACTERS_MAX)
    statement = (
        update(table).where(table.c.id == lb.id).ordered_values(*(change_id_assignments() | {"revision": 2}).items())
    )
    await world.db.write(lambda connection: connection.execute(statement, {"new_change": change(2)}))
    row = await world.load_balancer_row(lb.id)
    assert len(row.earlier_changes) == EARLIER_CHARACTERS_MAX and row.earlier_changes.startswith("1:00000001 9")


async def test_a_report_of_a_lost_change_confirms_neither_children_nor_a_delete(world: World) -> None:
    await world.agent("a1")
    lb = await world.placed(change_id=change(1))
    await world.tree(lb)
    await world.tenant_changes(lb.id, change_id=change(2), deleted=True, earlier_changes="1:00000001 ")
    await world.report(Applied(load_balancer_id=lb.id, revision=2, change_id=change(3)))
    row = await world.load_balancer_row(lb.id)
    assert row is not None and row.applied_revision == 0
    assert {each.provisioning_status for each in await world.rows(schema.listener)} == {"PENDING_CREATE"}
    await world.report(Applied(load_balancer_id=lb.id, revision=2, change_id=change(2)))
    assert await world.load_balancer_row(lb.id) is None


async def test_a_report_of_the_change_before_confirms_what_it_did(world: World) -> None:
    await world.agent("a1")
    lb: LoadBalancer = await world.placed(change_id=change(1))
    await world.tree(lb)
    await world.tenant_changes(lb.id, change_id=change(2), earlier_changes="1:00000001 ")
    await world.report(Applied(load_balancer_id=lb.id, revision=1, change_id=change(1)))
    row = await world.load_balancer_row(lb.id)
    assert (row.applied_revision, row.earlier_changes) == (1, "1:00000001 ")
    assert {each.provisioning_status for each in await world.rows(schema.listener)} == {"ACTIVE"}
    await world.report(Applied(load_balancer_id=lb.id, revision=2, change_id=change(2)))
    row = await world.load_balancer_row(lb.id)
    assert (row.applied_revision, row.earlier_changes) == (2, "")
