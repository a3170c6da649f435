"""Nothing stays PENDING: whatever fails, the agent repeats it, and reports what the controllers have."""

import itertools
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from evenkeel_octavia import leftovers
from evenkeel_octavia.agent import Agent
from evenkeel_octavia.controllers import ControllersClient
from evenkeel_octavia.mirror import ControllersMirror
from evenkeel_octavia.reports import StatusReport
from evenkeel_octavia.settings import AgentSettings, ControllersEndpoint
from evenkeel_octavia.trees import LoadBalancerTree, OctaviaSnapshot
from octavia_tests.fake_controller import FakeController, served
from octavia_tests.octavia_database import OctaviaInMemory
from octavia_tests.strategies import listener, member, monitor, policy, pool, tree

CREATING = {"provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE"}


class Clock:
    """Monotonic time that moves when the agent waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Inline(Executor):
    """Executor that runs everything at once, so that the agent does all in its step."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Rig:
    """An agent, its controller, Octavia and the time."""

    def __init__(self, url: str, controller: FakeController) -> None:
        self.controller = controller
        self.clock = Clock()
        self.is_active = True
        self.client = ControllersClient(ControllersEndpoint(urls=(url,)))
        self.octavia = OctaviaInMemory()

    def start(self, octavia: OctaviaInMemory, *, reporters: Executor | None = None, **settings: float) -> None:
        self.octavia = octavia
        self.agent = Agent(
            AgentSettings(environments={"evenkeel": "prod"}, **settings),  # type: ignore[arg-type]
            octavia,
            ControllersMirror(self.client, seconds=5.0),
            octavia,
            is_active=lambda environment: self.is_active,
            now=self.clock,
            reporters=reporters or Inline(),
        )

    def until(self, condition: Callable[[], bool], *, within_seconds: float = 120.0) -> None:
        """Let the agent run until a condition holds."""
        deadline = self.clock.now + within_seconds
        while not condition():
            assert self.clock.now < deadline
            self.clock.now += self.agent.step()

    def run_for(self, seconds: float) -> None:
        deadline = self.clock.now + seconds
        while self.clock.now < deadline:
            self.clock.now += self.agent.step()

    def writes(self) -> list[str]:
        """Methods of the requests that change load balancers."""
        return [method for method, path, _ in self.controller.requests if path.startswith("/loadbalancers/")]


@pytest.fixture
def rig() -> Iterator[Rig]:
    controller = FakeController()
    with served(controller) as url:
        made = Rig(url, controller)
        yield made
        made.client.close()


def test_new_load_balancer_becomes_active_with_its_children(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING, pools=(pool(0, **CREATING),), members=(member(0, **CREATING),)))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert [row["provisioning_status"] for _, row in octavia.trees_by_id["lb-0"].objects()] == ["ACTIVE"] * 3
    assert rig.controller.held["lb-0"]["body"]["provider"] == "prod"
    assert len(octavia.reports) == 1


def test_children_that_were_not_touched_are_not_reported(rig: Rig) -> None:
    touched = member(1, provisioning_status="PENDING_CREATE")
    octavia = OctaviaInMemory(
        tree(values={"provisioning_status": "PENDING_UPDATE"}, pools=(pool(0),), members=(member(0), touched))
    )
    rig.start(octavia, statuses_seconds=0.0)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert {kind: [record["id"] for record in records] for kind, records in octavia.reports[0].items()} == {
        "members": ["member-1"],
        "loadbalancers": ["lb-0"],
    }


def test_cascading_deletion_ends_with_nothing_left(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING, pools=(pool(0),), healthmonitors=(monitor(0),)))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    octavia._take({"id": "lb-0", "provisioning_status": "PENDING_DELETE"})
    rig.until(lambda: octavia.status() is None)
    assert rig.controller.held == {}
    assert set(octavia.reports[-1]) == {"healthmonitors", "pools", "loadbalancers"}


