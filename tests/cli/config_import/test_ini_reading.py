"""Ini files are read as oslo.config reads them."""

from pathlib import Path

import pytest
from oslo_config import cfg

from evenkeel.cli.config_import.ini_reading import InvalidIniFile, decode_ini, merge_ini_files, read_ini

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
    with pytest.raises(InvalidIniFile, match=r"^line 2: ") as refusal:
        read_ini("[a]\nthe secret word\n")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("encoding", ["latin-1", "gbk", "shift_jis", "utf-8"])
def test_comments_may_be_in_any_encoding(encoding: str) -> None:
    comments = {"latin-1": "Größe … ".replace("…", "\x85"), "gbk": "中文注释\u3000匢", "shift_jis": "表示ソ"}
    comment = comments.get(encoding, "…\u2028\x85é")
    text = f"# {comment}\n[a]\n; {comment}\nx = 1\n  # {comment}\n   2\n"
    assert read_ini(decode_ini(text.encode(encoding))) == {"a": {"x": ["1\n2"]}}


def test_option_in_another_encoding_is_refused_by_its_line() -> None:
    with pytest.raises(InvalidIniFile, match=r"^line 3: is not text in UTF-8; .* save the file as UTF-8$"):
        decode_ini("# ä\n[a]\npassword = ä\n".encode("latin-1"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_with_a_byte_order_mark_are_read(encoding: str) -> None:
    assert read_ini(decode_ini("[a]\r\nx = ä\r\n".encode(encoding))) == {"a": {"x": ["ä"]}}


def test_line_ends_are_those_of_oslo_config(tmp_path: Path) -> None:
    content = "[a]\nx = one\u2028two\x85three\x0cfour\r\ny = 1\n"
    file = tmp_path / "x.ini"
    file.write_text(content, newline="")
    theirs: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(file), theirs).parse()
    assert read_ini(decode_ini(content.encode())) == theirs
