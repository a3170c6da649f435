"""Answers to agents: bounded in size, refusals instead of exceptions, faults left to redelivery."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.controller.callbacks import Callbacks, fitting
from evenkeel.controller.hints import Hints
from evenkeel.controller.settings import ControllerSettings
from evenkeel.core import messages as m
from evenkeel.core.control import ShardOwner
from evenkeel.core.errors import CallRefused, SessionLost, StoreUnavailable
from evenkeel.core.model import Vip
from evenkeel.core.service import ServiceDefinition, ServiceListener, ServiceMember, ServicePool

VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")


def service(name: str, members: int) -> ServiceDefinition:
    rows = tuple(ServiceMember(id=str(n), address="10.0.0.9", protocol_port=n + 1) for n in range(members))
    pool = ServicePool(id="p", protocol="HTTP", lb_algorithm="ROUND_ROBIN", members=rows)
    return ServiceDefinition(load_balancer_id=name, project_id="t", revision=1, vip=VIP, pools=(pool,))


def test_an_answer_holds_what_fits_and_at_least_one() -> None:
    services = [service("a", 10), service("b", 10), service("c", 10)]
    assert [s.load_balancer_id for s in fitting(services, 25)] == ["a", "b"]
    assert [s.load_balancer_id for s in fitting(services, 1)] == ["a"]
    assert len(fitting(services, 1000)) == 3


@pytest.mark.parametrize(
    "lists", [{"allowed_cidrs": ("10.0.0.0/8",) * 200}, {"sni_container_refs": ("x" * 255,) * 200}]
)
def test_long_lists_of_listeners_count_too(lists: dict[str, Any]) -> None:
    listeners = tuple(ServiceListener(id=str(n), protocol="HTTP", protocol_port=n + 1, **lists) for n in range(10))
    services = [replace(service(name, 0), listeners=listeners) for name in ("a", "b", "c")]
    assert [s.load_balancer_id for s in fitting(services, 450)] == ["a", "b"]


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
    return Callbacks(store, Hints(bus), ControllerSettings(**settings))


KEEPALIVE = m.Keepalive(agent_id="a", session_id="s")


async def test_a_refusal_is_an_answer() -> None:
    reply = await callbacks(SessionLost("expired")).handle(KEEPALIVE)
    assert reply == m.Refused(code="session_lost", reason="expired")
    reply = await callbacks(CallRefused("duplicate", "twin", retry_after_seconds=3.0)).handle(KEEPALIVE)
    assert reply == m.Refused(code="duplicate", reason="twin", retry_after_seconds=3.0)


async def test_a_fault_of_the_database_is_left_to_redelivery() -> None:
    with pytest.raises(StoreUnavailable):
        await callbacks(StoreUnavailable("down")).handle(KEEPALIVE)


async def test_services_beyond_the_size_bound_are_left_for_the_next_call() -> None:
    found = m.Services(services=(service("a", 10), service("b", 10)), missing=("gone",))
    call = m.GetServices(agent_id="a", session_id="s", shard_id="x", epoch=1)
    reply = await callbacks(found, members_per_answer=15).handle(call)
    assert isinstance(reply, m.Services)
    assert reply.more
    assert reply.missing == ("gone",)
    assert len(reply.services) == 1


async def test_what_is_not_for_controllers_is_refused() -> None:
    reply = await callbacks(None).handle(m.AssignmentsHint())
    assert isinstance(reply, m.Refused)


async def test_the_next_owner_is_told_when_a_shard_is_released() -> None:
    bus: Any = FakeBus()
    hints = Hints(bus)
    store: Any = FakeStore(ShardOwner(shard_id="x", environment="demo", group_number=1, host="host-2"))
    call = m.ReleaseShards(agent_id="a", session_id="s", shards=(m.ShardEpoch(shard_id="x", epoch=1),))
    assert await Callbacks(store, hints, ControllerSettings()).handle(call) == m.Done()
    await hints._flush()
    assert bus.sent == [("evenkeel-process-on-agent_demo.1.host-2", m.AssignmentsHint())]
