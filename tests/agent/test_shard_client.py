"""One shard's calls to the controllers."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.agent.shard_client import OUTCOMES_PER_REPORT, REASON_CHARACTERS_MAX, ShardClient
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.devices.device import Repair
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import Vip
from evenkeel.core.status.outcomes import Applied
from tests.agent.fakes import SETTINGS

VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")


class Controllers:
    """Gives two definitions an answer, and takes reports."""

    def __init__(self, *ids: str) -> None:
        self.ids = sorted(ids)
        self.asked: list[m.GetServices] = []
        self.reports: list[m.ReportApplied] = []
        self.stale = False

    async def services(self, call: m.GetServices) -> m.ServiceDefinitions:
        self.asked.append(call)
        wanted = self.ids if call.load_balancer_ids is None else [i for i in call.load_balancer_ids if i in self.ids]
        after = [one for one in wanted if one > call.after_id]
        found = tuple(ServiceDefinition(load_balancer_id=i, project_id="t", revision=1, vip=VIP) for i in after[:2])
        return m.ServiceDefinitions(services=found, more=len(after) > 2)

    async def report_applied(self, call: m.ReportApplied) -> m.ReportReceipt:
        self.reports.append(call)
        return m.ReportReceipt(stale=self.stale)


class Session:
    id = "session"
    history = "h1"

    def __init__(self) -> None:
        self.confirmations: list[tuple[str, int]] = []
        self.database_history = self

    def record_removals(self, load_balancer_ids: frozenset[str]) -> None:
        """They are about to be reported as removed."""

    def confirm(
        self, history: str, outcomes: tuple[Applied, ...], shard: ShardEpoch, *, removed: frozenset[str]
    ) -> None:
        assert shard == ShardEpoch(shard_id=ShardId("shard"), epoch=3) and not removed
        self.confirmations.append((history, len(outcomes)))


@pytest.fixture
def session() -> Any:
    return Session()


def client(controllers: Any, session: Any, **settings: Any) -> ShardClient:
    return ShardClient(
        m.Assignment(shard_id="shard", project_id="t", epoch=3),
        session=session,
        controllers=controllers,
        settings=replace(SETTINGS, **settings),
        carries_traffic=True,
    )


def applied(number: int, error: str = "") -> Applied:
    return Applied(load_balancer_id=f"lb-{number}", revision=1, error=error)


async def test_definitions_come_over_as_many_answers_as_it_takes(session: Any) -> None:
    controllers = Controllers("a", "b", "c", "d", "e")
    found = await client(controllers, session).fetch(None)
    assert [one.load_balancer_id for one in found] == ["a", "b", "c", "d", "e"]
    assert [call.after_id for call in controllers.asked] == ["", "b", "d"]


async def test_received_definitions_are_not_requested_again(session: Any) -> None:
    controllers = Controllers("a", "b", "c")
    found = await client(controllers, session).fetch(("a", "b", "c"))
    assert [one.load_balancer_id for one in found] == ["a", "b", "c"]
    assert [call.load_balancer_ids for call in controllers.asked] == [("a", "b", "c"), ("c",)]


async def test_a_report_is_of_the_history_in_which_definitions_were_fetched(session: Any) -> None:
    controllers = Controllers("a")
    shard = client(controllers, session)
    await shard.fetch(None)
    session.history = "h2"
    await shard.report((applied(1),))
    assert controllers.reports[0].history == "h1" and session.confirmations == [("h1", 1)]
    await shard.fetch(None)
    await shard.report((applied(1),))
    assert controllers.reports[1].history == "h2"


async def test_reports_are_cut_by_number_and_by_bytes_and_reasons_by_length(session: Any) -> None:
    controllers = Controllers()
    await client(controllers, session).report(tuple(map(applied, range(OUTCOMES_PER_REPORT + 1))))
    assert [len(report.outcomes) for report in controllers.reports] == [OUTCOMES_PER_REPORT, 1]
    controllers.reports.clear()
    small = client(controllers, session, max_message_bytes=20_000)
    await small.report(tuple(applied(number, "x" * 9_999) for number in range(6)))
    assert len(controllers.reports) > 1
    assert {len(one.error) for report in controllers.reports for one in report.outcomes} == {REASON_CHARACTERS_MAX}


async def test_report_of_a_repair_confirms_nothing(session: Any) -> None:
    controllers = Controllers()
    await client(controllers, session).report_repaired((Repair(load_balancer_id="a", device="b", found=("x",)),))
    assert controllers.reports[0].repaired == (m.Repaired(load_balancer_id="a", device="b", found=("x",)),)
    assert session.confirmations == [("h1", 0)]


async def test_a_report_of_an_old_epoch_loses_the_shard(session: Any) -> None:
    controllers = Controllers()
    controllers.stale = True
    with pytest.raises(SessionLost):
        await client(controllers, session).report((applied(1),))
    assert session.confirmations == []
