"""/stats of virtual servers, addresses, pools, members, nodes, iRules and policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.render import HOST, item_uri
from icontrol_emulator.dataplane.plane import DataPlane
from icontrol_emulator.device import Device
from icontrol_emulator.rest.config_api import find
from icontrol_emulator.rest.message import Call
from icontrol_emulator.rest.route import Route, resolve
from icontrol_emulator.stats import entries, persist_records, scripts, system


class StatsDocuments:
    def __init__(self, planes: Mapping[str, DataPlane]) -> None:
        self._planes = planes

    def document(self, device: Device, call: Call, segments: list[str]) -> dict[str, Any] | None:
        """The response to a path ending in `stats`, and to the device's own statistics; None if its type has none."""
        path = "/".join(segments).removesuffix("/stats")
        if path == system.PATH:
            return self._traffic(device)
        if path == persist_records.PATH:
            return persist_records.records_document(device, self._planes[device.name].records.records())
        route = resolve(device.engine.registry, segments)
        if route is None or route.spec.path not in {*entries.BUILDERS, *scripts.SEVERAL}:
            return None
        objects = self._objects(device, route, call)
        scope = "stats" if route.key is not None else "collectionstats"
        shown: dict[str, Any] = {"kind": f"{route.spec.kind}{scope}"}
        if route.key is not None:
            shown["generation"] = objects[0].generation
        uri = "/".join(call.path.strip("/").split("/")[2:])
        shown["selfLink"] = device.renderer.link(uri, call.query.extra)
        plane = self._planes[device.name]
        shown["entries"] = dict(entry for obj in objects for entry in self._entries(plane, device, obj))
        return shown

    def _traffic(self, device: Device) -> dict[str, Any]:
        entries = system.traffic_entries(self._planes[device.name].counters)
        return {
            "kind": "tm:sys:traffic:trafficstats",
            "selfLink": device.renderer.link(system.PATH),
            "entries": entries,
        }

    def _objects(self, device: Device, route: Route, call: Call) -> list[Obj]:
        if route.key is not None:
            return [find(device, route.key)]
        if route.parent is not None:
            find(device, route.parent)
            return device.engine.store.children(route.spec.path, route.parent.as_parent)
        return device.engine.store.top(route.spec.path, call.query.partition)

    def _entries(self, plane: DataPlane, device: Device, obj: Obj) -> Iterator[tuple[str, dict[str, Any]]]:
        view = entries.View(plane, device.engine)
        if obj.key.type in scripts.SEVERAL:
            found = scripts.SEVERAL[obj.key.type](view, obj)
        else:
            found = iter([(f"{HOST}/{item_uri(obj.key)}/stats", entries.BUILDERS[obj.key.type](view, obj))])
        for link, values in found:
            shown = {
                "kind": f"{device.engine.spec(obj.key.type).kind}stats",
                "selfLink": f"{link}?ver={device.renderer.version}",
                "entries": values,
            }
            yield link, {"nestedStats": shown}
