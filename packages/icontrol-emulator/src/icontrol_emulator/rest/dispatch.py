"""Maps each request to its handler, in one declared table.

Synchronous throughout: a request sees one state of the device. The caller has authenticated the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from icontrol_emulator import errors
from icontrol_emulator.cluster import Cluster
from icontrol_emulator.config.names import to_segment
from icontrol_emulator.device import Device
from icontrol_emulator.rest import archives, config_api, shared, system_commands, system_reads, transaction_api
from icontrol_emulator.rest.extensions import Extension
from icontrol_emulator.rest.message import WRITES, Call, Reply
from icontrol_emulator.rest.route import resolve

OLDEST_VERSION = (11, 6)
"""Oldest version of the API (`ver`) that is answered."""
UNPROVISIONED = {"vcmp": "vcmp", "gtm": "gtm", "security": "afm", "asm": "asm", "apm": "apm", "pem": "pem"}
MEASURED = frozenset({"sys/traffic", "sys/tmm-traffic", "ltm/persistence/persist-records"})
"""Paths without configuration: what is there is measured."""
_TAG = re.compile(r"</?(?!null>)[A-Za-z][A-Za-z0-9]*(\s[^<>]*)?/?>")
"""Text that a device takes for HTML in a request. Its own rule is not recorded, only that it refuses such text, and
that its factory settings, with `Customer Name <admin@customer.com>`, can be written back (F5's own functional tests
do so).
"""
PROVIDERS = ["cm", "system", "authn", "providers", "tmos"]
"""Path of the providers of logins."""
StatsSource = Callable[[Device, Call, list[str]], dict[str, Any] | None]


class Dispatcher:
    def __init__(self, cluster: Cluster, stats: StatsSource, extensions: Sequence[Extension] = ()) -> None:
        self._cluster = cluster
        self._stats = stats
        self._extensions = extensions

    def extension_of(self, path: str) -> Extension | None:
        """The extension that answers requests to a path."""
        return next((each for each in self._extensions if f"{path}/".startswith(f"/mgmt/{each.path}/")), None)

    def answer(self, device: Device, call: Call) -> Reply:
        extension = self.extension_of(call.path)
        if extension is not None:
            return extension.answer(device, call)
        segments = call.segments
        if segments[:1] == ["shared"]:
            return shared.handle(device, call)
        if segments[: len(PROVIDERS)] == PROVIDERS and call.method == "GET":
            return shared.login_providers(device, segments[len(PROVIDERS) :])
        if segments[:1] != ["tm"]:
            raise errors.uri_not_registered(call.path.removeprefix("/mgmt"))
        if call.query.version and call.query.version < OLDEST_VERSION:
            raise errors.version_not_supported(call.query.version)
        if _has_tag("/".join(segments)) or _has_tag(msgspec.json.encode(call.body).decode()):
            raise errors.tag_like()
        if segments[1:2] == ["transaction"]:
            return transaction_api.handle(device, call)
        if call.method in WRITES and call.transaction_id:
            return transaction_api.enqueue(device, call)
        return self._configuration(device, call, segments[1:])

    def _configuration(self, device: Device, call: Call, segments: list[str]) -> Reply:
        path = "/".join(segments)
        if segments[:1] == ["task"]:
            return system_commands.task(device, self._cluster, call)
        if call.method == "POST" and path in system_commands.COMMANDS:
            return system_commands.run(device, self._cluster, path, call)
        if call.method in WRITES:
            _refuse_unprovisioned(device, segments)
            return config_api.write(device, call)
        return self._read(device, call, segments, path)

    def _read(self, device: Device, call: Call, segments: list[str], path: str) -> Reply:
        source = system_reads.READS.get(path) or system_reads.READS.get(path.removesuffix("/stats"))
        if source is not None:
            entries = source(device, self._cluster)
            return Reply(document=system_reads.stats_document(device, path.removesuffix("/stats"), entries))
        if path == archives.PATH:
            return Reply(document=archives.listing(device))
        if segments[:2] == ["cm", "traffic-group"] and segments[3:] == ["stats"]:
            entries = system_reads.traffic_group_stats(device, self._cluster)
            one = {link: entry for link, entry in entries.items() if f"/{to_segment(segments[2])}:" in link}
            return Reply(document=system_reads.stats_document(device, "cm/traffic-group", one))
        if segments[-1:] == ["stats"] or path in MEASURED:
            document = self._stats(device, call, segments)
            if document is not None:
                return Reply(document=document)
        if segments[-1:] == ["available"]:
            return Reply(document={})
        _refuse_unprovisioned(device, segments)
        route = resolve(device.engine.registry, segments)
        if route is not None:
            reply = config_api.read(device, call, route)
            if route.spec.path == "cm/device":
                for item in reply.document.get("items", [reply.document]):
                    if "name" in item:
                        system_reads.show_device(item, device, self._cluster)
            return reply
        names = device.engine.registry.organised(path)
        if names is None and path not in system_commands.COMMANDS:
            raise errors.uri_not_registered(call.path.removeprefix("/mgmt"))
        return Reply(document=system_reads.organising_document(device, path, names or [], call.query.extra))


def _has_tag(text: str) -> bool:
    return _TAG.search(text) is not None


def _refuse_unprovisioned(device: Device, segments: list[str]) -> None:
    module = UNPROVISIONED.get(segments[0]) if segments else None
    if module is not None and not device.provisioned(module):
        raise errors.not_provisioned(segments[0], module)
