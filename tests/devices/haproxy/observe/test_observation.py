"""What daemons see becomes Octavia's words."""

from typing import Any

from evenkeel.core.devices.device import DeviceState, Observation
from evenkeel.core.resources.model import ListenerStatistics
from evenkeel.devices.absence import AbsenceOnDevice
from evenkeel.devices.haproxy.naming import HaproxyNames
from evenkeel.devices.haproxy.note import LoadBalancerNote, pack_note
from evenkeel.devices.haproxy.observe.observation import HaproxyReading, find_absences, merge_readings
from evenkeel.haproxyd import wire

NAMES = HaproxyNames(prefix="dev")


def server(name: str = "m1", **changes: Any) -> wire.ServerStatus:
    return wire.ServerStatus(**{"name": name, "up": True, "checked": True, "admin_up": True, "weight": 1, **changes})


def backend(*servers: wire.ServerStatus, name: str = "p1") -> wire.BackendStatus:
    return wire.BackendStatus(name=name, load_balancer_id="lb", servers=servers)


def frontend(**changes: Any) -> wire.FrontendStatus:
    return wire.FrontendStatus(**{"name": "l1", "load_balancer_id": "lb", "listening": True, **changes})


def partition(
    *parts: wire.BackendStatus | wire.FrontendStatus, note: LoadBalancerNote | None = None, **changes: Any
) -> wire.PartitionStatus:
    fields: dict[str, Any] = {
        "name": "dev_p",
        "load_balancer_ids": ("lb",),
        "frontends": tuple(part for part in parts if isinstance(part, wire.FrontendStatus)),
        "backends": tuple(part for part in parts if isinstance(part, wire.BackendStatus)),
        "notes": {} if note is None else {"lb": pack_note(note)},
    }
    return wire.PartitionStatus(**{**fields, **changes})


def reading(*partitions: wire.PartitionStatus, host: str = "a") -> HaproxyReading:
    return HaproxyReading(
        seen=wire.DaemonObservation(event=1, partitions=partitions),
        state=DeviceState(name=host, reachable=True, version="2"),
    )


def together(*partitions: wire.PartitionStatus) -> Observation:
    """One partition on each of several devices."""
    return merge_readings(
        {host: reading(one, host=host) for host, one in zip("ab", partitions, strict=False)}, (), NAMES
    )


def statuses(seen: Observation) -> dict[str, str]:
    return {one.id: one.status.value for one in seen.statuses}


def reasons(seen: Observation) -> dict[str, str]:
    return {one.id: one.reason for one in seen.statuses if one.reason}


def test_all_well() -> None:
    seen = together(partition(frontend(), backend(server())))
    assert statuses(seen) == {"lb": "ONLINE", "l1": "ONLINE", "p1": "ONLINE", "m1": "ONLINE"}
    assert [state.name for state in seen.devices] == ["a"]


def test_members() -> None:
    found = statuses(
        together(
            partition(
                frontend(),
                backend(
                    server("failed", up=False),
                    server("off", admin_up=False, up=False),
                    server("draining", weight=0),
                    server("draining-failed", weight=0, up=False),
                    server("draining-unchecked", weight=0, up=False, checked=False),
                    server("unchecked", checked=False),
                ),
            )
        )
    )
    assert found["failed"] == "ERROR" and found["off"] == "OFFLINE"
    assert found["draining"] == found["draining-unchecked"] == "DRAINING" and found["unchecked"] == "NO_MONITOR"
    assert found["draining-failed"] == "ERROR"
    assert found["p1"] == found["lb"] == "DEGRADED" and found["l1"] == "ONLINE"


def test_a_pool_without_a_member_that_works_is_in_error() -> None:
    found = statuses(together(partition(frontend(), backend(server(up=False), server("m2", weight=0)))))
    assert found["p1"] == found["lb"] == "ERROR"


def test_listener_or_pool_that_is_meant_to_be_down_is_offline_and_degrades_nothing() -> None:
    note = LoadBalancerNote(listeners_down=("l2",), pools_idle=("p2",))
    idle = backend(server("m2", up=False), name="p2")
    found = statuses(together(partition(frontend(), backend(server()), idle, note=note)))
    assert found["l2"] == found["p2"] == "OFFLINE" and found["m2"] == "ERROR"
    assert found["lb"] == "ONLINE"


def test_a_load_balancer_that_is_admin_down_is_offline() -> None:
    note = LoadBalancerNote(admin_state_up=False, listeners_down=("l1",), pools_idle=("p1",))
    found = statuses(together(partition(backend(server()), note=note)))
    assert found == {"lb": "OFFLINE", "l1": "OFFLINE", "p1": "OFFLINE", "m1": "ONLINE"}


def test_a_listener_at_its_limit_is_degraded_and_one_that_does_not_listen_in_error() -> None:
    note = LoadBalancerNote(connection_limits={"l1": 2})
    assert statuses(together(partition(frontend(active_connections=2), note=note)))["l1"] == "DEGRADED"
    assert statuses(together(partition(frontend(active_connections=1), note=note)))["l1"] == "ONLINE"
    assert statuses(together(partition(frontend(listening=False))))["lb"] == "ERROR"


