"""Answers to agents: bounded in size, refusals instead of exceptions, faults left to redelivery."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.adoptions import Adoptions
from evenkeel.controller.callbacks import Callbacks, has_findings
from evenkeel.controller.certificates import CertificateCallback
from evenkeel.controller.definitions import DefinitionReader
from evenkeel.controller.hints import Hints
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.devices.service import ServiceDefinition, ServiceMember, ServicePool
from evenkeel.core.kit.errors import CallRefused, Invalid, SessionLost, StoreUnavailable
from evenkeel.core.kit.message_chunks import encoded_bytes
from evenkeel.core.ports import FoundServices
from evenkeel.core.protocol import messages as m
from evenkeel.core.resources.model import Vip

VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")


def service(name: str, members: int) -> ServiceDefinition:
    rows = tuple(ServiceMember(id=str(n), address="10.0.0.9", protocol_port=n + 1) for n in range(members))
    pool = ServicePool(id="p", protocol="HTTP", lb_algorithm="ROUND_ROBIN", members=rows)
    return ServiceDefinition(load_balancer_id=name, project_id="t", revision=1, vip=VIP, pools=(pool,))


async def answered(
    services: list[ServiceDefinition], *, takes_parts: bool = True, **settings: int
) -> m.ServiceDefinitions:
    call = m.GetServices(agent_id="a", session_id="s", shard_id="x", epoch=1, takes_parts=takes_parts)
    found = FoundServices(page=m.ServiceDefinitions(services=tuple(services), missing=("gone",)))
    reply = await callbacks(found, **settings).handle(call)
    assert isinstance(reply, m.ServiceDefinitions)
    return reply


async def test_an_answer_holds_what_fits_in_bytes_and_at_least_one() -> None:
    services = [service("a", 10), service("b", 10), service("c", 10)]
    size = encoded_bytes(services[0])
    for answer_bytes, names in ((2 * size + 1, ["a", "b"]), (1, ["a"]), (3 * size, ["a", "b", "c"])):
        reply = await answered(services, answer_bytes=answer_bytes)
        assert [one.load_balancer_id for one in reply.services] == names
        assert reply.more == (len(names) < 3)
        assert reply.missing == ("gone",)


@pytest.mark.parametrize("takes_parts", [True, False])
async def test_oversized_definition_is_replaced_by_its_reason_and_others_are_sent(takes_parts: bool) -> None:
    services = [service("a", 2), service("b", 2000), service("c", 2)]
    reply = await answered(services, takes_parts=takes_parts, max_message_bytes=65536)
    if takes_parts:
        assert reply.services == (services[0],)
        reply = await answered(services[1:], takes_parts=takes_parts, max_message_bytes=65536)
        assert reply.services == (services[1],)
    else:
        first, second, third = reply.services
        assert (first, third) == (services[0], services[2])
        assert (second.load_balancer_id, second.revision, second.pools) == ("b", 1, ())
        assert second.vip.address == second.problem
        assert "bytes; its agent accepts at most 49152" in second.problem


class FakeBus:
    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    async def send(self, queue: str, message: Any) -> None:
        self.sent.append((queue, message))


class FakeStore:
    """Answers every call with what the test put there."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __getattr__(self, name: str) -> Any:
        async def method(*_args: Any, **_kw: Any) -> Any:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return method


def callbacks(answer: Any, **settings: Any) -> Callbacks:
    store: Any = FakeStore(answer)
    bus: Any = FakeBus()
    return made(store, Hints(bus), ControllerSettings(**settings))


def made(store: Any, hints: Hints, settings: ControllerSettings) -> Callbacks:
    certificates = CertificateCallback(store, store, None, settings)
    definitions = DefinitionReader(store, store, None, settings)
    return Callbacks(
        store,
        store,
        hints,
        settings,
        certificates=certificates,
        definitions=definitions,
        adoptions=Adoptions(store, store, None),
    )


KEEPALIVE = m.Keepalive(agent_id="a", session_id="s")


