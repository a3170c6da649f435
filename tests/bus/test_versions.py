"""Neighbouring message versions understand each other: kept by recordings and by a frozen reader of version 1."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenkeel.bus.codec import decode, encode
from evenkeel.controller.former_agents import NEW_WORDS
from evenkeel.core.kit.errors import MessageRejected
from evenkeel.core.protocol import messages as m
from tests.bus.recorded import version_1
from tests.bus.recorded.examples_1 import EXAMPLES
from tests.bus.recorded.filled import choices, filled, same_meaning

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "messages.md"
RECORDED = Path(__file__).parent / "recorded" / "v1"
TYPES: dict[str, Any] = {kind.__struct_config__.tag: kind for kind in m.AnyMessage.__args__}
OLD_TYPES: dict[str, Any] = {kind.__struct_config__.tag: kind for kind in version_1.AnyMessage.__args__}
KNOWN = sorted(TYPES.keys() & OLD_TYPES.keys())


def without_new_words(value: Any) -> Any:
    """``value`` as it may be sent to an agent of version 1."""
    if isinstance(value, tuple):
        return tuple(map(without_new_words, value))
    if not isinstance(value, msgspec.Struct):
        return value
    known = choices(version_1.Services)
    changed = {}
    for name in value.__struct_fields__:
        field = f"{type(value).__name__}.{name}"
        given = getattr(value, name)
        new = isinstance(given, str) and given in NEW_WORDS.get(field, ())
        changed[name] = min(known[field]) if new else without_new_words(given)
    return msgspec.structs.replace(value, **changed)


def test_there_is_a_recording_of_every_type_of_version_1() -> None:
    recorded = {path.stem for path in RECORDED.glob("*.json")}
    assert recorded == set(EXAMPLES)
    assert {name.partition("-")[0] for name in recorded} == set(OLD_TYPES)


def test_no_type_of_version_1_was_taken_away() -> None:
    assert OLD_TYPES.keys() <= TYPES.keys()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_version_1_sent_is_read_with_its_meaning_kept(name: str) -> None:
    raw = (RECORDED / f"{name}.json").read_bytes()
    envelope = decode(raw)
    assert envelope.body == EXAMPLES[name]
    assert envelope.id == f"recorded-{name}"
    assert envelope.reply_to == json.loads(raw)["reply_to"]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_frozen_copy_reads_and_writes_as_version_1_did(name: str) -> None:
    raw = (RECORDED / f"{name}.json").read_bytes()
    assert version_1.encode(version_1.decode(raw)) == raw


@pytest.mark.parametrize("tag", KNOWN)
def test_what_is_sent_today_is_read_by_version_1_with_its_meaning_kept(tag: str) -> None:
    message = without_new_words(filled(TYPES[tag]))
    envelope = version_1.decode(encode(message, message_id="m7", reply_to="r7"))
    assert (envelope.id, envelope.reply_to) == ("m7", "r7")
    assert same_meaning(envelope.body, message)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_defaults_mean_the_same_on_both_sides(name: str) -> None:
    assert same_meaning(version_1.decode(encode(EXAMPLES[name], message_id="m")).body, EXAMPLES[name])


@pytest.mark.parametrize("tag", KNOWN)
def test_no_field_holds_a_word_that_version_1_would_stumble_over(tag: str) -> None:
    today, known = choices(TYPES[tag]), choices(OLD_TYPES[tag])
    new = {field: today[field] - words - NEW_WORDS.get(field, set()) for field, words in known.items()}
    assert not any(new.values()), (
        "one unknown word makes the whole message unreadable: send it only to those who can read it"
    )


@pytest.mark.parametrize("tag", [*sorted(TYPES.keys() - OLD_TYPES.keys()), "of_the_future"])
def test_a_type_that_version_1_does_not_know_is_set_aside_by_it(tag: str) -> None:
    raw = b'{"version":1,"id":"m","reply_to":"","body":{"type":"of_the_future"}}'
    if tag in TYPES:
        raw = encode(filled(TYPES[tag]), message_id="m")
    with pytest.raises(version_1.SetAside, match="unknown type"):
        version_1.decode(raw)
    if tag not in TYPES:
        with pytest.raises(MessageRejected, match="unknown type"):
            decode(raw)


@pytest.mark.parametrize("tag", sorted(TYPES))
def test_the_reference_names_every_type_and_its_fields(tag: str) -> None:
    (row,) = (line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| `{tag}` |"))
    fields = row.split("|")[2]
    for name in TYPES[tag].__struct_fields__:
        assert re.search(rf"\b{name}\b", fields), name
