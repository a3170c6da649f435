"""What a controller tells of the whole system."""

from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment, UnreachableGroup
from evenkeel.core.control.events import Event
from evenkeel.core.control.histories import History, UnknownHistory
from evenkeel.core.control.lists import LoadBalancerSummary
from evenkeel.core.control.shards import ShardCount
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.core.kit.ids import AgentId, SessionId
from evenkeel.core.placement.reach import Reachability, ReachabilityKind
from evenkeel.core.tls.own_certificates import OwnCertificate
from evenkeel.metrics import system
from evenkeel.metrics.system import SystemCollector

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Operators:
    """A database with one of everything."""

    def __init__(self) -> None:
        self.down = False
        self.reads = 0
        self.kinds: list[str] = ["agent_registered"]

    def _read(self) -> None:
        self.reads += 1
        if self.down:
            raise StoreUnavailable("the database is gone")

    async def references(self, query: Any, *, limit: int) -> tuple[()]:
        return ()

    async def environments(self) -> tuple[Environment, ...]:
        return (Environment(name="dev", device_driver="noop", halted_at=1.0, halted_reason="two agents at once"),)

    async def agents(self) -> tuple[Agent, ...]:
        place: dict[str, Any] = {"environment": "dev", "group_number": 1, "device_driver": "noop", "ha_type": "pair"}
        return (
            Agent(id=AgentId("a"), host="one", alive=True, session_id=SessionId("s"), queue_depth=3, **place),
            Agent(id=AgentId("b"), host="two", session_id=SessionId("t"), **place),
        )

    async def load_balancer_summary(self) -> LoadBalancerSummary:
        return LoadBalancerSummary(
            by_status={"ACTIVE": 5, "ERROR": 1},
            by_operating_status={"ONLINE": 4, "DEGRADED": 2},
            waiting=2,
            oldest_pending_seconds=12.5,
            age_seconds=3.5,
        )

    async def shard_counts(self) -> tuple[ShardCount, ...]:
        return (ShardCount(environment="dev", total=4, unserved=1),)

    async def unreachable_groups(self) -> tuple[UnreachableGroup, ...]:
        return (
            UnreachableGroup(
                environment="dev", number=1, reach=Reachability(ReachabilityKind.REACHED, away=("bigip-a",)), tenants=1
            ),
        )

    async def history(self) -> History:
        return History(id="h", begun_at=0.0, unknown=(UnknownHistory(id="u", noted_at=1.0, agent_id="a"),))

    async def own_certificates(self) -> tuple[OwnCertificate, ...]:
        return (OwnCertificate(name="message broker mq:5671", ends_at=7.0),)

    async def events(self, *, after: int = 0, limit: int = 100, newest: bool = False) -> Sequence[Event]:
        self._read()
        events = [Event(kind=kind, text="", id=number) for number, kind in enumerate(self.kinds, 1)]
        return events[-limit:] if newest else [event for event in events if event.id > after][:limit]


class World:
    """A collector of which every read is due."""

    def __init__(self) -> None:
        self.operators = Operators()
        self.now = 0.0
        self.broker = ""
        self.refusal = ""
        self.collector = SystemCollector(self.operators, lambda: self.broker, lambda: self.refusal, lambda: self.now)  # type: ignore[arg-type]
        self._registry = CollectorRegistry()
        self._registry.register(self.collector)

    async def samples(self) -> Samples:
        self.now += system.READ_EVERY_SECONDS
        await self.collector.refresh()
        text = generate_latest(self._registry).decode()
        families = text_string_to_metric_families(text)
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for each in families for s in each.samples}


@pytest.fixture
def world() -> World:
    return World()


def of(**labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


async def test_every_figure_of_the_database_is_reported(world: World) -> None:
    found = await world.samples()
    one, two = ({"environment": "dev", "group": "1", "host": host} for host in ("one", "two"))
    expected: Samples = {
        ("evenkeel_database_up", ()): 1,
        ("evenkeel_database_writable", ()): 1,
        ("evenkeel_message_broker_up", ()): 1,
        ("evenkeel_database_unknown_histories", ()): 1,
        ("evenkeel_load_balancers", of(provisioning_status="ACTIVE")): 5,
        ("evenkeel_load_balancers", of(provisioning_status="ERROR")): 1,
        ("evenkeel_load_balancers_operating", of(operating_status="ONLINE")): 4,
        ("evenkeel_load_balancers_operating", of(operating_status="DEGRADED")): 2,
        ("evenkeel_load_balancers_age_seconds", ()): 3.5,
        ("evenkeel_load_balancers_waiting", ()): 2,
        ("evenkeel_pending_oldest_seconds", ()): 12.5,
        ("evenkeel_agent_state", of(**one, state="up")): 1,
        ("evenkeel_agent_state", of(**one, state="silent")): 0,
        ("evenkeel_agent_state", of(**two, state="silent")): 1,
        ("evenkeel_agent_reported_queue_depth", of(**one)): 3,
        ("evenkeel_shards", of(environment="dev")): 4,
        ("evenkeel_shards_unserved", of(environment="dev")): 1,
        ("evenkeel_devices_out_of_reach", of(environment="dev", group="1")): 1,
        ("evenkeel_environment_halted", of(environment="dev")): 1,
        ("evenkeel_certificates_expiring", ()): 0,
        ("evenkeel_certificates_unreadable", ()): 0,
        ("evenkeel_own_certificate_ends_timestamp_seconds", of(certificate="message broker mq:5671")): 7,
    }
    assert {key: found.get(key) for key in expected} == expected


async def test_events_are_counted_from_the_start_of_the_controller(world: World) -> None:
    assert ("evenkeel_events_total", of(kind="agent_registered")) not in await world.samples()
    world.operators.kinds += ["takeover"] * 2
    assert (await world.samples())["evenkeel_events_total", of(kind="takeover")] == 2
    assert (await world.samples())["evenkeel_events_total", of(kind="takeover")] == 2


async def test_more_events_than_one_read_takes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "EVENTS_PER_READ", 2)
    await world.samples()
    world.operators.kinds += ["takeover"] * 5
    assert (await world.samples())["evenkeel_events_total", of(kind="takeover")] == 5


async def test_without_a_database_nothing_old_is_reported(world: World) -> None:
    await world.samples()
    world.operators.down = True
    world.broker = "connection refused"
    found = await world.samples()
    assert found["evenkeel_database_up", ()] == found["evenkeel_message_broker_up", ()] == 0
    assert not [name for name, _ in found if name.startswith(("evenkeel_load_balancers", "evenkeel_agent"))]
    world.operators.down = False
    assert (await world.samples())["evenkeel_database_up", ()] == 1


async def test_database_without_writes_is_up_and_not_writable(world: World) -> None:
    world.refusal = "cannot execute UPDATE in a read-only transaction"
    found = await world.samples()
    assert (found["evenkeel_database_up", ()], found["evenkeel_database_writable", ()]) == (1, 0)


async def test_many_scrapes_are_one_read(world: World) -> None:
    await world.samples()
    before = world.operators.reads
    for _ in range(10):
        await world.collector.refresh()
    assert world.operators.reads == before