async def test_a_refusal_is_an_answer() -> None:
    reply = await callbacks(SessionLost("expired")).handle(KEEPALIVE)
    assert reply == m.Refused(code="session_lost", reason="expired")
    reply = await callbacks(CallRefused("duplicate", "twin", retry_after_seconds=3.0)).handle(KEEPALIVE)
    assert reply == m.Refused(code="duplicate", reason="twin", retry_after_seconds=3.0)


async def test_a_fault_of_the_database_is_left_to_redelivery() -> None:
    with pytest.raises(StoreUnavailable):
        await callbacks(StoreUnavailable("down")).handle(KEEPALIVE)


async def test_message_for_agents_is_refused() -> None:
    reply = await callbacks(None).handle(m.AssignmentsHint())
    assert isinstance(reply, m.Refused)


async def test_the_next_owner_is_informed_when_a_shard_is_released() -> None:
    bus: Any = FakeBus()
    hints = Hints(bus)
    store: Any = FakeStore(ShardOwner(shard_id="x", environment="demo", group_number=1, host="host-2"))
    call = m.ReleaseShards(agent_id="a", session_id="s", shards=(ShardEpoch(shard_id="x", epoch=1),))
    assert await made(store, hints, ControllerSettings()).handle(call) == m.Done()
    await hints._send_waiting_hints()
    assert bus.sent == [("evenkeel-process-on-agent_demo.1.host-2", m.AssignmentsHint())]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (m.GetServices(agent_id="a", session_id="s", shard_id="x", epoch=2**63), "epoch"),
        (m.RaiseEpoch(agent_id="a", session_id="s", shard_id="x", epoch=1, seen_epoch=2**63 - 1), "seen_epoch"),
        (m.ReleaseShards(agent_id="a", session_id="s", shards=(ShardEpoch(shard_id="x", epoch=-1),)), "shards"),
        (m.ReportApplied(agent_id="a", session_id="s", shard_id="x", epoch=2**53 + 1, outcomes=()), "epoch"),
        (m.ReportStatus(agent_id="a", session_id="s", shard_id="x", epoch=2**70), "epoch"),
    ],
)
async def test_an_epoch_that_can_be_nobodys_is_refused_before_anything_is_queried(call: m.Call, field: str) -> None:
    reply = await callbacks(StoreUnavailable("asked")).handle(call)
    assert isinstance(reply, m.Refused) and reply.code == "implausible_epoch"
    assert reply.reason.startswith(field) and "9007199254740992" in reply.reason


async def test_call_that_cannot_be_stored_is_refused_and_not_redelivered() -> None:
    reply = await callbacks(Invalid("a text holds a character that cannot be stored")).handle(KEEPALIVE)
    assert isinstance(reply, m.Refused) and reply.code == "invalid"


@pytest.mark.parametrize("field", ["absent", "present", "changed", "renewed", "renewed_before"])
def test_a_report_with_any_kind_of_finding_has_findings(field: str) -> None:
    nothing = m.ReportStatus(agent_id="a", session_id="s", shard_id="x", epoch=1, expected_after="")
    assert not has_findings(nothing)
    assert has_findings(replace(nothing, **{field: ("lb-1",)}))


class PageStore:
    """Keeps what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def assignments(self, *_names: str, **asked: Any) -> m.Assignments:
        self.asked.append(asked)
        return m.Assignments(revision=1, shards=())


async def test_pages_of_assignments_are_bounded_and_agents_that_know_none_get_all() -> None:
    store: Any = PageStore()
    bus: Any = FakeBus()
    here = made(store, Hints(bus), ControllerSettings(assignments_per_answer=7))
    for limit in (5, 8, 0, -1):
        await here.handle(m.GetAssignments(agent_id="a", session_id="s", after_id="x", limit=limit))
    assert [asked["limit"] for asked in store.asked] == [5, 7, None, None]
    assert {asked["after_id"] for asked in store.asked} == {"x"}
