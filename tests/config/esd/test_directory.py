from pathlib import Path

from evenkeel.config.esd.directory import FILES_MAX, read_directory


def test_json_files_are_read_once_per_change(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("not this")
    (tmp_path / ".hidden.json").write_text("nor this")
    first = read_directory(tmp_path, None)
    assert first is not None
    assert first.contents == {"a.json": b"{}"}
    assert read_directory(tmp_path, first.fingerprint) is None
    (tmp_path / "b.json").write_text("[]")
    second = read_directory(tmp_path, first.fingerprint)
    assert second is not None
    assert set(second.contents) == {"a.json", "b.json"}


def test_links_are_followed_and_broken_ones_named(tmp_path: Path) -> None:
    """As mounted configuration maps look."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real").write_text("{}")
    (tmp_path / "a.json").symlink_to(tmp_path / "data" / "real")
    found = read_directory(tmp_path, None)
    assert found is not None
    assert found.contents == {"a.json": b"{}"}
    (tmp_path / "b.json").symlink_to(tmp_path / "nowhere")
    broken = read_directory(tmp_path, found.fingerprint)
    assert broken is not None
    assert broken.contents["a.json"] == b"{}"
    assert broken.contents["b.json"] == "No such file or directory"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    found = read_directory(tmp_path, None)
    assert found is not None
    assert found.contents == {"a.json": "a regular file is allowed"}


def test_a_missing_directory_is_a_problem_told_once(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    found = read_directory(gone, None)
    assert found is not None
    assert found.problem == f"{gone}: No such file or directory"
    assert read_directory(gone, found.fingerprint) is None


def test_files_are_bounded(tmp_path: Path) -> None:
    for number in range(FILES_MAX + 1):
        (tmp_path / f"{number}.json").touch()
    found = read_directory(tmp_path, None)
    assert found is not None
    assert f"{FILES_MAX + 1} files; at most {FILES_MAX} are allowed" in found.problem
