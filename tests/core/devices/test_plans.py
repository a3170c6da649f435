"""What operators are shown of plans: bounded, and without secrets."""

import msgspec
import pytest

from evenkeel.core.devices.plans import (
    HIDDEN_TEXT,
    PLAN_BYTES_MAX,
    TEXT_CHARACTERS_MAX,
    AttributeChange,
    DevicePlan,
    PlannedOperation,
    attribute_changes,
    truncate_plans,
    value_text,
)

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIE"


@pytest.mark.parametrize(
    ("name", "value"),
    [("passphrase", "word"), ("cookieEncryptionPassphrase", "word"), ("apiAnonymous", KEY), ("lines", [KEY])],
)
def test_secrets_are_not_shown(name: str, value: object) -> None:
    assert value_text(name, value) == HIDDEN_TEXT


def test_values_are_texts_of_limited_length() -> None:
    assert [value_text("x", value) for value in (None, 5, True, "a", ["a"])] == ["", "5", "true", "a", '["a"]']
    assert len(value_text("x", "y" * 1000)) == TEXT_CHARACTERS_MAX


def test_changes_name_what_is_and_what_would_be() -> None:
    assert attribute_changes({"b": 2, "a": 1}, {"b": 3, "c": 4}) == (
        AttributeChange(name="a", present="", wanted="1"),
        AttributeChange(name="b", present="3", wanted="2"),
    )


def test_plans_of_many_operations_are_cut_at_their_end_and_report_it() -> None:
    attributes = attribute_changes({f"a{number}": "é" * 200 for number in range(10)}, {})
    many = tuple(
        PlannedOperation(verb="create", type="ltm/pool", name=f"pool-{number}", attributes=attributes)
        for number in range(100)
    )
    few = DevicePlan(device="b", operations=many[:1])
    cut, whole = truncate_plans([DevicePlan(device="a", operations=many), few])
    assert whole == few
    assert 0 < len(cut.operations) < 100 and len(cut.operations) + cut.more == 100
    assert cut.operations == many[: len(cut.operations)]
    assert len(msgspec.json.encode([cut, whole])) <= PLAN_BYTES_MAX
    assert truncate_plans([]) == ()
