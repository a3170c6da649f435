"""ltm/persistence/persist-records: the device's persistence records, as the text of its command line.

The frame was recorded from 14.1.2.1 (CiscoTestAutomation/genieparser); the form of a line is from memory: mode, value,
virtual server, member, and the processor that has the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.names import split_path
from icontrol_emulator.config.rules.virtual import destination
from icontrol_emulator.dataplane.persist import Record
from icontrol_emulator.device import Device

PATH = "ltm/persistence/persist-records"
RECORDS_SHOWN_MAX = 10_000
MODES = {"source-addr": "source-address", "dest-addr": "destination-address", "cookie": "cookie-hash"}
"""Types of profiles whose records have another name."""


def records_document(device: Device, records: Iterable[Record]) -> dict[str, Any]:
    lines = [_line(device.engine, record) for record, _ in zip(records, range(RECORDS_SHOWN_MAX), strict=False)]
    text = "\n".join(["Sys::Persistent Connections", *lines, f"Total records returned: {len(lines)}", ""])
    return {
        "kind": "tm:ltm:persistence:persist-records:persist-recordsstats",
        "selfLink": device.renderer.link(PATH),
        "apiRawValues": {"apiAnonymous": text},
    }


def _line(engine: Engine, record: Record) -> str:
    virtual = engine.store.get(Key("ltm/virtual", "", record.virtual))
    place = destination(virtual) if virtual is not None else None
    end = f"{split_path(place.host).name}:{place.port}" if place is not None else "any:any"
    member = split_path(record.member.path).name
    return f"{MODES.get(record.mode, record.mode)}  {record.value}  {end}  {member}  (tmm: 0)"
