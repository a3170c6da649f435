"""Neighbouring versions understand each other's messages: held against recordings of what 0.1.0 sent and read.

Real processes of both versions are in ``tests/upgrade``.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenkeel.bus.codec import decode, encode
from evenkeel.core.kit.errors import MessageRejected
from tests.bus.recorded.filled import filled
from tests.bus.recorded.types import message_types, structs

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "messages.md"
RECORDED = Path(__file__).parent / "recorded"
MESSAGES: dict[str, Any] = json.loads((RECORDED / "messages.json").read_text())
TYPES: dict[str, dict[str, dict[str, Any]]] = json.loads((RECORDED / "types.json").read_text())
TODAY = message_types()
CHANGED = {"Register": {"names_session"}, "ReportApplied": {"session_id"}, "ReportStatus": {"session_id"}}
"""Fields of 0.1.0 that are another way today.

All its agents name their session in reports, so that ``session_id`` is required now. ``names_session`` stated that, and
is not sent any more: controllers of 0.1.0 would then also take reports without a session, which nobody sends.
"""
UNSENT = {"report_applied-plain", "report_status-plain"}
"""Recorded messages that no agent of 0.1.0 sends: reports without a session."""


def test_every_recorded_type_is_still_there() -> None:
    assert {name.removesuffix("-plain") for name in MESSAGES} <= TODAY.keys()


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() - UNSENT))
def test_a_recorded_message_is_read_with_its_meaning_kept(name: str) -> None:
    envelope = decode(json.dumps(MESSAGES[name]).encode())
    again = json.loads(encode(envelope.body, message_id=envelope.id, reply_to=envelope.reply_to))
    dropped = CHANGED.get(type(envelope.body).__name__, set()) - set(envelope.body.__struct_fields__)
    body = {field: value for field, value in MESSAGES[name]["body"].items() if field not in dropped}
    assert again == {**MESSAGES[name], "body": body}


@pytest.mark.parametrize("name", sorted(UNSENT))
def test_a_report_without_a_session_is_rejected(name: str) -> None:
    with pytest.raises(MessageRejected):
        decode(json.dumps(MESSAGES[name]).encode())


@pytest.mark.parametrize("name", sorted(TYPES))
def test_recorded_structs_are_unchanged_but_for_new_fields(name: str) -> None:
    """Readers of 0.1.0 ignore new fields; a missing field, another type, default or word would mislead or stop them."""
    today = structs().get(name, {})
    kept = {field: how for field, how in TYPES[name].items() if field not in CHANGED.get(name, ())}
    assert {field: today.get(field) for field in kept} == kept


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_field_that_recorded_writers_do_not_send_has_a_default(name: str) -> None:
    new = {field: how for field, how in structs().get(name, {}).items() if field not in TYPES[name]}
    assert [field for field, how in new.items() if "default" not in how] == []


def test_a_message_of_an_unknown_type_is_rejected() -> None:
    raw = b'{"version":1,"id":"m","reply_to":"","body":{"type":"of_the_future"}}'
    with pytest.raises(MessageRejected, match="unknown type"):
        decode(raw)


def test_unknown_fields_are_ignored() -> None:
    for tag, kind in TODAY.items():
        raw = json.loads(encode(filled(kind), message_id="m"))
        raw["body"]["of_the_future"] = {"a": 1}
        assert decode(json.dumps(raw).encode()).body == filled(kind), tag


@pytest.mark.parametrize("tag", sorted(TODAY))
def test_the_reference_names_every_type_and_its_fields(tag: str) -> None:
    (row,) = (line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| `{tag}` |"))
    fields = row.split("|")[2]
    for name in TODAY[tag].__struct_fields__:
        assert re.search(rf"\b{name}\b", fields), name
