"""The judge sees what it must see: small histories made by hand, sound ones and ones that break a promise."""

from typing import Any

import pytest

from tests.acceptance.history import report
from tests.acceptance.history.checker import Verdict, check
from tests.acceptance.history.events import Event

ENVIRONMENT = "hist"
FIRST = {"name": "t-1", "weight": 5}
SECOND = {"name": "t-2", "weight": 7}
MEMBER = "lb/pool-80/198.18.0.1:80"
OTHER = "lb/pool-80/198.18.0.2:80"


class Story:
    """Events in order, one second apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now = 0.0
        self._requests = 0
        self._faults = 0
        self.add("begun", environment=ENVIRONMENT)

    def add(self, kind: str, *, after: float = 1.0, **fields: Any) -> float:
        """One event, ``after`` the one before."""
        self._now += after
        self.events.append({"t": self._now, "kind": kind, **fields})
        return self._now

    def request(self, outcome: str, writes: dict[str, Any], *, replaces: str = "", status: int = 200) -> None:
        """A request and how it was answered."""
        self._requests += 1
        self.add("sent", id=self._requests, writes=writes, replaces=replaces)
        self.add(outcome, id=self._requests, status=status)

    def created(self) -> None:
        """A load balancer with a listener, a pool and one member."""
        writes = {
            "lb/": {"description": "t-1"},
            "lb/listener-80": {"description": "t-1", "connection_limit": 10},
            "lb/pool-80": {"description": "t-1", "lb_algorithm": "ROUND_ROBIN"},
            MEMBER: FIRST,
        }
        self.request("acknowledged", writes)

    def fault(self, what: str, target: str, **serving: int) -> int:
        """A fault begins."""
        self._faults += 1
        self.add("fault", number=self._faults, fault=what, target=target, serving=serving)
        return self._faults

    def write(self, host: str, epoch: int, *, device: str = "a", accepted: bool = True, after: float = 1.0) -> None:
        """What a device says of a write to project t."""
        error = "" if accepted else f"evenkeel_guard_{epoch} was not found"
        self.add(
            "device_write",
            after=after,
            device=device,
            project="t",
            epoch=epoch,
            host=host,
            accepted=accepted,
            error=error,
        )

    def ends(self, api: dict[str, Any], devices: dict[str, dict[str, Any]] | None = None) -> Verdict:
        """Everything settles; the verdict. ``devices`` None: they hold what the API's final state asks for."""
        self.add("faults_over")
        self.add("settled")
        self.add("final_api", api=api)
        held = {"a": on_devices(api), "b": on_devices(api)} if devices is None else devices
        for name, objects in held.items():
            self.add("final_device", device=name, objects=objects)
        return check(self.events)


def final(*members: dict[str, Any], status: str = "ACTIVE", description: str = "t-1") -> dict[str, Any]:
    """The API's final state with one load balancer and these members."""
    shared = {"project_id": "t", "provisioning_status": "ACTIVE", "loadbalancers": [{"id": "1"}]}
    root = {**shared, "id": "1", "name": "lb", "description": description, "vip_address": "127.0.0.9"}
    listener = {"id": "2", "name": "listener-80", "protocol_port": 80, "connection_limit": 10, "default_pool_id": "3"}
    pool = {"id": "3", "name": "pool-80", "lb_algorithm": "ROUND_ROBIN", "healthmonitor_id": None}
    return {
        "loadbalancers": [{**root, "provisioning_status": status}],
        "listeners": [{**shared, **listener, "description": "t-1"}],
        "pools": [{**shared, **pool, "description": "t-1", "members": list(members)}],
    }


def member(value: dict[str, Any], number: int = 1) -> dict[str, Any]:
    """A member as the API shows it."""
    place = {"address": f"198.18.0.{number}", "protocol_port": 80, "provisioning_status": "ACTIVE"}
    return {"id": f"m{number}", **place, **value}


NOTHING: dict[str, Any] = {"loadbalancers": [], "listeners": [], "pools": []}


def on_devices(api: dict[str, Any]) -> dict[str, Any]:
    """By hand, what :func:`final` comes to on a device."""
    if not api["pools"]:
        return {}
    members = api["pools"][0]["members"]
    weighted = len({one["weight"] for one in members} - {0}) > 1
    return {
        "/hist_t/hist_1": {"address": "127.0.0.9"},
        "/hist_t/hist_2": {"port": 80, "limit": 10, "pool": "/hist_t/hist_3"},
        "/hist_t/hist_3": {
            "mode": "ratio-member" if weighted else "round-robin",
            "members": {
                f"{one['address']}:80": f"ratio {one['weight']}" if one["weight"] else "drained" for one in members
            },
        },
        **{f"/Common/hist_{one['address']}": {"node": one["address"]} for one in members},
    }