def test_a_pool_in_two_modes_is_one_pool() -> None:
    seen = together(partition(backend(server()), backend(server(up=False), name="p1:tcp")))
    assert [one.id for one in seen.statuses] == ["m1", "p1", "lb"]
    assert statuses(seen)["m1"] == "ONLINE"


def test_a_load_balancer_without_parts_is_online() -> None:
    assert statuses(together(partition())) == {"lb": "ONLINE"}


def test_other_environments_are_not_looked_at() -> None:
    assert not together(partition(frontend(), name="dev_a_p")).statuses
    assert not together(partition(frontend(bytes_in=5), name="dev_a_p")).statistics


def test_of_a_pair_the_worst_counts_and_connections_are_summed() -> None:
    good = partition(frontend(bytes_in=1, total_connections=10), backend(server()))
    bad = partition(frontend(bytes_in=2, total_connections=5, request_errors=1), backend(server(up=False)))
    for seen in (together(good, bad), together(bad, good)):
        assert statuses(seen) == {"lb": "ERROR", "l1": "ONLINE", "p1": "ERROR", "m1": "ERROR"}
        assert [one.statistics for one in seen.statistics] == [
            ListenerStatistics(bytes_in=3, total_connections=15, request_errors=1)
        ]


def test_load_balancers_are_in_error_where_haproxy_does_not_run() -> None:
    seen = together(partition(problem="does not start"))
    assert statuses(seen) == {"lb": "ERROR"} and reasons(seen) == {"lb": "device a: does not start"}


def test_load_balancers_of_the_kernel_are_degraded_with_the_reason_where_haproxy_does_not_run() -> None:
    parts = (frontend(), backend(server(checked=False)))
    ids = ("lb", "tcp")
    seen = together(partition(*parts, load_balancer_ids=ids, haproxy_down=True, problem="does not start"))
    assert statuses(seen) == {"lb": "DEGRADED", "tcp": "ERROR", "l1": "ONLINE", "p1": "ONLINE", "m1": "NO_MONITOR"}
    assert reasons(seen) == dict.fromkeys(ids, "device a: does not start")


def test_load_balancers_are_degraded_where_haproxy_runs_on_one_device_only() -> None:
    well, gone = partition(frontend(), backend(server())), partition(problem="does not start")
    for seen, host in ((together(well, gone), "b"), (together(gone, well), "a")):
        assert statuses(seen) == {"lb": "DEGRADED", "l1": "ONLINE", "p1": "ONLINE", "m1": "ONLINE"}
        assert reasons(seen) == {"lb": f"device {host}: does not start"}


def test_a_load_balancer_in_error_on_one_device_stays_so_where_haproxy_does_not_run_on_the_other() -> None:
    bad, gone = partition(frontend(), backend(server(up=False))), partition(problem="does not start")
    for seen in (together(bad, gone), together(gone, bad)):
        assert statuses(seen) == {"lb": "ERROR", "l1": "ONLINE", "p1": "ERROR", "m1": "ERROR"}


def test_load_balancers_are_degraded_where_haproxy_does_not_run_as_configured() -> None:
    seen = together(partition(frontend(), backend(server()), problem="local.cfg is broken"))
    assert statuses(seen)["lb"] == "DEGRADED" and reasons(seen) == {"lb": "device a: local.cfg is broken"}


def test_devices_that_hold_different_things_are_not_in_step() -> None:
    more, less = partition(frontend(), backend(server(), server("m2"))), partition(frontend(), backend(server()))
    readings = {"a": reading(more), "b": reading(less, host="b")}
    persistent_absences = find_absences(readings, NAMES)
    assert persistent_absences == {AbsenceOnDevice(device="b", load_balancer_id="lb")}
    seen = merge_readings(readings, (), NAMES, persistent_absences=persistent_absences)
    assert statuses(seen)["lb"] == "DEGRADED"
    assert reasons(seen) == {"lb": "not in step with the other devices: b"}


def test_devices_that_mean_different_things_are_not_in_step_either() -> None:
    readings = {
        "a": reading(partition(frontend(), note=LoadBalancerNote())),
        "b": reading(partition(frontend(), note=LoadBalancerNote(addresses=1))),
    }
    assert {one.device for one in find_absences(readings, NAMES)} == {"a", "b"}


def test_one_that_does_not_run_is_not_out_of_step_and_one_without_the_partition_is() -> None:
    well = reading(partition(frontend()))
    assert not find_absences({"a": well, "b": reading(partition(problem="down"), host="b")}, NAMES)
    assert find_absences({"a": well, "b": reading(host="b")}, NAMES) == {
        AbsenceOnDevice(device="b", load_balancer_id="lb")
    }


def test_being_out_of_step_hides_no_error() -> None:
    readings = {"a": reading(partition(frontend(), backend(server(up=False))))}
    seen = merge_readings(
        readings, (), NAMES, persistent_absences=(AbsenceOnDevice(device="b", load_balancer_id="lb"),)
    )
    assert statuses(seen)["lb"] == "ERROR"
