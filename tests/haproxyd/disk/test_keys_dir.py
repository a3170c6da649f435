"""Where keys lie: in memory, in a folder that is the daemon's alone."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.haproxyd.disk import keys_dir
from evenkeel.haproxyd.disk.keys_dir import SHARED_MEMORY_DIR, create_keys_dir, find_keys_dir, is_in_memory
from evenkeel.haproxyd.settings import DaemonSettings

pytestmark = pytest.mark.skipif(not is_in_memory(SHARED_MEMORY_DIR), reason="no memory file system")


@pytest.fixture
def memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY_DIR) as folder:
        yield Path(folder)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    if is_in_memory(tmp_path):
        pytest.skip("temporary files are in memory here")
    return tmp_path


def test_memory_is_distinguished_from_disks_also_where_nothing_is_yet(memory: Path, disk: Path) -> None:
    assert is_in_memory(memory) and is_in_memory(memory / "not" / "there")
    assert not is_in_memory(disk) and not is_in_memory(disk / "not" / "there")
    (disk / "link").symlink_to(memory)
    assert is_in_memory(disk / "link")


def test_directory_of_unknown_file_system_counts_as_on_disk(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_dir, "_MOUNTS_FILE", memory / "none")
    assert not is_in_memory(memory)


def test_the_folder_is_where_it_is_configured_else_in_memory_else_with_the_rest(
    memory: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def base(**settings: Path) -> Path:
        return find_keys_dir(DaemonSettings(name="h", state_dir=disk / "state", **settings)).parent

    assert base(run_dir=memory / "run", keys_dir=disk / "keys") == disk / "keys"
    assert base(run_dir=memory / "run") == memory / "run"
    assert base(run_dir=disk / "run") == SHARED_MEMORY_DIR
    monkeypatch.setattr(keys_dir, "SHARED_MEMORY_DIR", disk)
    assert base(run_dir=disk / "run") == disk / "state"


def test_two_daemons_have_two_folders_and_one_has_the_same_again(memory: Path) -> None:
    def of(name: str) -> Path:
        return find_keys_dir(DaemonSettings(name="h", state_dir=memory / name, run_dir=memory))

    assert of("one") == of("one") != of("two")


def test_keys_directory_is_accessible_to_its_user_only(memory: Path) -> None:
    folder = memory / "a" / "keys"
    create_keys_dir(folder)
    folder.chmod(0o755)
    create_keys_dir(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("made", ["link", "file", "other user"])
def test_one_that_somebody_else_made_is_refused(made: str, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = memory / "keys"
    if made == "link":
        (memory / "elsewhere").mkdir()
        folder.symlink_to(memory / "elsewhere")
    elif made == "other user":
        folder.mkdir()
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    if made == "file":
        folder.touch()
        with pytest.raises(FileExistsError):
            create_keys_dir(folder)
    else:
        with pytest.raises(ValueError, match=r"keys_dir: .* is not a folder of the daemon's user"):
            create_keys_dir(folder)