@pytest.fixture
def story() -> Story:
    made = Story()
    made.created()
    return made


# -- what was acknowledged


def test_history_of_acknowledged_changes_that_devices_hold_has_no_violation(story: Story) -> None:
    story.request("acknowledged", {MEMBER: SECOND})
    story.request("acknowledged", {OTHER: FIRST})
    story.request("acknowledged", {OTHER: None})
    verdict = story.ends(final(member(SECOND)))
    assert verdict.broken == {}
    assert verdict.counts["requests acknowledged"] == 4
    assert verdict.counts["objects with one possible value"] == 5
    assert "| acknowledged writes lost | 0 |" in report.table(verdict)


def test_absent_acknowledged_change_counts_as_lost(story: Story) -> None:
    story.request("acknowledged", {MEMBER: SECOND})
    verdict = story.ends(final(member(FIRST)))
    assert list(verdict.broken) == ["lost"]
    assert MEMBER in report.problems(verdict)


def test_absent_acknowledged_member_counts_as_lost(story: Story) -> None:
    assert list(story.ends(final()).broken) == ["lost"]


def test_acknowledged_delete_without_effect_counts_as_lost(story: Story) -> None:
    story.request("acknowledged", {MEMBER: None}, status=204)
    assert list(story.ends(final(member(FIRST))).broken) == ["lost"]


def test_a_cascade_deletes_all_that_is_below(story: Story) -> None:
    story.request("acknowledged", {"lb/": None}, replaces="lb/", status=204)
    assert story.ends(NOTHING).broken == {}
    assert len(story.ends(final(member(FIRST))).lost) == 4


def test_batch_removes_unnamed_members(story: Story) -> None:
    story.request("acknowledged", {OTHER: SECOND}, replaces="lb/pool-80/", status=202)
    assert story.ends(final(member(SECOND, 2))).broken == {}
    assert len(story.ends(final(member(SECOND, 2), member(FIRST))).lost) == 1


def test_a_refused_request_changes_nothing(story: Story) -> None:
    story.request("failed", {MEMBER: SECOND}, status=409)
    assert story.ends(final(member(FIRST))).broken == {}
    assert list(story.ends(final(member(SECOND))).broken) == ["lost"]


def test_change_without_a_request_is_reported(story: Story) -> None:
    verdict = story.ends(final(member(FIRST), member(SECOND, 9)))
    assert verdict.lost == ["lb/pool-80/198.18.0.9:80: nobody asked for it"]


@pytest.mark.parametrize("value", [FIRST, SECOND])
def test_a_request_in_doubt_may_have_happened_or_not(story: Story, value: dict[str, Any]) -> None:
    story.request("unknown", {MEMBER: SECOND}, status=503)
    verdict = story.ends(final(member(value)))
    assert verdict.broken == {}
    assert verdict.counts["of these answered 503"] == 1


def test_a_request_in_doubt_may_happen_after_a_later_one(story: Story) -> None:
    story.request("unknown", {MEMBER: None}, status=0)
    story.request("acknowledged", {MEMBER: SECOND})
    assert story.ends(final()).broken == {}


def test_a_request_in_doubt_cannot_happen_minutes_later(story: Story) -> None:
    story.request("unknown", {MEMBER: None}, status=0)
    story.add("filled", after=100.0)
    story.request("acknowledged", {MEMBER: SECOND})
    assert list(story.ends(final()).broken) == ["lost"]


def test_a_request_without_any_outcome_is_in_doubt(story: Story) -> None:
    story.add("sent", id=99, writes={MEMBER: None}, replaces="")
    assert story.ends(final()).broken == {}


def test_a_batch_in_doubt_may_remove_what_was_added_after_it(story: Story) -> None:
    story.request("unknown", {OTHER: FIRST}, replaces="lb/pool-80/", status=0)
    story.request("acknowledged", {MEMBER: SECOND})
    assert story.ends(final(member(FIRST, 2))).broken == {}
    assert story.ends(final(member(SECOND))).broken == {}


# -- the end


def test_load_balancer_that_is_not_active_at_the_end_is_stuck(story: Story) -> None:
    verdict = story.ends(final(member(FIRST), status="PENDING_UPDATE"))
    assert list(verdict.broken) == ["stuck"]


def test_object_missing_on_one_device_is_reported(story: Story) -> None:
    api = final(member(FIRST))
    verdict = story.ends(api, {"a": on_devices(api), "b": on_devices(final())})
    assert [problem.partition(":")[0] for problem in verdict.differing] == [
        "b /hist_t/hist_3",
        "b /Common/hist_198.18.0.1",
    ]


