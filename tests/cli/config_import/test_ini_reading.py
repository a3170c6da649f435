"""Ini files are read as oslo.config reads them."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cli.config_import.ini_reading import BadIni, merge_ini_files, read_ini

TEXT = """
# a comment
[DEFAULT]
plain = value
quoted = 'with spaces '
colon: value = 5
empty =
multi = one
multi = two
long = a,
    b,
  # no comment
    c
[other]
plain = $plain %(x)s
"""


def test_values_are_those_of_oslo_config(tmp_path: Path) -> None:
    file = tmp_path / "x.ini"
    file.write_text(TEXT)
    theirs: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(file), theirs).parse()
    ours = read_ini(TEXT)
    assert ours["DEFAULT"]["multi"] == theirs["DEFAULT"]["multi"] == ["one", "two"]
    for name in ("plain", "quoted", "colon", "empty"):
        assert ours["DEFAULT"][name][0].strip() == theirs["DEFAULT"][name][0].strip(), name
    assert ours["other"] == {"plain": ["$plain %(x)s"]}
    assert ours["DEFAULT"]["long"] == ["a,\nb,\nc"]


def test_the_last_file_wins_option_by_option() -> None:
    assert merge_ini_files([read_ini("[a]\nx = 1\ny = 2\n"), read_ini("[a]\ny = 3\ny = 4\n")]) == {
        "a": {"x": ["1"], "y": ["3", "4"]}
    }


def test_a_line_that_is_nothing_is_named_by_its_number_only() -> None:
    with pytest.raises(BadIni, match=r"^line 2: ") as refusal:
        read_ini("[a]\nthe secret word\n")
    assert "secret" not in str(refusal.value)
