"""What every device driver promises, whatever its devices are. Each driver's tests run this unchanged.

A driver's tests subclass :class:`DeviceContract` and give a fixture ``rig``: one device that several agents reach.
"""

import asyncio
from typing import Any, Protocol

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import removal_definition
from evenkeel.core.kit.errors import OwnershipGuardLost, StaleOwner
from evenkeel.core.kit.ids import LoadBalancerId, SessionId
from evenkeel.core.ports import Device
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, listener, pool, service, session_of


class Rig(Protocol):
    """One device under test."""

    def agent(self) -> Device:
        """A driver instance of another agent of the group."""
        ...

    async def content(self) -> dict[str, Any]:
        """Everything on the device that agents put into the tenant's partition, but for guards."""
        ...

    async def spoil(self) -> None:
        """Change everything in the tenant's partition that can be changed, by hand."""
        ...

    async def add_foreign(self) -> None:
        """Put things into the tenant's partition that no agent made."""
        ...

    async def foreign(self) -> dict[str, Any]:
        """Those things as they are now."""
        ...


def errors(outcome: PartitionOutcome) -> dict[str, str]:
    return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}


class DeviceContract:
    """The promises of :class:`evenkeel.core.ports.Device`."""

    has_plans = True
    """False: the device holds no configuration, so there is nothing to plan."""
    retires = False
    """An empty partition is removed from the device."""
    repairs_itself = False
    """The device undoes manual changes before a pass does."""

    async def test_a_load_balancer_is_made_and_a_second_pass_writes_nothing(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.take_over(PROJECT, 1, session_of(1))
        made = await agent.apply(batch(service(revision=7), complete=True))
        content = await rig.content()
        assert [(one.load_balancer_id, one.revision, one.error) for one in made.outcomes] == [("lb-1", 7, "")]
        assert made.writes == len(agent.facts.endpoints) and not made.lagging and content
        for complete in (False, True):
            again = await agent.apply(batch(service(revision=7), complete=complete))
            assert again.writes == 0 and not errors(again)
        assert await rig.content() == content

    async def test_another_agent_finds_nothing_to_write_either(self, rig: Rig) -> None:
        made = await Owner(rig.agent()).apply(batch(service(), service(2), epoch=1, complete=True))
        assert not errors(made) and not made.lagging
        other = Owner(rig.agent())
        await other.take_over(PROJECT, 2, session_of(2))
        outcome = await other.apply(batch(service(), service(2), epoch=2, complete=True))
        assert outcome.writes == 0 and not errors(outcome)

    async def test_whatever_was_changed_by_hand_is_repaired(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service(), complete=True))
        content = await rig.content()
        await rig.spoil()
        assert await rig.content() != content
        outcome = await agent.apply(batch(service(), complete=True))
        assert not errors(outcome) and outcome.writes
        assert await rig.content() == content

    async def test_a_plan_shows_what_a_pass_would_change_and_changes_nothing(self, rig: Rig) -> None:
        agent, wanted = Owner(rig.agent()), batch(service())
        if not self.has_plans:
            assert [plan.operations for plan in await agent.plan(wanted)] == [()]
            return
        plans = await agent.plan(wanted)
        assert len(plans) == len(agent.facts.endpoints) and not any(plan.problem for plan in plans)
        assert all({step.verb for step in plan.operations} == {"create"} for plan in plans)
        assert not await rig.content()
        await agent.apply(wanted)
        assert not any(plan.operations for plan in await agent.plan(wanted))
        changed = batch(service(members=1, revision=2))
        before = await rig.content()
        assert all(plan.operations for plan in await agent.plan(changed))
        assert await rig.content() == before
        await self._plan_of_repairs(rig, agent, wanted)
        removal = [step.verb for plan in await agent.plan(batch(gone())) for step in plan.operations]
        assert removal and set(removal) == {"delete"}

    async def _plan_of_repairs(self, rig: Rig, agent: Owner, wanted: PartitionBatch) -> None:
        if self.repairs_itself:
            return
        await rig.spoil()
        spoilt = await rig.content()
        repairs = [step for plan in await agent.plan(wanted) for step in plan.operations]
        assert any(step.verb == "modify" and step.attributes for step in repairs)
        assert await rig.content() == spoilt
        await agent.apply(batch(service(), complete=True))
        assert not any(plan.operations for plan in await rig.agent().plan(wanted))

    async def test_a_newer_revision_replaces_an_older_one_without_a_trace(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        newer = service(
            revision=2,
            listeners=(listener(connection_limit=10), listener(5, protocol_port=81, default_pool_id=None)),
            pools=(pool(members=5, lb_algorithm="LEAST_CONNECTIONS", monitor=None),),
        )
        await agent.apply(batch(newer))
        wanted = await rig.content()
        await agent.apply(batch(service(revision=1)))
        assert await rig.content() != wanted
        assert not errors(await agent.apply(batch(newer)))
        assert await rig.content() == wanted

    async def test_a_stale_owner_writes_nothing(self, rig: Rig) -> None:
        old, new = Owner(rig.agent()), Owner(rig.agent())
        await old.take_over(PROJECT, 1, session_of(1))
        await old.apply(batch(service(), epoch=1))
        await new.take_over(PROJECT, 2, session_of(2))
        content = await rig.content()
        with pytest.raises(StaleOwner) as refusal:
            await old.apply(batch(service(members=1), service(2), epoch=1))
        assert refusal.value.seen_epoch == 2
        with pytest.raises(StaleOwner):
            await old.take_over(PROJECT, 1, session_of(1))
        with pytest.raises(StaleOwner):
            await rig.agent().apply(batch(service(3), epoch=1))
        assert await rig.content() == content
        assert not errors(await new.apply(batch(service(members=1), epoch=2)))

    async def test_a_takeover_may_be_repeated_and_may_skip_epochs(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        for epoch in (3, 3, 8):
            await agent.take_over(PROJECT, epoch, session_of(epoch))
            assert not errors(await agent.apply(batch(service(), epoch=epoch)))

    async def test_nothing_is_taken_under_a_guard_that_is_not_the_senders(self, rig: Rig) -> None:
        for epoch in (4, 5):  # no guard at all, and an older one
            content = await rig.content()
            for complete in (False, True):
                with pytest.raises(OwnershipGuardLost):
                    await rig.agent().apply(batch(service(2), epoch=epoch, complete=complete))
            assert await rig.content() == content
            await Owner(rig.agent()).apply(batch(service(), epoch=epoch))
        with pytest.raises(StaleOwner):
            await rig.agent().apply(batch(service(3), epoch=4))

    async def test_an_epoch_that_two_sessions_hold_belongs_to_the_first(self, rig: Rig) -> None:
        first, second = rig.agent(), rig.agent()
        await first.take_over(PROJECT, 3, "first")
        await first.apply(batch(service(), epoch=3, session_id="first", complete=True))
        content = await rig.content()
        with pytest.raises(StaleOwner) as refusal:
            await second.take_over(PROJECT, 3, "second")
        assert refusal.value.seen_epoch == 3
        with pytest.raises(StaleOwner):
            await second.apply(batch(service(members=1), epoch=3, session_id="second", complete=True))
        assert await rig.content() == content
        await second.take_over(PROJECT, 4, "second")
        with pytest.raises(StaleOwner):
            await first.apply(batch(service(members=1), epoch=3, session_id="first"))

    async def test_of_two_first_owners_the_newer_one_owns(self, rig: Rig) -> None:
        older, newer = Owner(rig.agent()), Owner(rig.agent())
        results = await asyncio.gather(
            older.take_over(PROJECT, 1, session_of(1)),
            newer.take_over(PROJECT, 2, session_of(2)),
            return_exceptions=True,
        )
        assert results[1] is None and (results[0] is None or isinstance(results[0], StaleOwner))
        assert not errors(await newer.apply(batch(service(), epoch=2)))
        with pytest.raises(StaleOwner):
            await older.apply(batch(service(2), epoch=1))

    async def test_two_first_owners_that_write_at_once_leave_what_the_newer_wants(self, rig: Rig) -> None:
        older, newer = Owner(rig.agent()), Owner(rig.agent())
        results = await asyncio.gather(
            older.apply(batch(service(), epoch=1, complete=True)),
            newer.apply(batch(service(2), epoch=2, complete=True)),
            return_exceptions=True,
        )
        assert isinstance(results[1], PartitionOutcome)
        content = await rig.content()
        await newer.apply(batch(service(2), epoch=2, complete=True))
        assert await rig.content() == content or not isinstance(results[0], StaleOwner)
        with pytest.raises(StaleOwner):
            await older.apply(batch(service(3), epoch=1))

    async def test_a_deleted_load_balancer_leaves_nothing(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service(2)))
        alone = await rig.content()
        await agent.apply(batch(service()))
        assert not errors(await agent.apply(batch(gone())))
        assert await rig.content() == alone
        again = await agent.apply(batch(gone()))
        assert again.writes == 0 and [one.load_balancer_id for one in again.outcomes] == ["lb-1"]

    async def test_one_that_was_removed_comes_back(self, rig: Rig) -> None:
        """As a pool of LBaaS v1 does, whose vip goes and comes: to the device it never has to stay away."""
        agent = Owner(rig.agent())
        for _ in range(2):
            assert not errors(await agent.apply(batch(gone())))
            assert not await rig.content()
            assert not errors(await agent.apply(batch(service())))
            assert await rig.content()
        assert (await agent.apply(batch(service()))).writes == 0

    async def test_the_guard_outlives_the_last_load_balancer(self, rig: Rig) -> None:
        stale, agent = Owner(rig.agent()), Owner(rig.agent())
        await stale.apply(batch(service(), epoch=1))
        await agent.apply(batch(gone(), epoch=2))
        assert not await rig.content()
        with pytest.raises(StaleOwner):
            await stale.apply(batch(service(), epoch=1))

    async def test_an_empty_partition_goes_and_former_owners_stay_refused(self, rig: Rig) -> None:
        late, stale, agent = Owner(rig.agent()), Owner(rig.agent()), Owner(rig.agent())
        await stale.apply(batch(service(), epoch=1))
        made = await agent.apply(batch(service(), epoch=2, complete=True))
        assert not errors(made)
        assert (await agent.retire(PROJECT, 2, session_of(2))).left  # it holds a load balancer
        await agent.apply(batch(gone(), epoch=2))
        await agent.apply(batch(epoch=2, complete=True))
        left = (await agent.retire(PROJECT, 2, session_of(2))).left
        assert bool(left) is not self.retires
        for former in (stale, late):
            with pytest.raises(StaleOwner):
                await former.apply(batch(service(), epoch=1))
        with pytest.raises(StaleOwner):
            await late.take_over(PROJECT, 2, SessionId("another session at the same epoch"))
        assert not await rig.content()
        again = await agent.apply(batch(service(), epoch=2, complete=True))  # its own epoch is good enough
        assert not errors(again) and await rig.content()
        await late.take_over(PROJECT, 3, session_of(3))
        assert (await late.retire(PROJECT, 3, session_of(3))).left  # not before it was read
        assert await rig.content()

    async def test_a_partition_that_does_not_exist_is_not_made_to_be_removed(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        assert bool((await agent.retire(PROJECT, 1, session_of(1))).left) is not self.retires
        assert not await rig.content()

    async def test_a_partition_with_foreign_objects_stays(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service(), complete=True))
        await rig.add_foreign()
        foreign = await rig.foreign()
        await agent.apply(batch(gone()))
        await agent.apply(batch(complete=True))
        assert (await agent.retire(PROJECT, 1, session_of(1))).left
        assert await rig.foreign() == foreign

    async def test_orphans_go_with_a_complete_batch_only(self, rig: Rig) -> None:
        await Owner(rig.agent()).apply(batch(service(2)))
        alone = await rig.content()
        await Owner(rig.agent()).apply(batch(service()))
        agent = Owner(rig.agent())
        await agent.apply(batch(service(2)))
        assert await rig.content() != alone
        outcome = await agent.apply(batch(service(2), complete=True))
        assert await rig.content() == alone
        assert [one.load_balancer_id for one in outcome.outcomes] == ["lb-2"]

    async def test_a_complete_batch_that_keeps_orphans_names_them_and_leaves_them(self, rig: Rig) -> None:
        await Owner(rig.agent()).apply(batch(service(2)))
        alone = await rig.content()
        await Owner(rig.agent()).apply(batch(service()))
        both = await rig.content()
        agent = Owner(rig.agent())
        outcome = await agent.apply(replace(batch(service(2), complete=True), keeps_orphans=True))
        assert outcome.orphans == ("lb-1",) and await rig.content() == both
        assert [one.load_balancer_id for one in outcome.outcomes] == ["lb-2"] and not errors(outcome)
        gone_now = removal_definition(LoadBalancerId("lb-1"), PROJECT)
        outcome = await agent.apply(batch(gone_now, service(2), complete=True))
        assert outcome.orphans == () and await rig.content() == alone
        outcome = await agent.apply(replace(batch(service(2), complete=True), keeps_orphans=True))
        assert outcome.orphans == () and outcome.writes == 0

    async def test_a_partition_with_an_orphan_is_not_retired(self, rig: Rig) -> None:
        await Owner(rig.agent()).apply(batch(service()))
        agent = Owner(rig.agent())
        outcome = await agent.apply(replace(batch(complete=True), keeps_orphans=True))
        assert outcome.orphans == ("lb-1",)
        assert (await agent.retire(PROJECT, 2, session_of(2))).left

    async def test_a_refused_load_balancer_costs_only_itself(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service()))
        twin = service(4, vip=service().vip)
        outcome = await agent.apply(batch(service(2), service(3), twin, service(5), gone()))
        assert not errors(outcome)  # the address was freed in the same batch
        outcome = await agent.apply(batch(service(), service(2, members=1), service(6)))
        assert list(errors(outcome)) == ["lb-1"] and errors(outcome)["lb-1"]
        assert {one.load_balancer_id for one in outcome.outcomes} == {"lb-1", "lb-2", "lb-6"}
        outcome = await agent.apply(batch(service(2, members=1), service(6)))
        assert outcome.writes == 0

    async def test_a_refused_load_balancer_heals_when_the_reason_is_gone(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service(4, vip=service().vip)))
        assert errors(await agent.apply(batch(service())))
        outcome = await agent.apply(batch(gone(4), service()))
        assert not errors(outcome)

    async def test_foreign_objects_are_never_touched(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        await agent.apply(batch(service()))
        await rig.add_foreign()
        foreign = await rig.foreign()
        assert foreign
        for each in (batch(service(), complete=True), batch(gone()), batch(complete=True)):
            assert not errors(await agent.apply(each))
        assert await rig.foreign() == foreign
        assert not await rig.content()

    async def test_forgetting_costs_nothing_but_a_look(self, rig: Rig) -> None:
        agent = rig.agent()
        await agent.take_over(PROJECT, 1, session_of(1))
        await agent.apply(batch(service()))
        agent.forget(PROJECT)
        assert (await agent.apply(batch(service()))).writes == 0, "the guard is still its own"

    async def test_a_fit_device_has_no_problem(self, rig: Rig) -> None:
        agent = Owner(rig.agent())
        states = await agent.check()
        assert len(states) == len(agent.facts.endpoints)
        assert all(state.reachable and not state.problem and state.version for state in states)
