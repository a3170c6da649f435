"""The declaration that a device keeps, in a data group as AS3 does: saved, synchronised and wiped with the rest."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec

from icontrol_emulator.config.model import Key
from icontrol_emulator.device import Device

FOLDER = "/Common/appsvcs"
NAME = f"{FOLDER}/____appsvcs_declaration"
_TYPE = "ltm/data-group/internal"
_KEY = Key(_TYPE, "", NAME)
CHUNK_LENGTH = 60_000


def load(device: Device) -> dict[str, Any]:
    """The stored declaration; empty without one."""
    found = device.engine.store.get(_KEY)
    if found is None:
        return {}
    chunks = [record["data"] for record in found.props.get("records", [])]
    document: dict[str, Any] = msgspec.json.decode(zlib.decompress(base64.b64decode("".join(chunks))))
    return document


def save(device: Device, declaration: dict[str, Any]) -> None:
    """Replace the stored declaration."""
    text = base64.b64encode(zlib.compress(msgspec.json.encode(declaration))).decode()
    chunks = [text[start : start + CHUNK_LENGTH] for start in range(0, len(text), CHUNK_LENGTH)]
    records = [{"name": str(number), "data": chunk} for number, chunk in enumerate(chunks)]
    engine = device.engine
    with engine.unit():
        if engine.store.get(Key("sys/folder", "", FOLDER)) is None:
            engine.create("sys/folder", None, {"name": FOLDER})
        if engine.store.get(_KEY) is None:
            engine.create(_TYPE, None, {"name": NAME, "type": "integer", "records": records})
        else:
            engine.modify(_KEY, {"records": records})
