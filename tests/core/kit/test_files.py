import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.core.kit.files import make_sqlite_file_private


@pytest.fixture(autouse=True)
def everybody_may_read_new_files() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_file_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "new" / "x.db"
    assert make_sqlite_file_private(str(file)) == ()
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)


def test_file_open_to_others_is_closed_and_reported(tmp_path: Path) -> None:
    file, beside = tmp_path / "x.db", tmp_path / "x.db-wal"
    file.write_bytes(b"")
    beside.write_bytes(b"")
    assert make_sqlite_file_private(str(file)) == (str(file), str(beside))
    assert (mode(file), mode(beside)) == (0o600, 0o600)
    assert make_sqlite_file_private(str(file)) == ()


def test_a_mode_that_is_narrower_stays(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.touch(mode=0o400)
    assert make_sqlite_file_private(str(file)) == ()
    assert mode(file) == 0o400
