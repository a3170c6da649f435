import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk import change_log
from evenkeel.haproxyd.disk.certificate_contents import CertificateContents
from evenkeel.haproxyd.disk.change_log import ChangeLog
from evenkeel.haproxyd.disk.files import StorageBroken


def lb(number, revision=1):
    file = wire.File(name="c.pem", kind="certificate", content="secret")
    return wire.LoadBalancerConfig(id=f"lb-{number}", revision=revision, files=(file,))


def change_log_in(folder):
    contents = CertificateContents(folder / "keys")
    contents.folder.mkdir(exist_ok=True)
    return ChangeLog(folder, contents)


@pytest.fixture
def book(tmp_path):
    made = change_log_in(tmp_path)
    made.prepare(sync=True)
    return made


def test_a_new_one_holds_nothing(book):
    assert book.read() == {}


def test_log_is_read_with_the_last_entry_of_each_load_balancer(book):
    book.append([lb(1), lb(2)], [])
    book.append([lb(1, revision=2)], ["lb-2", "never there"])
    assert book.read() == {"lb-1": lb(1, revision=2)}


@given(steps=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9) | st.none()), max_size=20), data=st.data())
def test_whatever_was_folded_in_between_the_same_is_read(tmp_path_factory, steps, data):
    book, held = change_log_in(tmp_path_factory.mktemp("p")), {}
    book.prepare(sync=True)
    for number, revision in steps:
        one = lb(number, revision or 1)
        held.pop(one.id, None)
        if revision:
            held[one.id] = one
        book.append([one] if revision else [], [] if revision else [one.id])
        if data.draw(st.booleans()):
            fold_now(book, held)
    assert change_log_in(book._log.parent).read() == held


def fold_now(book, held):
    before, change_log.LOG_BYTES_MIN = change_log.LOG_BYTES_MIN, 0
    try:
        book.compact(held.values())
    finally:
        change_log.LOG_BYTES_MIN = before


def test_a_long_log_is_folded_and_a_short_one_is_not(book, tmp_path, monkeypatch):
    book.append([lb(1)], [])
    book.compact([lb(1)])
    assert not (tmp_path / "held.json").exists()
    monkeypatch.setattr(change_log, "LOG_BYTES_MIN", 10)
    book.compact([lb(1)])
    assert (tmp_path / "held.log").stat().st_size == 0 and book.read() == {"lb-1": lb(1)}


def test_a_crash_between_snapshot_and_log_changes_nothing(book, monkeypatch):
    book.append([lb(1), lb(2)], [])
    book.append([lb(3)], ["lb-1"])
    held = book.read()
    monkeypatch.setattr(os, "truncate", lambda path, length: None)
    fold_now(book, held)
    assert book.read() == held


def test_a_torn_last_line_was_never_acknowledged(book, tmp_path):
    book.append([lb(1)], [])
    with (tmp_path / "held.log").open("ab") as file:
        file.write(b'{"changed":[{"id":"lb-2"')
    assert book.read() == {"lb-1": lb(1)}
    book.append([lb(3)], [])
    assert set(book.read()) == {"lb-1", "lb-3"}


def test_a_line_that_cannot_be_understood_is_reported_and_not_skipped(book, tmp_path):
    (tmp_path / "held.log").write_bytes(b"nonsense\n")
    with pytest.raises(StorageBroken, match=r"held\.log of partition .* cannot be read"):
        book.read()


def test_an_append_that_fails_leaves_no_half_line(book, monkeypatch):
    book.append([lb(1)], [])

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(OSError, match="No space"):
        book.append([lb(2)], [])
    monkeypatch.undo()
    book.append([lb(3)], [])
    assert set(book.read()) == {"lb-1", "lb-3"}


def test_no_key_is_written(book, tmp_path):
    book.append([lb(1)], [])
    fold_now(book, {"lb-1": lb(1)})
    book.append([lb(2)], [])
    assert all(b"secret" not in (tmp_path / name).read_bytes() for name in ("held.json", "held.log"))
    assert book.read().keys() == {"lb-1", "lb-2"}
