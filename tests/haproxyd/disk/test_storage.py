import os

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import StorageBroken, write_file
from evenkeel.haproxyd.disk.storage import GuardFile, PartitionStorage, RunningFile

LB = wire.LoadBalancerConfig(
    id="lb:1", revision=3, files=(wire.File(name="c.pem", kind="certificate", content="secret"),)
)


@pytest.fixture
def storage(tmp_path):
    made = PartitionStorage(tmp_path / "p", tmp_path / "keys" / "p")
    made.prepare()
    return made


def test_written_guard_is_read_back(storage):
    assert storage.read_guard() is None
    guard = GuardFile(epoch=7, peers=(wire.HaproxyPeer(name="x", address="10.0.0.1", port=1),))
    storage.write_guard(guard)
    assert storage.read_guard() == guard


def test_files_are_accessible_to_their_user_only(storage):
    storage.change_log.append([LB], [])
    write_file(storage.directory / "held.json", b"{}", sync=True)
    storage.write_files(storage.files_dir, {"c.pem": "secret"}, {})
    storage.write_peer_key("secret")
    storage.make_check_dir()
    paths = [path for folder in (storage.directory, storage.keys_dir) for path in (folder, *folder.rglob("*"))]
    assert len(paths) > 13
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)


def test_a_file_is_on_disk_before_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append("sync"))
    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: steps.append("rename"))
    write_file(tmp_path / "guard.json", b"{}", sync=True)
    assert steps == ["sync", "rename", "sync"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path, monkeypatch):
    write_file(tmp_path / "guard.json", b"old", sync=True)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_file(tmp_path / "guard.json", b"new", sync=True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_guard_that_cannot_be_read_is_no_missing_guard(storage):
    (storage.directory / "guard.json").write_text("{")
    with pytest.raises(StorageBroken, match=r"guard\.json of partition p cannot be read"):
        storage.read_guard()


def test_nothing_is_known_of_the_process_if_that_cannot_be_read(storage):
    (storage.directory / "running.json").write_text("{")
    assert storage.read_running() == RunningFile()


def test_an_overlong_log_begins_again_and_what_it_was_is_kept(storage, monkeypatch):
    storage.trim_log()
    storage.log.write_text("words\n")
    storage.trim_log()
    assert storage.log.read_text() == "words\n"
    monkeypatch.setattr("evenkeel.haproxyd.disk.storage.LOG_BYTES_MAX", 3)
    storage.trim_log()
    assert (storage.log.read_text(), storage.old_log.read_text()) == ("", "words\n")
