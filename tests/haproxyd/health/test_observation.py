"""Everything at once, from what workers say. The texts are recorded from HAProxy 2.6.12."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    FrontendCounts,
    ServerState,
    frontend_counts,
    remove_change_times,
    server_connections,
    server_states,
)
from evenkeel.haproxyd.health import observation as module
from evenkeel.haproxyd.health.observation import PartitionObserver
from evenkeel.haproxyd.layer4.totals import DatagramTotals

STATES = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port
3 be_1 1 s1 127.0.0.1 2 0 5 1 2 1 0 2 0 0 0 0 - 1 - 0 0 - - 0
3 be_1 2 s2 127.0.0.1 0 0 1 1 1 8 2 0 6 0 0 0 - 2 - 0 0 - - 0
3 be_1 3 s3 127.0.0.1 0 5 1 1 2 1 0 0 14 0 0 0 - 3 - 0 0 - - 0

"""  # noqa: E501
CONNECTIONS = """# bkname/svname bkid/svid addr port - purge_delay used_cur used_max need_est unsafe_nb safe_nb idle_lim idle_cur idle_per_thr[4]
be_1/s1 3/1 127.0.0.1 1 - 5000 7 9 0 0 0 -1 0 0 0 0 0
be_1/s2 3/2 127.0.0.1 2 - 5000 0 1 1 0 0 -1 0 0 0 0 0

"""  # noqa: E501
STAT = """# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,
fe1,FRONTEND,,,2,3,9975,40,100,200,0,0,4,,,,,OPEN,,
fe2,FRONTEND,,,0,0,9975,,0,0,0,0,0,,,,,STOP,,
be_1,BACKEND,,,9,9,9975,9,9,9,0,0,0,,,,,UP,,

"""


def test_servers_are_read() -> None:
    assert server_states(STATES) == {
        ("be_1", "s1"): ServerState(up=True, checked=False, admin=0, weight=5, address="127.0.0.1", port=1),
        ("be_1", "s2"): ServerState(up=False, checked=True, admin=0, weight=1, address="127.0.0.1", port=2),
        ("be_1", "s3"): ServerState(up=False, checked=True, admin=5, weight=1, address="127.0.0.1", port=3),
    }
    assert [state.admin_up for state in server_states(STATES).values()] == [True, True, False]
    assert server_connections(CONNECTIONS) == {("be_1", "s1"): 7, ("be_1", "s2"): 0}


def test_frontends_are_read() -> None:
    assert frontend_counts(STAT) == {
        "fe1": FrontendCounts(bytes_in=100, bytes_out=200, connections=40, request_errors=4, active=2),
        "fe2": FrontendCounts(listening=False),
    }


@pytest.mark.parametrize("text", ["", "\n", "1\n", "# \n", "Unknown command\n"])
def test_nothing_is_read_from_nothing(text: str) -> None:
    assert (server_states(text), server_connections(text), frontend_counts(text)) == ({}, {}, {})


SERVERS = tuple(wire.BackendServer(name=name, address="127.0.0.1", port=1) for name in ("s1", "s2", "s3", "s4"))
BALANCER = wire.LoadBalancerConfig(
    id="lb",
    revision=1,
    frontends=(
        wire.Frontend(name="fe1", binds=(), lines=("default_backend be_1",)),
        wire.Frontend(name="fe2", binds=()),
    ),
    backends=(wire.Backend(name="be_1", servers=SERVERS),),
    note="remember me",
)


