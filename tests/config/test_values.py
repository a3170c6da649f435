import math
from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.config.values import allowed_values, checked_values, type_words

DECLARED = [
    cfg.StrOpt("name"),
    cfg.StrOpt("kind", default="plain", choices=["plain", "odd"]),
    cfg.IntOpt("count", default=3, min=1, max=9),
    cfg.FloatOpt("delay", default=0.5, min=0.0),
    cfg.BoolOpt("loud", default=False),
    cfg.ListOpt("hosts", default=[]),
    cfg.StrOpt("login_password", default="", secret=True),
    cfg.StrOpt("login_password_file"),
    cfg.IntOpt("pin", default=1, max=9, secret=True),
]
DEFAULTS = {
    "name": None,
    "kind": "plain",
    "count": 3,
    "delay": 0.5,
    "loud": False,
    "hosts": [],
    "login_password": "",
    "pin": 1,
}


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "odd", "count": "4", "delay": " 2 ", "loud": "yes", "hosts": "a, b,", "name": "n"},
        {"kind": "odd", "count": 4, "delay": 2.0, "loud": True, "hosts": ["a", "b"], "name": "n"},
    ],
)
def test_values_come_as_text_or_in_their_types(given: dict[str, object]) -> None:
    wanted = {"kind": "odd", "count": 4, "delay": 2.0, "loud": True, "hosts": ["a", "b"], "name": "n"}
    assert checked_values(DECLARED, given) == {**DEFAULTS, **wanted}


def test_missing_value_is_the_default() -> None:
    assert checked_values(DECLARED, {}) == DEFAULTS
    assert checked_values(DECLARED, {"name": None}) == DEFAULTS


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "even"}, r"^kind: 'even': allowed are plain, odd$"),
        ({"count": "0"}, r"^count: '0': an integer \(1 to 9\) is allowed$"),
        ({"count": ""}, r"^count: '': an integer \(1 to 9\) is allowed$"),
        ({"count": None}, r"^count: None: an integer"),
        ({"delay": "soon"}, r"^delay: 'soon': a number \(0 or more\) is allowed$"),
        ({"delay": math.nan}, r"^delay: nan: a number"),
        ({"loud": "maybe"}, r"^loud: 'maybe': allowed are true, false$"),
        ({"loud": 7}, r"^loud: 7: allowed are"),
        ({"hosts": 7}, r"^hosts: 7: a list value is allowed$"),
        ({"colour": "blue"}, r"^colour: no such option; there are name, kind,"),
    ],
)
def test_a_wrong_value_is_reported_with_what_is_allowed(given: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        checked_values(DECLARED, given)


def test_a_secret_is_never_told() -> None:
    with pytest.raises(ValueError, match=r"^pin: its value: an integer") as refusal:
        checked_values(DECLARED, {"pin": "12345"})
    assert "12345" not in str(refusal.value)


def test_a_password_file_stands_for_the_password(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from the file\nsecond line\n")
    given = {"login_password": "given", "login_password_file": str(file)}
    assert checked_values(DECLARED, given)["login_password"] == "from the file"
    for unusable in (b"", b"\xff\xfe"):
        file.write_bytes(unusable)
        with pytest.raises(ValueError, match=f"^login_password_file: {file}: unreadable$"):
            checked_values(DECLARED, given)


def test_allowed_values_are_described() -> None:
    assert [allowed_values(option) for option in DECLARED] == [
        "",
        "plain, odd",
        "1 to 9",
        "0 or more",
        "true, false",
        "",
        "",
        "",
        "9 or less",
    ]


def test_options_have_types() -> None:
    assert [type_words(option) for option in DECLARED] == [
        "string", "string", "integer", "number", "boolean", "list", "string", "string", "integer",
    ]  # fmt: skip
