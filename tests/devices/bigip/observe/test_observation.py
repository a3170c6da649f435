"""Statuses and statistics of what a device says."""

from typing import Any

from evenkeel.core.devices.device import DeviceState
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.observe.observation import BigIpReading, listener_statistics, operating_statuses
from evenkeel.devices.bigip.observe.result_cache import ResultCache
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, service, vip

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)


def reading(*changes: dict[str, Any], counts: tuple[int, ...] = ()) -> BigIpReading:
    """What a device says that holds a load balancer of two VIPs. ``changes``: of its virtual servers, in order."""
    wanted = service(additional_vips=(vip(7),), listeners=(listener(connection_limit=5),), pools=())
    items: dict[str, list[dict[str, Any]]] = {}
    for item in render_load_balancer(wanted, NAMES).objects:
        path = f"/dev_a3f1c2/{item.key.name}"
        items.setdefault(item.key.type, []).append({**item.attributes, "fullPath": path})
    virtuals = items["ltm/virtual"]
    for virtual, change in zip(virtuals, changes, strict=False):
        virtual |= change
    return BigIpReading(
        addresses=tuple(items["ltm/virtual-address"]),
        virtuals=tuple(virtuals),
        pools=(),
        state=DeviceState(name="a", reachable=True),
        result_cache=ResultCache(),
        statistics={f"entry-{place}": entry(virtuals[place]["fullPath"], count) for place, count in enumerate(counts)},
    )


def entry(path: str, count: int) -> dict[str, Any]:
    values = {name: {"value": count} for name in ("clientside.curConns", "clientside.totConns")}
    return {"nestedStats": {"entries": {"tmName": {"description": path}, **values}}}


def found(one: BigIpReading) -> dict[tuple[str, str], OperatingStatus]:
    seen = operating_statuses(one, NAMES)
    assert len({(status.kind, status.id) for status in seen}) == len(seen)
    return {(status.kind, status.id): status.status for status in seen}


def test_virtual_servers_of_a_listener_have_one_status() -> None:
    down = {"disabled": True}
    for changes, counts, expected in (
        ((), (0, 0), OperatingStatus.ONLINE),
        ((down, down), (0, 0), OperatingStatus.OFFLINE),
        (({}, down), (0, 0), OperatingStatus.DEGRADED),
        ((), (0, 5), OperatingStatus.DEGRADED),
    ):
        seen = found(reading(*changes, counts=counts))
        assert set(seen) == {("listener", "listener-1"), ("loadbalancer", "lb-1")}
        assert seen["listener", "listener-1"] is expected


def test_connections_are_summed_over_the_addresses() -> None:
    (only,) = listener_statistics(reading(counts=(2, 3)), NAMES).items()
    assert (only[0], only[1].active_connections, only[1].total_connections) == ("listener-1", 5, 5)
    assert listener_statistics(reading(), NAMES) == {}