class FakeKeeper:
    """Answers with what was recorded, and counts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problem = ""
        self.worker_pid: int | None = 7
        self.held: Mapping[str, wire.LoadBalancerConfig] = {"lb": BALANCER}
        self.asked: list[str] = []
        self.hangs = False
        self.passes: int | None = None
        self.found: list[tuple[str, ...]] = []

    @property
    def cli(self) -> "FakeKeeper":
        return self

    @property
    def settled_pass_count(self) -> int | None:
        return self.passes

    def report_connection_count(self, current: int) -> None:
        self.connections = current

    def repair_drift(self, found: Sequence[str]) -> None:
        self.found.append(tuple(found))

    @property
    def digests(self) -> Mapping[str, str]:
        return dict.fromkeys(self.held, "digest")

    async def command(self, text: str) -> str:
        self.asked.append(text)
        if self.hangs:
            await asyncio.sleep(3600)
        return {"show servers state": STATES, "show servers conn": CONNECTIONS}[text]

    async def query(self, pid: int, *texts: str) -> tuple[str, ...]:
        return tuple(
            [await (self.command_to_worker(pid, t) if t.startswith("show stat") else self.command(t)) for t in texts]
        )

    async def command_to_worker(self, pid: int, text: str) -> str:
        self.asked.append(text)
        assert pid == 7
        return STAT

    async def collect(
        self, cli: "FakeKeeper", pid: int, kept: tuple[str, ...], *others: str
    ) -> tuple[Mapping[str, FrontendCounts], tuple[str, ...]]:
        if self.worker_pid is None:
            raise HaproxyDown("gone")
        stat, *answers = await cli.query(pid, "show stat -1 1 -1", *others)
        counts = frontend_counts(stat)
        return {name: counts[name] for name in kept}, tuple(answers)


class Datagrams:
    """Listeners that the kernel serves; keeps what it is told of servers."""

    problem = ""

    def __init__(self) -> None:
        self.states: dict[str, Mapping[tuple[str, str], bool]] = {}

    def observe(self, partition: str, states: Mapping[tuple[str, str], bool]) -> None:
        self.states[partition] = states

    def down_servers(self, partition: str) -> frozenset[tuple[str, str]]:
        return frozenset({("be_u", "u2")})

    async def collect_totals(self) -> None:
        """Totals never change here."""

    def active_flows_by_listener(self, partition: str) -> Mapping[str, int]:
        return {"udp_1": 2}

    def partition_totals(self, partition: str) -> Mapping[str, DatagramTotals]:
        return {"udp_1": DatagramTotals(bytes_in=5, bytes_out=7, flows=3)} if partition == "p1" else {}


class World:
    """Some partitions, and an observer of them."""

    def __init__(self, *names: str) -> None:
        self.keepers = {name: FakeKeeper(name) for name in names}
        self.events = 0
        self.events_of: dict[str, int] = {}
        self.now = 1000.0
        self.datagrams = Datagrams()
        self.observer = PartitionObserver(
            self,
            self.keepers,
            newest_event=lambda: self.events,
            newest_event_of=lambda partition: self.events_of.get(partition, 0),
            state_id=lambda: "life",
            is_pinged=lambda *key: key == ("p1", "be_1", "s1"),
            datagrams=self.datagrams,
            monotonic=lambda: self.now,
        )

    def names(self) -> tuple[str, ...]:
        return (*self.keepers, "vanished")

    def get(self, name: str) -> FakeKeeper:
        if name not in self.keepers:
            raise PartitionUnknown(name)
        return self.keepers[name]

    async def observe(self) -> dict[str, wire.PartitionStatus]:
        return {status.name: status for status in (await self.observer.observe()).partitions}


async def test_a_partition_is_told_as_its_worker_has_it() -> None:
    world = World("p1", "p2")
    status = (await world.observe())["p1"]
    assert status.load_balancer_ids == ("lb",)
    assert status.notes == {"lb": "remember me"}
    assert status.frontends == (
        wire.FrontendStatus(
            name="fe1",
            load_balancer_id="lb",
            listening=True,
            bytes_in=100,
            bytes_out=200,
            active_connections=2,
            total_connections=40,
            request_errors=4,
        ),
        wire.FrontendStatus(name="fe2", load_balancer_id="lb", listening=False),
    )
    assert status.backends[0].servers == (
        wire.ServerStatus(name="s1", up=True, checked=True, admin_up=True, weight=5, active_connections=7),
        wire.ServerStatus(name="s2", up=False, checked=True, admin_up=True, weight=1),
        wire.ServerStatus(name="s3", up=False, checked=True, admin_up=False, weight=1),
    ), "s4 is not in the worker (yet)"
    assert not (await world.observe())["p2"].backends[0].servers[0].checked, "pinged in p1 only"


async def test_commands_are_a_constant_number_per_partition() -> None:
    world = World("p1")
    await world.observe()
    assert len(world.keepers["p1"].asked) == 3


async def test_one_that_hangs_or_is_down_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITION_TIMEOUT_SECONDS", 0.3)
    world = World("good", "hangs", "down", "broken", "empty", "odd")
    world.keepers["odd"].command = lambda text: asyncio.sleep(0, "# be_name srv_name\na b\n")
    world.keepers["hangs"].hangs = True
    world.keepers["down"].worker_pid = None
    world.keepers["broken"].problem = "local.cfg is not taken: unknown keyword"
    world.keepers["empty"].worker_pid, world.keepers["empty"].held = None, {}
    seen = await world.observe()
    assert seen["good"].problem == ""
    assert "did not answer" in seen["hangs"].problem
    assert (seen["hangs"].frontends, seen["hangs"].backends) == ((), ())
    assert seen["down"].problem == "HAProxy does not run"
    assert seen["down"].notes == {"lb": "remember me"}
    assert seen["broken"].frontends and "unknown keyword" in seen["broken"].problem
    assert seen["empty"].problem == ""
    assert "not understand" in seen["odd"].problem
    assert "vanished" not in seen


async def test_observers_of_the_same_moment_share_a_look() -> None:
    world = World("p1")
    await asyncio.gather(*(world.observer.observe() for _ in range(20)))
    assert len(world.keepers["p1"].asked) == 3
    await world.observer.observe()
    assert len(world.keepers["p1"].asked) == 6


async def test_the_daemon_does_not_look_again_where_agents_looked_lately() -> None:
    world = World("p1")
    await world.observer.observe_unless_recent(15.0)
    assert len(world.keepers["p1"].asked) == 3
    world.now += 14.9
    await world.observer.observe_unless_recent(15.0)
    assert len(world.keepers["p1"].asked) == 3
    world.now += 0.1
    await world.observer.observe_unless_recent(15.0)
    assert len(world.keepers["p1"].asked) == 6


async def test_an_observation_claims_no_event_that_came_during_it() -> None:
    world = World("p1")
    ask = world.keepers["p1"].command

    async def meanwhile(text: str) -> str:
        world.events = 9
        return await ask(text)

    world.keepers["p1"].command = meanwhile
    assert (await world.observer.observe()).event == 0
    assert (await world.observer.observe()).event == 9


async def test_manual_change_is_found_unless_a_change_is_in_progress() -> None:
    world = World("p1")
    keeper = world.keepers["p1"]
    await world.observe()
    assert keeper.found == []
    keeper.passes = 3
    await world.observe()
    assert keeper.found == [("server be_1/s4 is not there", "enable frontend fe2")]
    backend = msgspec.structs.replace(BALANCER.backends[0], servers=SERVERS[:2])
    keeper.held = {"lb": msgspec.structs.replace(BALANCER, backends=(backend,), frontends=BALANCER.frontends[:1])}
    await world.observe()
    assert len(keeper.found) == 2 and "set server be_1/s1 weight 1" in keeper.found[1]
    assert not any("s3" in text for text in keeper.found[1])  # in maintenance, it waits for its end


async def test_servers_of_a_pool_that_no_listener_uses_are_not_checked_whatever_the_worker_has() -> None:
    world = World("p1")
    keeper = world.keepers["p1"]
    keeper.passes = 1
    unused = wire.Backend(name="spare", servers=(msgspec.structs.replace(SERVERS[0], weight=9, admin_up=False),))
    front = msgspec.structs.replace(BALANCER.frontends[0], lines=())
    keeper.held = {"lb": msgspec.structs.replace(BALANCER, frontends=(front,), backends=(*BALANCER.backends, unused))}
    seen = (await world.observe())["p1"]
    assert [(one.name, one.up, one.checked, one.admin_up) for one in seen.backends[0].servers] == [
        (one.name, True, False, True) for one in SERVERS
    ]
    assert seen.backends[1].servers == (
        wire.ServerStatus(name="s1", up=False, checked=False, admin_up=False, weight=9),
    )
    assert keeper.found == []


async def test_datagram_listeners_are_observed_with_their_totals_and_servers() -> None:
    world = World("p1")
    listener = wire.DatagramListener(name="udp_1", binds=(wire.Bind(address="192.0.2.1", port=53),))
    one = wire.LoadBalancerConfig(id="lb-udp", revision=1, datagram_listeners=(listener,))
    world.keepers["p1"].held = {**world.keepers["p1"].held, one.id: one}
    world.keepers["p1"].passes = 1
    seen = (await world.observe())["p1"]
    found = next(each for each in seen.frontends if each.name == "udp_1")
    assert (found.listening, found.bytes_in, found.bytes_out, found.total_connections) == (True, 5, 7, 3)
    assert found.active_connections == 2
    assert ("be_1", "s1") in world.datagrams.states["p1"]
    world.datagrams.problem = "no permission"
    assert not next(each for each in (await world.observe())["p1"].frontends if each.name == "udp_1").listening


async def test_load_balancers_that_the_kernel_serves_alone_are_observed_while_haproxy_does_not_run() -> None:
    world = World("p1")
    listener = wire.DatagramListener(name="udp_1", binds=(wire.Bind(address="192.0.2.1", port=53),), backend="be_u")
    servers = tuple(wire.BackendServer(name=name, address="192.0.2.9", port=1) for name in ("u1", "u2"))
    pool = wire.Backend(name="be_u", servers=servers, datagrams=wire.DatagramBalance())
    alone = wire.LoadBalancerConfig(id="lb-udp", revision=1, datagram_listeners=(listener,), backends=(pool,))
    both = msgspec.structs.replace(BALANCER, id="lb-both", datagram_listeners=(listener,))
    keeper = world.keepers["p1"]
    keeper.held = {one.id: one for one in (BALANCER, alone, both)}
    keeper.worker_pid = None
    seen = (await world.observe())["p1"]
    assert (seen.problem, seen.haproxy_down) == ("HAProxy does not run", True)
    assert [(one.load_balancer_id, one.listening, one.bytes_in) for one in seen.frontends] == [("lb-udp", True, 5)]
    assert [(one.name, one.up, one.checked) for backend in seen.backends for one in backend.servers] == [
        ("u1", True, False),
        ("u2", False, True),
    ]
    world.datagrams.problem = "no permission"
    seen = (await world.observe())["p1"]
    assert (seen.frontends, seen.backends, seen.haproxy_down) == ((), (), False)


async def test_an_observation_for_an_event_reads_its_partition_and_those_that_changed_or_are_due() -> None:
    world = World("p1", "p2", "p3", "p4")
    for keeper in world.keepers.values():
        keeper.passes = 1
    await world.observer.observe()

    def read() -> list[str]:
        return [name for name, keeper in world.keepers.items() if keeper.asked]

    def forget() -> None:
        for keeper in world.keepers.values():
            keeper.asked.clear()

    forget()
    world.now += 3.0
    world.events_of["p2"] = world.events = 1
    world.keepers["p3"].passes = 2
    world.keepers["p4"].held = {**world.keepers["p4"].held}
    seen = await world.observer.observe(5.0)
    assert read() == ["p2", "p3", "p4"]
    assert (seen.event, [one.name for one in seen.partitions]) == (1, ["p1", "p2", "p3", "p4"])
    assert seen.partitions == (await world.observer.observe()).partitions
    forget()
    world.now += 4.0
    await world.observer.observe(5.0)
    assert read() == []
    world.now += 1.0
    await world.observer.observe(5.0)
    assert read() == ["p1", "p2", "p3", "p4"]


async def test_a_partition_without_haproxy_or_with_a_pass_in_progress_is_read_at_each_event() -> None:
    world = World("p1", "p2")
    world.keepers["p1"].passes = 1
    world.keepers["p1"].worker_pid = None
    await world.observer.observe()
    world.keepers["p1"].worker_pid = 7
    seen = await world.observer.observe(5.0)
    assert all(one.backends for one in seen.partitions)
    assert len(world.keepers["p2"].asked) == 6


def settled_world() -> World:
    """A world with one partition that runs as configured."""
    world = World("p1")
    backend = msgspec.structs.replace(
        BALANCER.backends[0], servers=(msgspec.structs.replace(SERVERS[0], weight=5), SERVERS[1])
    )
    backend = msgspec.structs.replace(
        backend,
        servers=tuple(
            msgspec.structs.replace(one, port=number, arguments=("check",) if number == 2 else ())
            for number, one in enumerate(backend.servers, 1)
        ),
    )
    one = msgspec.structs.replace(BALANCER, frontends=BALANCER.frontends[:1], backends=(backend,))
    world.keepers["p1"].held = {"lb": one}
    world.keepers["p1"].passes = 1
    return world


def answers(keeper: FakeKeeper, **changed: str) -> None:
    """Have the worker answer differently; the keys are the commands' last words."""

    async def command(text: str) -> str:
        known = {"state": STATES, "conn": CONNECTIONS, **changed}
        return known[text.rpartition(" ")[2]]

    keeper.command = command


