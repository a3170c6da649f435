"""Answers operators' inquiries about the changes that the next pass over a load balancer would make.

Reads devices, and writes nothing unless an operator has a partition adopted or given back.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import structlog
from msgspec.structs import replace

from evenkeel.agent.controller_client import ControllerClient
from evenkeel.agent.session import Session
from evenkeel.agent.settings import AgentSettings
from evenkeel.agent.shard_client import ShardClient
from evenkeel.core.devices.adoption import (
    AdoptedNetworks,
    FoundNetworks,
    ListenerIrules,
    services_after_adoption,
    services_with_irules,
)
from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.plans import ORPHAN, DevicePlan, PlannedOperation, truncate_plans
from evenkeel.core.kit.errors import BusUnavailable, CallRefused, DeviceRejected, DeviceUnavailable, SessionLost
from evenkeel.core.ports import Device, IruleKeeper, NetworkAdopter, PartitionReturner
from evenkeel.core.protocol import messages as m
from evenkeel.core.protocol.inquiries import Inquiry, inquiry_in_hint

log = structlog.get_logger(__name__)

PLANS_AT_ONCE = 2
WAITING_MAX = 8
PLAN_SECONDS = 20.0
ADOPTION_SECONDS = 90.0
"""Time-out of an adoption, including the current pass and the creation of ports at the network service."""


class PlanService:
    """Answers operators' inquiries in the background; those that read devices :data:`PLANS_AT_ONCE` at a
    time.

    Inquiries above :data:`WAITING_MAX` unanswered ones are dropped: operators wait for a limited time only.
    """

    def __init__(
        self, session: Session, *, controllers: ControllerClient, device: Device, settings: AgentSettings
    ) -> None:
        self._session = session
        self._controllers = controllers
        self._device = device
        self._settings = settings
        self._turns = asyncio.Semaphore(PLANS_AT_ONCE)
        self._tasks: dict[asyncio.Task[None], None] = {}

    def answer_inquiry(
        self,
        hint: m.PlanHint | m.AdoptionHint,
        shard: m.Assignment,
        on_adopted: Callable[[], None] = lambda: None,
        *,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        """Answer an inquiry in the background; errors become part of the answer.

        ``shard``: the assignment as this agent serves it. ``on_adopted`` is called when the partition was
        adopted or given back. ``turn`` is held during an adoption, and while a partition is given back, so
        that no pass writes definitions that it fetched before.
        """
        inquiry = inquiry_in_hint(hint)
        self._start_answer(inquiry, self._answer_inquiry(inquiry, shard, on_adopted, turn or nullcontext()))

    def report_unexpected(
        self, hint: m.PlanHint | m.AdoptionHint, shard: m.Assignment, unexpected: Mapping[str, float]
    ) -> None:
        """Answer an inquiry about the group's common shard, in the background.

        The answer lists the load balancers in ``unexpected``, which devices hold and controllers did not
        expect, longest first, each with its seconds.
        """
        longest = sorted(unexpected, key=lambda id_: (-unexpected[id_], id_))
        operations = tuple(
            PlannedOperation(verb="delete", type=ORPHAN, name=id_, note=f"{unexpected[id_]:.0f}") for id_ in longest
        )
        plan = DevicePlan(device=", ".join(self._device.facts.endpoints), operations=operations)
        inquiry = inquiry_in_hint(hint)
        self._start_answer(inquiry, self._send_answer(inquiry, shard, (plan,)))

    def _start_answer(self, inquiry: Inquiry, answer: Coroutine[Any, Any, None]) -> None:
        if len(self._tasks) >= WAITING_MAX:
            log.warning("too many inquiries at once; dropped", load_balancer=inquiry.load_balancer_id)
            # An unawaited coroutine would log a warning when it is collected.
            answer.close()
            return
        task = asyncio.create_task(answer)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    def end(self) -> None:
        """Cancel the answers to all inquiries that are under way."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def _answer_inquiry(
        self,
        inquiry: Inquiry,
        shard: m.Assignment,
        on_adopted: Callable[[], None],
        turn: AbstractAsyncContextManager[None],
    ) -> None:
        devices: tuple[DevicePlan, ...] = ()
        problem = ""
        seconds = ADOPTION_SECONDS if inquiry.apply else PLAN_SECONDS
        try:
            # The time-out includes the wait for a turn, because the operator's request waits for the whole.
            async with asyncio.timeout(seconds), self._turns:
                batch = await self._fetch_batch(inquiry, shard)
                if inquiry.load_balancer_id:
                    devices = await self._plan_batch(batch)
                elif inquiry.give_back:
                    async with turn:
                        devices = await self._give_partition_back(batch, apply=inquiry.apply)
                    if inquiry.apply:
                        # The next pass finds that the partition is another program's, and reports why it stops.
                        on_adopted()
                elif inquiry.apply:
                    # A pass that fetched its definitions before the adoption would remove what the adoption takes over.
                    async with turn:
                        devices = await self._adopt_partition(batch, shard, apply=True, keep_irules=inquiry.keep_irules)
                    # A pass that follows writes the difference between the adopted partition and the definitions.
                    on_adopted()
                else:
                    devices = await self._adopt_partition(batch, shard, apply=False, keep_irules=inquiry.keep_irules)
        except TimeoutError:
            problem = f"the devices did not answer within {seconds:g} s"
            if inquiry.apply:
                problem += "; the adoption may have been carried out in part: repeat it"
        except (BusUnavailable, CallRefused, SessionLost, DeviceUnavailable, DeviceRejected) as error:
            # The operator waits for an answer in any case, so an error is part of it.
            problem = str(error)
        except Exception:
            log.exception("plan failed on an unexpected error", load_balancer=inquiry.load_balancer_id)
            problem = "unexpected error; the agent's log has it"
        await self._send_answer(inquiry, shard, devices, problem)

    async def _send_answer(
        self, inquiry: Inquiry, shard: m.Assignment, devices: tuple[DevicePlan, ...], problem: str = ""
    ) -> None:
        report = m.ReportPlan(
            agent_id=self._settings.agent_id,
            session_id=self._session.id,
            shard_id=shard.shard_id,
            epoch=shard.epoch,
            inquiry_id=inquiry.inquiry_id,
            devices=truncate_plans(devices),
            problem=problem,
        )
        try:
            await self._controllers.report_plan(report)
        except (BusUnavailable, CallRefused, SessionLost) as error:
            log.warning("plan not reported", load_balancer=inquiry.load_balancer_id, error=str(error))

    async def _fetch_batch(self, inquiry: Inquiry, shard: m.Assignment) -> PartitionBatch:
        client = ShardClient(
            shard,
            session=self._session,
            controllers=self._controllers,
            settings=self._settings,
            carries_traffic=self._device.facts.carries_traffic,
        )
        services = await client.fetch((inquiry.load_balancer_id,) if inquiry.load_balancer_id else None)
        return PartitionBatch(
            project_id=shard.project_id,
            epoch=shard.epoch,
            session_id=self._session.id,
            services=services,
            complete=not inquiry.load_balancer_id,
            keeps_orphans=True,
        )

    async def _plan_batch(self, batch: PartitionBatch) -> tuple[DevicePlan, ...]:
        return await self._device.plan(batch) if batch.services or batch.complete else ()

    async def _adopt_partition(
        self, batch: PartitionBatch, shard: m.Assignment, *, apply: bool, keep_irules: bool
    ) -> tuple[DevicePlan, ...]:
        """Return the plan, by device, of the complete pass that would follow an adoption; with ``apply`` the
        partition is adopted: first at the controllers, so that devices never have networks that the shard
        lacks.

        Raises :class:`DeviceRejected` before anything is changed if a device refuses or cannot be read;
        :class:`CallRefused`, :class:`DeviceUnavailable` and :class:`BusUnavailable` may come in between, and
        the adoption is then repeated.
        """
        found = await self._device.found_networks(batch) if isinstance(self._device, NetworkAdopter) else None
        if found is not None:
            # A preview: nothing is stored yet, and the plan is computed as if the networks were adopted.
            batch = replace(
                batch,
                services=services_after_adoption(batch.services, await self._adopt_networks(found, shard, apply=False)),
            )
        irules: tuple[ListenerIrules, ...] = ()
        if keep_irules and isinstance(self._device, IruleKeeper):
            irules = await self._device.found_irules(batch)
            batch = replace(batch, services=services_with_irules(batch.services, irules))
        plans = await self._plan_batch(batch)
        for plan in plans:
            if found is not None and plan.refusal:
                raise DeviceRejected(plan.device, plan.refusal)
            # A device that could not be read refuses the adoption, though not its preview: its partition would stay the
            # other program's while the load balancers were ACTIVE.
            if apply and plan.problem and not plan.operations:
                raise DeviceRejected(plan.device, f"{plan.problem}; nothing was adopted")
        if apply:
            if found is not None:
                # Controllers first: a crash between the two lines leaves stored networks that the next adoption finds
                # again, never devices with networks that no row knows.
                await self._adopt_networks(found, shard, apply=True)
            if irules:
                await self._keep_irules(irules, shard)
            await self._device.adopt(shard.project_id)
        return plans

    async def _give_partition_back(self, batch: PartitionBatch, *, apply: bool) -> tuple[DevicePlan, ...]:
        """Return the removals of marks, by device, that give the partition back to the program that made it;
        with ``apply`` the marks are removed. Raises :class:`DeviceRejected`, also for drivers without such
        partitions, and :class:`DeviceUnavailable`.
        """
        if not isinstance(self._device, PartitionReturner):
            raise DeviceRejected(
                ", ".join(self._device.facts.endpoints), "partitions of this device driver are made by no other program"
            )
        return await self._device.give_back(batch, apply=apply)

    async def _keep_irules(self, irules: tuple[ListenerIrules, ...], shard: m.Assignment) -> None:
        call = m.KeepIrules(
            agent_id=self._settings.agent_id,
            session_id=self._session.id,
            shard_id=shard.shard_id,
            epoch=shard.epoch,
            listeners=irules,
        )
        await self._controllers.keep_irules(call)

    async def _adopt_networks(self, found: FoundNetworks, shard: m.Assignment, *, apply: bool) -> AdoptedNetworks:
        call = m.AdoptNetworks(
            agent_id=self._settings.agent_id,
            session_id=self._session.id,
            shard_id=shard.shard_id,
            epoch=shard.epoch,
            route_domain=found.route_domain,
            addresses=found.addresses,
            apply=apply,
            route_domains=dict(found.route_domains),
        )
        adopted = await self._controllers.adopt_networks(call)
        return AdoptedNetworks(
            route_domain=adopted.route_domain, addresses=adopted.addresses, route_domains=adopted.route_domains
        )
