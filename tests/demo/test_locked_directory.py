"""One demo a directory."""

from pathlib import Path

import pytest

from evenkeel.demo.locked_directory import DirectoryInUse, locked_directory


def test_the_directory_is_emptied_at_every_start(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    with locked_directory(home):
        (home / "logs").mkdir()
        (home / "logs" / "old").touch()
        (home / "file").touch()
    assert (home / "file").exists()
    with locked_directory(home):
        assert [item.name for item in home.iterdir()] == ["lock"]


def test_a_second_demo_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    with locked_directory(home), pytest.raises(DirectoryInUse, match="another demo is running"), locked_directory(home):
        pass


def test_foreign_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(DirectoryInUse, match="not made by the demo"), locked_directory(tmp_path):
        pass
    assert (tmp_path / "thesis.txt").exists()