async def test_equal_answers_give_the_same_status_whatever_time_has_passed() -> None:
    world = settled_world()
    keeper = world.keepers["p1"]
    first = (await world.observe())["p1"]
    assert keeper.found == []
    answers(keeper, state=STATES.replace(" 1 1 1 8 2 0 6 ", " 1 1 99 8 2 0 6 "))
    assert (await world.observe())["p1"] is first
    assert keeper.found == []


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("state", "s2 127.0.0.1 0 0 1", "s2 127.0.0.1 2 0 1"),
        ("state", "s1 127.0.0.1 2 0 5", "s1 127.0.0.1 2 0 6"),
        ("conn", "5000 7 9", "5000 8 9"),
    ],
)
async def test_any_difference_in_a_workers_answers_shows_in_the_status(command: str, old: str, new: str) -> None:
    world = settled_world()
    first = (await world.observe())["p1"]
    whole = {"state": STATES, "conn": CONNECTIONS}[command]
    assert old in whole
    answers(world.keepers["p1"], **{command: whole.replace(old, new)})
    assert (await world.observe())["p1"] != first


async def test_parts_of_a_status_that_the_worker_does_not_answer_are_not_taken_from_an_earlier_one() -> None:
    world = settled_world()
    keeper = world.keepers["p1"]
    first = (await world.observe())["p1"]
    keeper.problem = "left out"
    second = (await world.observe())["p1"]
    assert (first.problem, second.problem) == ("", "left out")
    keeper.held = {"lb": msgspec.structs.replace(keeper.held["lb"], note="another")}
    assert (await world.observe())["p1"].notes == {"lb": "another"}
    world.observer._is_pinged = lambda *key: False
    assert [one.checked for one in (await world.observe())["p1"].backends[0].servers] == [False, True]


