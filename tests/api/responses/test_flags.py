"""Booleans as texts in bodies."""

import msgspec
import pytest

from evenkeel.api.neutron.bodies import NeutronReader
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.fields import Flag


class Part(msgspec.Struct, forbid_unknown_fields=True):
    invert: Flag | None = None
    name: str = ""


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    admin_state_up: Flag = True
    name: str = ""
    parts: list[Part] = []


class Body(msgspec.Struct, forbid_unknown_fields=True):
    whole: Whole


READER: NeutronReader[Body] = NeutronReader(Body)


def read(**fields: object) -> Whole:
    return READER.decode_body(msgspec.json.encode({"whole": fields})).whole


@pytest.mark.parametrize("word", ["yes", "Y", "on", "t", "True", "1", 1, True])
def test_words_for_true(word: object) -> None:
    assert read(admin_state_up=word).admin_state_up is True


@pytest.mark.parametrize("word", ["no", "N", "OFF", "f", "false", "0", 0, False])
def test_words_for_false(word: object) -> None:
    assert read(admin_state_up=word).admin_state_up is False


def test_nested_ones_are_read_and_texts_stay() -> None:
    found = read(admin_state_up="no", name="yes", parts=[{"invert": "on", "name": "off"}])
    assert found == Whole(admin_state_up=False, name="yes", parts=[Part(invert=True, name="off")])


@pytest.mark.parametrize("word", ["maybe", "", "yess", 2, [], {"a": "yes"}])
def test_others_are_refused(word: object) -> None:
    with pytest.raises(NeutronRefusal):
        read(admin_state_up=word)


def test_a_word_does_not_hide_what_else_is_wrong() -> None:
    with pytest.raises(NeutronRefusal, match=r"Unrecognized attribute"):
        read(admin_state_up="yes", colour="red")
