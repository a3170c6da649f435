"""Files of names and hashes, whoever reads them."""

from pathlib import Path

import pytest
import structlog

from evenkeel.core.kit.errors import Invalid
from evenkeel.serving.password_file import (
    FILE_BYTES_MAX,
    WatchedFile,
    is_valid_name,
    parse_lines,
    read_private,
    replace_line,
    write_lines,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_lines(tmp_path / "users", ["# ours", "", "alice:a", " bob:b "])
    return tmp_path / "users"


def names(path: Path) -> dict[str, int]:
    return {line.partition(":")[0]: number for number, line in parse_lines(read_private(path), str)}


@pytest.mark.parametrize(("name", "allowed"), [("a", True), ("host-1.x_y@z", True), ("", False), ("-a", False)])
def test_names_begin_with_a_letter_or_digit(name: str, allowed: bool) -> None:
    assert is_valid_name(name) is allowed and not is_valid_name("x" * 65)


def test_lines_have_their_numbers_and_comments_are_passed_over(path: Path) -> None:
    assert names(path) == {"alice": 3, "bob": 4}


def test_a_bad_line_is_named_by_its_number(path: Path) -> None:
    def refuse(line: str) -> str:
        raise Invalid("bad.")

    with pytest.raises(Invalid, match=r"^line 3: bad\.$"):
        list(parse_lines(read_private(path), refuse))


def test_one_line_is_replaced_and_the_others_stay(path: Path) -> None:
    replace_line(path, "bob", "bob:c")
    replace_line(path, "carol", "carol:d")
    replace_line(path, "alice", None)
    assert path.read_text() == "# ours\n\nbob:c\ncarol:d\n"
    assert path.stat().st_mode & 0o777 == 0o600 and [one.name for one in path.parent.iterdir()] == ["users"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_not_read(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(Invalid, match=f"mode {mode:04o}. Allowed: 0600"):
        read_private(path)


@pytest.mark.parametrize(("raw", "told"), [(b"\xff", "not UTF-8"), (b"#" * (FILE_BYTES_MAX + 1), "larger than")])
def test_file_that_is_no_text_of_bounded_size_is_refused(path: Path, raw: bytes, told: str) -> None:
    path.write_bytes(raw)
    with pytest.raises(Invalid, match=told):
        read_private(path)


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(path: Path) -> None:
    watched = WatchedFile("some.option", path, names)
    assert not watched.refresh()
    replace_line(path, "carol", "carol:d")
    assert watched.refresh() and "carol" in watched.content
    path.write_bytes(b"\xff")
    with structlog.testing.capture_logs() as logs:
        assert not watched.refresh() and not watched.refresh()
        path.unlink()
        assert not watched.refresh() and not watched.refresh()
    assert [entry["reason"] for entry in logs] == ["not UTF-8.", "No such file or directory"]
    assert "carol" in watched.content


def test_a_file_that_cannot_be_used_at_start_is_named_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^some\.option: {tmp_path}/users: No such file"):
        WatchedFile("some.option", tmp_path / "users", names)
