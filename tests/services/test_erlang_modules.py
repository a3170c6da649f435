"""What a node has loaded is kept once, and loaded at once by those that start later."""

from pathlib import Path

import pytest

from tests.services.erlang_modules import LOADED, boot_module, keep_modules


def test_modules_of_the_first_node_are_loaded_by_later_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, later = tmp_path / "first", tmp_path / "later"
    for home in (first, later):
        home.mkdir()
    evaluated: list[str] = []

    def evaluate(expressions: str) -> str:
        evaluated.append(expressions)
        return "[lists, rabbit]"

    assert boot_module(first) == "rabbit"
    keep_modules(evaluate)
    keep_modules(evaluate)
    assert evaluated == [LOADED]
    assert str(later / "modules") in boot_module(later)
    assert (later / "modules").read_text() == "[lists, rabbit].\n"


def test_nothing_is_kept_where_the_cache_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep_modules(lambda _: "[lists]")
    assert boot_module(tmp_path) == "rabbit"