def test_object_unknown_to_the_api_is_an_orphan(story: Story) -> None:
    api = final(member(FIRST))
    extra = {**on_devices(api), "/hist_t/hist_77": {"monitor": True}}
    assert story.ends(api, {"a": extra}).orphans == ["a /hist_t/hist_77"]


def test_a_history_without_an_end_is_not_judged(story: Story) -> None:
    with pytest.raises(ValueError, match="final_api"):
        check(story.events)


# -- owners


def test_a_write_at_an_older_epoch_is_stale(story: Story) -> None:
    story.write("host-1", 1)
    story.write("host-2", 2)
    story.write("host-1", 1)
    assert len(story.ends(final(member(FIRST))).stale) == 1


def test_refused_stale_write_is_no_violation(story: Story) -> None:
    story.write("host-2", 2)
    story.write("host-1", 1, accepted=False)
    verdict = story.ends(final(member(FIRST)))
    assert verdict.broken == {}
    assert verdict.counts["device writes refused by the guard"] == 1


def test_each_device_has_its_own_guard(story: Story) -> None:
    story.write("host-2", 2, device="a")
    story.write("host-1", 1, device="b")
    assert story.ends(final(member(FIRST))).broken == {}


def test_two_hosts_at_one_epoch_are_reported(story: Story) -> None:
    story.write("host-1", 3, device="a")
    story.write("host-2", 3, device="b")
    assert len(story.ends(final(member(FIRST))).shared) == 1


def test_revision_that_goes_backwards_is_reported(story: Story) -> None:
    for revision, applied in ((2, 1), (3, 3), (3, 2)):
        story.add("observed", load_balancer="1", revision=revision, applied=applied)
    assert len(story.ends(final(member(FIRST))).backwards) == 1


def test_process_that_ended_by_itself_is_reported(story: Story) -> None:
    story.add("exited", target="agent-host-1", state="exit code 3")
    assert story.ends(final(member(FIRST))).exited == ["agent-host-1: exit code 3"]


# -- takeovers


def seconds(verdict: Verdict) -> list[tuple[str, float, bool]]:
    """(class, seconds, alone) of each sample."""
    return [(sample.name, sample.seconds, sample.alone) for sample in verdict.takeovers]


def test_a_takeover_lasts_until_the_next_owners_first_accepted_write(story: Story) -> None:
    story.write("host-1", 1)
    story.fault("kill", "agent-host-1", t=1)
    story.write("host-1", 1, after=0.25)  # was under way
    story.write("host-2", 2, accepted=False, after=0.25)
    story.write("host-2", 2, after=0.5)
    verdict = story.ends(final(member(FIRST)))
    assert seconds(verdict) == [("killed", 1.0, True)]
    assert "| killed | first shard, alone | 1 | 1.00 s | 1.00 s | 1.00 s | 2 s |" in report.table(verdict)


def test_a_shard_that_stays_or_returns_to_its_host_was_not_taken_over(story: Story) -> None:
    story.fault("freeze", "agent-host-1", t=1)
    story.write("host-1", 2)
    assert seconds(story.ends(final(member(FIRST)))) == []


def test_takeover_during_another_fault_is_counted_apart(story: Story) -> None:
    other = story.fault("kill", "broker")
    story.fault("stop", "agent-host-1", t=1)
    story.add("fault_ended", number=other)
    story.add("ready", number=other)
    story.write("host-2", 2)
    assert seconds(story.ends(final(member(FIRST)))) == [("planned", 3.0, False)]


def test_takeover_soon_after_an_outage_of_the_broker_is_counted_apart(story: Story) -> None:
    story.add("ready", number=story.fault("kill", "broker"))
    story.fault("stop", "agent-host-1", t=1)
    story.write("host-2", 2)
    assert seconds(story.ends(final(member(FIRST)))) == [("planned", 1.0, False)]


def test_takeover_while_a_controller_is_down_counts_as_undisturbed(story: Story) -> None:
    story.fault("kill", "controller-1")
    story.fault("cut_off", "agent-host-1", t=1)
    story.write("host-2", 2)
    assert seconds(story.ends(final(member(FIRST)))) == [("cut off", 1.0, True)]


def test_takeover_long_after_the_agents_return_is_not_attributed_to_its_fault(story: Story) -> None:
    story.add("ready", number=story.fault("freeze", "agent-host-1", t=1))
    story.write("host-2", 2, after=60.0)
    verdict = story.ends(final(member(FIRST)))
    assert seconds(verdict) == []
    assert verdict.returned == {"frozen": 1}


def test_takeover_after_a_second_fault_of_an_agent_is_attributed_to_the_second(story: Story) -> None:
    story.fault("freeze", "agent-host-1", t=1)
    story.fault("kill", "agent-host-1", t=1)
    story.write("host-2", 2)
    assert [sample.fault for sample in story.ends(final(member(FIRST))).takeovers] == [2]