async def test_servers_health_is_told_to_the_kernel_again_after_an_event_though_the_worker_answers_the_same() -> None:
    """A line that a server is up may have been lost after one that it is down."""
    world = settled_world()
    await world.observe()
    world.datagrams.states.clear()
    await world.observe()
    assert not world.datagrams.states
    world.events_of["p1"] = world.events = 1
    await world.observe()
    assert world.datagrams.states["p1"]["be_1", "s1"]


async def test_a_manual_change_is_reported_by_each_observation_until_it_is_undone() -> None:
    world = settled_world()
    keeper = world.keepers["p1"]
    answers(keeper, state=STATES.replace("s1 127.0.0.1 2 0 5", "s1 127.0.0.1 2 0 6"))
    await world.observe()
    await world.observe()
    assert len(keeper.found) == 2 and keeper.found[0] == keeper.found[1]


def test_an_answer_about_servers_without_times_has_all_the_rest() -> None:
    later = STATES.replace(" 1 2 1 0 2 0 ", " 1 3333 1 0 2 0 ").replace(" 1 1 1 8 ", " 1 1 99 8 ")
    assert later != STATES and remove_change_times(later) == remove_change_times(STATES)
    assert remove_change_times(STATES).count(" ") == STATES.count(" ") - 3
    other = STATES.replace("srv_addr srv_op_state", "srv_op_state srv_addr")
    assert remove_change_times(other) == other, "of another order nothing is known"