def test_load_balancer_that_never_reached_the_controllers_is_deleted_too(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values={"provisioning_status": "PENDING_DELETE"}))
    rig.start(octavia)
    rig.until(lambda: octavia.status() is None)


def test_deleted_child_is_gone_from_the_controllers_before_it_is_reported(rig: Rig) -> None:
    leaving = policy(0, provisioning_status="PENDING_DELETE")
    octavia = OctaviaInMemory(
        tree(values={"provisioning_status": "PENDING_UPDATE"}, listeners=(listener(0),), l7policies=(leaving,))
    )
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert "l7policies" not in rig.controller.held["lb-0"]["body"]["listeners"][0]
    assert octavia.trees_by_id["lb-0"].l7policies == ()


def test_refused_content_is_in_error_and_the_reason_is_logged(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.controller.refusals["PUT /loadbalancers/"] = (501, "listener.protocol: SCTP is not possible on this device")
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ERROR")
    assert "SCTP is not possible" in caplog.text


def test_load_balancer_in_error_is_active_once_the_controllers_take_it(rig: Rig) -> None:
    rig.controller.refusals["PUT /loadbalancers/"] = (400, "no")
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ERROR")
    rig.controller.refusals.clear()
    rig.controller.settles_after = 0
    rig.until(lambda: bool(rig.controller.held), within_seconds=130.0)
    rig.controller.changed = ["lb-0"]
    rig.until(lambda: octavia.status() == "ACTIVE")


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_refusals_that_may_pass_leave_a_load_balancer_pending(rig: Rig, status: int) -> None:
    rig.controller.refusals["PUT /loadbalancers/"] = (status, "not now")
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.run_for(20.0)
    assert octavia.status() == "PENDING_CREATE" and octavia.reports == []
    rig.controller.refusals.clear()
    rig.until(lambda: octavia.status() == "ACTIVE")


def test_lost_report_is_repeated(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    octavia.broken = 3
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert rig.controller.held["lb-0"]["revision"] == 1


def test_invalid_record_delays_no_other_load_balancer(rig: Rig) -> None:
    other = tree(values={**CREATING, "id": "lb-1"})
    octavia = OctaviaInMemory(tree(values=CREATING), other)
    octavia.refused_ids = {"lb-0"}
    rig.start(octavia)
    rig.until(lambda: octavia.status("lb-1") == "ACTIVE")
    assert octavia.status("lb-0") == "PENDING_CREATE"
    octavia.refused_ids.clear()
    rig.until(lambda: octavia.status("lb-0") == "ACTIVE")


def test_unwritable_load_balancer_delays_no_other(rig: Rig) -> None:
    rig.controller.refusals["PUT /loadbalancers/lb-0"] = (500, "a defect")
    octavia = OctaviaInMemory(tree(values=CREATING), tree(values={**CREATING, "id": "lb-1"}))
    rig.start(octavia)
    rig.until(lambda: octavia.status("lb-1") == "ACTIVE", within_seconds=5.0)
    assert octavia.status("lb-0") == "PENDING_CREATE"
    rig.controller.refusals.clear()
    rig.until(lambda: octavia.status("lb-0") == "ACTIVE")


def test_silent_driver_agent_is_called_once_for_many_load_balancers(rig: Rig) -> None:
    ids = [f"lb-{number}" for number in range(10)]
    octavia = OctaviaInMemory(*(tree(values={**CREATING, "id": id}) for id in ids))
    octavia.broken = 1
    rig.start(octavia)
    rig.until(lambda: octavia.broken == 0)
    assert octavia.reports == []
    rig.until(lambda: all(octavia.status(id) == "ACTIVE" for id in ids))


def test_agent_that_is_killed_at_any_step_is_replaced_without_loss(rig: Rig) -> None:
    for steps in range(8):
        octavia = OctaviaInMemory(tree(values={**CREATING, "name": f"round {steps}"}, pools=(pool(0, **CREATING),)))
        octavia.seconds += 1000.0 * steps
        rig.start(octavia)
        for _ in range(steps):
            rig.clock.now += rig.agent.step()
        rig.start(octavia)
        rig.until(lambda: octavia.status() == "ACTIVE")  # noqa: B023


def test_content_that_changes_while_it_is_applied_is_never_reported_early(rig: Rig) -> None:
    rig.controller.settles_after = 3
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.until(lambda: bool(rig.controller.held))
    octavia.trees_by_id["lb-0"] = tree(values={**CREATING, "name": "changed"}, pools=(pool(0, **CREATING),))
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert rig.controller.held["lb-0"]["body"]["name"] == "changed"


def test_newer_snapshot_at_the_controllers_is_overtaken_by_rows_read_later(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.controller.held["lb-0"] = {
        "snapshot": octavia.seconds + 3600.0,
        "digest": "older content",
        "revision": 1,
        "polls": 9,
        "leaves": False,
        "body": {},
    }
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert rig.controller.held["lb-0"]["revision"] == 2


def test_after_the_clock_was_set_back_changes_are_applied_and_each_later_state_is_the_newer_one(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    snapshots = [rig.controller.held["lb-0"]["snapshot"]]
    octavia.seconds -= 3600.0
    for number in range(3):
        octavia.seconds += 5.0
        octavia.trees_by_id["lb-0"] = tree(values={"provisioning_status": "PENDING_UPDATE", "name": f"new-{number}"})
        rig.until(lambda: octavia.status() == "ACTIVE")
        assert rig.controller.held["lb-0"]["body"]["name"] == f"new-{number}"
        snapshots.append(rig.controller.held["lb-0"]["snapshot"])
    # a state that was read in between, by an agent that then stood still, is refused as older
    assert all(later > earlier + 4.0 for earlier, later in itertools.pairwise(snapshots[1:]))
    assert snapshots[1] > snapshots[0]


def test_failover_is_applied_although_it_changes_no_row(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values={**CREATING, "created_at": "1"}))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    octavia.trees_by_id["lb-0"] = tree(values={"provisioning_status": "PENDING_UPDATE", "updated_at": "2"})
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert rig.controller.held["lb-0"]["revision"] == 2


def test_load_balancer_still_being_deleted_at_the_controllers_is_written_afterwards(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    old = {"snapshot": 1.0, "digest": "d", "revision": 1, "polls": 0, "leaves": True, "body": {}}
    rig.controller.held["lb-0"] = old
    rig.start(octavia)
    rig.run_for(5.0)
    assert octavia.status() == "PENDING_CREATE" and octavia.reports == []
    del rig.controller.held["lb-0"]
    rig.until(lambda: octavia.status() == "ACTIVE")


def test_agent_without_the_lease_writes_nothing(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.is_active = False
    rig.start(octavia)
    rig.run_for(10.0)
    assert rig.writes() == []
    rig.is_active = True
    rig.until(lambda: octavia.status() == "ACTIVE")


def test_load_balancer_missing_or_different_at_the_controllers_is_rewritten(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(), tree(values={"id": "lb-1"}))
    rig.start(octavia)
    rig.until(lambda: set(rig.controller.held) == {"lb-0", "lb-1"})
    rig.controller.held["lb-0"]["digest"] = "other"
    del rig.controller.held["lb-1"]
    rig.until(
        lambda: set(rig.controller.held) == {"lb-0", "lb-1"} and rig.controller.held["lb-0"]["digest"] != "other",
        within_seconds=130.0,
    )
    assert octavia.reports == [] or "loadbalancers" not in octavia.reports[0]


def test_load_balancer_that_octavia_has_deleted_is_deleted_at_the_controllers_that_forgot_it(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree())
    octavia.deleted_ids = {"stray"}
    rig.start(octavia)
    rig.until(lambda: set(rig.controller.held) == {"lb-0"})
    rig.controller.held["stray"] = {**rig.controller.held["lb-0"], "snapshot": octavia.seconds - 3600.0}
    rig.until(lambda: rig.controller.held["stray"]["leaves"], within_seconds=130.0)
    assert not rig.controller.held["lb-0"]["leaves"]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_other_database_of_octavia_deletes_nothing(rig: Rig, caplog: pytest.LogCaptureFixture, kept: int) -> None:
    octavia = OctaviaInMemory(*(tree(values={"id": f"lb-{number}"}) for number in range(3)))
    rig.start(octavia)
    rig.until(lambda: len(rig.controller.held) == 3)
    octavia.trees_by_id = {id: row for id, row in octavia.trees_by_id.items() if id in ("lb-0", "lb-1")[:kept]}
    octavia.seconds += 3600.0
    rig.until(lambda: f"knows nothing of {3 - kept} load balancers" in caplog.text, within_seconds=130.0)
    told = len(caplog.records)
    rig.run_for(130.0)
    assert "DELETE" not in rig.writes()
    assert len(caplog.records) == told, "the same load balancers are named once"


def test_operator_lists_unknown_load_balancers_and_deletes_them(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(), tree(values={"id": "lb-1"}))
    rig.start(octavia)
    rig.until(lambda: len(rig.controller.held) == 2)
    del octavia.trees_by_id["lb-1"]
    octavia.seconds += 3600.0
    mirror = ControllersMirror(rig.client, seconds=5.0)
    named = list(leftovers.find_leftover_lines(octavia, mirror, "evenkeel", "prod", delete=False))
    assert named == ["lb-1 provider evenkeel, environment prod"] and "DELETE" not in rig.writes()
    deleted = list(leftovers.find_leftover_lines(octavia, mirror, "evenkeel", "prod", delete=True))
    assert deleted == ["lb-1 provider evenkeel, environment prod: deleted"]
    assert rig.controller.held["lb-1"]["leaves"] and not rig.controller.held["lb-0"]["leaves"]


def test_vip_port_of_a_create_that_octavia_rolled_back_is_given_back(rig: Rig) -> None:
    rig.start(OctaviaInMemory(tree()), makes_vip_ports=True)
    rig.octavia.deleted_ids.add("lb-2")
    rig.controller.ports = {"lb-0": 500.0, "lb-1": 500.0, "lb-2": 500.0, "lb-3": 5.0}
    rig.until(lambda: rig.controller.ports == {"lb-3": 5.0})
    assert "lb-0" in rig.controller.held  # committed: it was put


def test_vip_ports_are_not_looked_for_while_octavia_makes_them(rig: Rig) -> None:
    rig.start(OctaviaInMemory(tree()))
    rig.controller.ports = {"lb-1": 500.0}
    rig.run_for(200.0)
    assert rig.controller.ports and all(path != "/vip-ports" for _, path, _ in rig.controller.requests)


def test_pending_child_below_a_calm_load_balancer_is_reported(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(pools=(pool(0),), members=(member(0, provisioning_status="PENDING_UPDATE"),)))
    rig.start(octavia, statuses_seconds=0.0)
    rig.until(lambda: octavia.trees_by_id["lb-0"].members[0]["provisioning_status"] == "ACTIVE")
    assert [list(report) for report in octavia.reports] == [["members"]]


def test_changed_operating_status_is_reported_without_a_provisioning_status(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(pools=(pool(0),), members=(member(0),)))
    rig.start(octavia)
    rig.until(lambda: "lb-0" in rig.controller.held)
    rig.run_for(3.0)
    octavia.reports.clear()
    rig.controller.operating = {"member-0": "ERROR", "pool-0": "DEGRADED"}
    rig.controller.changed = ["lb-0"]
    rig.until(lambda: bool(octavia.reports))
    assert octavia.reports == [
        {
            "members": [{"id": "member-0", "operating_status": "ERROR"}],
            "pools": [{"id": "pool-0", "operating_status": "DEGRADED"}],
        }
    ]


def test_statistics_are_reported_when_they_change(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(listeners=(listener(0),)))
    rig.controller.totals = [{"id": "listener-0", "bytes_in": 1, "bytes_out": 2}]
    rig.start(octavia, statistics_seconds=10.0)
    rig.until(lambda: len(octavia.totals) == 1)
    rig.run_for(30.0)
    assert len(octavia.totals) == 1
    rig.controller.totals = [{"id": "listener-0", "bytes_in": 5, "bytes_out": 2}]
    rig.until(lambda: len(octavia.totals) == 2)
    assert octavia.totals[1] == rig.controller.totals


def test_same_content_is_not_written_again_while_it_is_applied(rig: Rig) -> None:
    rig.controller.settles_after = 10
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    rig.until(lambda: octavia.status() == "ACTIVE")
    assert rig.writes() == ["PUT"]


class SlowDriverAgent(OctaviaInMemory):
    """Octavia whose first report is not answered until the test lets it be."""

    def __init__(self, *trees: LoadBalancerTree) -> None:
        super().__init__(*trees)
        self.asked, self.answer = threading.Event(), threading.Event()

    def statuses(self, report: StatusReport) -> None:
        if not self.asked.is_set():
            self.asked.set()
            assert self.answer.wait(60.0)
        super().statuses(report)


def test_report_that_takes_long_holds_neither_writes_nor_other_reports_up(rig: Rig) -> None:
    octavia = SlowDriverAgent(tree(values=CREATING))
    with ThreadPoolExecutor(4) as threads:
        rig.start(octavia, reporters=threads)
        rig.until(octavia.asked.is_set, within_seconds=1e6)
        octavia.trees_by_id["lb-1"] = tree(values={**CREATING, "id": "lb-1"})
        rig.until(lambda: octavia.status("lb-1") == "ACTIVE", within_seconds=1e6)
        assert octavia.status("lb-0") == "PENDING_CREATE"
        # settled: its report is under way, so that it is neither written nor reported once more
        assert len(rig.writes()) == 2
        octavia.answer.set()
        rig.until(lambda: octavia.status("lb-0") == "ACTIVE", within_seconds=1e6)


def test_agent_whose_lease_ended_while_it_stood_still_reports_nothing_that_it_read_before(rig: Rig) -> None:
    octavia = OctaviaInMemory(tree(values=CREATING))
    rig.start(octavia)
    read = octavia.trees

    def stand_still(ids: Collection[str]) -> OctaviaSnapshot:
        found = read(ids)
        if octavia.reads == 2:
            rig.is_active = False
        return found

    octavia.trees = stand_still  # type: ignore[method-assign]
    rig.until(lambda: not rig.is_active)
    rig.run_for(2.0)
    assert octavia.reports == [] and octavia.status() == "PENDING_CREATE"
    rig.is_active = True
    rig.until(lambda: octavia.status() == "ACTIVE")


class DeletingTenant(OctaviaInMemory):
    """Octavia with a tenant who deletes a load balancer as soon as that may be."""

    def settle(self) -> None:
        super().settle()
        if self.status() == "ACTIVE":
            self.trees_by_id["lb-0"] = tree(values={"provisioning_status": "PENDING_DELETE"})


def test_load_balancer_deleted_by_its_tenant_after_a_late_report_is_reported_as_deleted(rig: Rig) -> None:
    octavia = DeletingTenant(tree(values=CREATING))
    octavia.late_report = {"loadbalancers": [{"id": "lb-0", "provisioning_status": "ACTIVE"}]}
    rig.start(octavia)
    rig.until(lambda: octavia.status() is None)
    assert [record["provisioning_status"] for report in octavia.reports for record in report["loadbalancers"]] == [
        "ACTIVE",
        "DELETED",
    ]
