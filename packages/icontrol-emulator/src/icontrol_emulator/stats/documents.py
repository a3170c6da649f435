"""/stats of every type: a collection, or one object. Types without statistics have a document without entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.render import HOST, item_uri
from icontrol_emulator.dataplane.plane import DataPlane
from icontrol_emulator.device import Device
from icontrol_emulator.rest.config_api import find
from icontrol_emulator.rest.message import Call
from icontrol_emulator.rest.resources import PROCESSORS
from icontrol_emulator.rest.route import Route, resolve
from icontrol_emulator.stats import entries, objects, persist_records, scripts, system

COMMANDED = frozenset({"cm/traffic-group"})  # answered beside the device's other states


class StatsDocuments:
    def __init__(self, planes: Mapping[str, DataPlane]) -> None:
        self._planes = planes

    def document(self, device: Device, call: Call, segments: list[str]) -> dict[str, Any] | None:
        """The response to a path ending in `stats`, and to the device's own totals; None if there is no such type."""
        path = "/".join(segments).removesuffix("/stats")
        if path in (system.PATH, system.BY_TMM):
            return self._traffic(device, path)
        if path == persist_records.PATH:
            return persist_records.records_document(device, self._planes[device.name].records.records())
        route = resolve(device.engine.registry, segments)
        if route is None or route.spec.path in COMMANDED:
            return None
        chosen = self._objects(device, route, call)
        scope = "stats" if route.key is not None else "collectionstats"
        shown: dict[str, Any] = {"kind": f"{route.spec.kind}{scope}"}
        if route.key is not None:
            shown["generation"] = chosen[0].generation
        uri = "/".join(call.path.strip("/").split("/")[2:])
        shown["selfLink"] = device.renderer.link(uri, call.query.extra)
        found = dict(pair for obj in chosen for pair in self._entries(device, obj))
        return {**shown, "entries": found} if found else shown

    def _traffic(self, device: Device, path: str) -> dict[str, Any]:
        counters = self._planes[device.name].counters
        by_tmm = path == system.BY_TMM
        found = system.tmm_entries(counters, PROCESSORS) if by_tmm else system.traffic_entries(counters)
        kind = f"tm:{path.replace('/', ':')}:{path.partition('/')[2]}stats"
        return {"kind": kind, "selfLink": device.renderer.link(path), "entries": found}

    def _objects(self, device: Device, route: Route, call: Call) -> list[Obj]:
        if route.key is not None:
            return [find(device, route.key)]
        if route.parent is not None:
            find(device, route.parent)
            return device.engine.store.children(route.spec.path, route.parent.as_parent)
        return device.engine.store.top(route.spec.path, call.query.partition)

    def _entries(self, device: Device, obj: Obj) -> Iterator[tuple[str, dict[str, Any]]]:
        view = entries.View(self._planes[device.name], device.engine)
        spec = device.engine.spec(obj.key.type)
        several = scripts.SEVERAL.get(obj.key.type)
        if several is not None:
            for link, values in several(view, obj):
                yield self._nested(device, obj, link, values)
            return
        builder = entries.BUILDERS.get(spec.path) or objects.BUILDERS.get(spec.path)
        if builder is None and spec.name_space == "profile":
            builder = objects.profile_entries
        if builder is not None:
            yield self._nested(device, obj, f"{HOST}/{item_uri(obj.key)}/stats", builder(view, obj))

    def _nested(self, device: Device, obj: Obj, link: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        shown = {
            "kind": f"{device.engine.spec(obj.key.type).kind}stats",
            "selfLink": f"{link}?ver={device.renderer.version}",
            "entries": values,
        }
        return link, {"nestedStats": shown}
