"""``evenkeel-users`` writes what the controller reads."""

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenkeel.api.identity.users import read_users
from evenkeel.cmd import users
from evenkeel.serving.password_hash import password_matches


def run(file: Path, *words: str, password: str = "", monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    return users.main(["--file", str(file), *words])


def test_user_is_added_changed_listed_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    add = ("add", "alice", "--project", "p1", "--password-stdin")
    assert run(file, *add, password="first", monkeypatch=monkeypatch) == 0
    assert run(file, "passwd", "alice", "--password-stdin", password="second word", monkeypatch=monkeypatch) == 0
    assert run(file, "roles", "alice", "admin,member", monkeypatch=monkeypatch) == 0
    (alice,) = read_users(file).values()
    assert (alice.project_id, alice.roles) == ("p1", ("admin", "member"))
    assert password_matches(b"second word", alice.hash) and not password_matches(b"first", alice.hash)
    assert file.stat().st_mode & 0o777 == 0o600 and "second" not in file.read_text()
    assert run(file, "list", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == "alice\tp1\tadmin,member\n"
    assert run(file, "delete", "alice", "--force", monkeypatch=monkeypatch) == 0
    assert read_users(file) == {}


def with_users(file: Path, users: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The password file's content after users with these roles were added by the command."""
    for name, roles in users.items():
        words = ("add", name, "--project", "p", "--roles", roles, "--password-stdin")
        assert run(file, *words, password="secret", monkeypatch=monkeypatch) == 0
    return file.read_text()


def test_add_of_an_existing_user_is_refused_and_keeps_roles_and_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    before = with_users(file, {"root": "admin"}, monkeypatch)
    words = ("add", "root", "--project", "p", "--password-stdin")
    assert run(file, *words, password="new", monkeypatch=monkeypatch) == 1
    told = capsys.readouterr().err
    assert "user 'root' exists" in told and "passwd root" in told and "roles root" in told
    assert file.read_text() == before


@pytest.mark.parametrize("words", [("delete", "root"), ("roles", "root", "member")])
def test_last_administrator_stays_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    file = tmp_path / "users"
    before = with_users(file, {"root": "admin", "alice": "member"}, monkeypatch)
    assert run(file, *words, monkeypatch=monkeypatch) == 1
    assert "last one with a role of an administrator (admin, load-balancer_admin)" in capsys.readouterr().err
    assert file.read_text() == before
    assert run(file, *words, "--force", monkeypatch=monkeypatch) == 0
    root = read_users(file).get("root")
    assert root is None or root.roles == ("member",)


@pytest.mark.parametrize("words", [("delete", "root"), ("roles", "root", "member")])
def test_administrator_beside_another_one_can_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    file = tmp_path / "users"
    with_users(file, {"root": "admin", "second": "load-balancer_admin"}, monkeypatch)
    assert run(file, *words, monkeypatch=monkeypatch) == 0


def test_users_of_a_file_without_administrators_can_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "users"
    with_users(file, {"alice": "member"}, monkeypatch)
    assert run(file, "delete", "alice", monkeypatch=monkeypatch) == 0


def test_unknown_user_of_passwd_is_named_with_the_most_similar_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "users"
    with_users(file, {"alice": "member"}, monkeypatch)
    assert run(file, "passwd", "alcie", "--password-stdin", password="x", monkeypatch=monkeypatch) == 1
    assert "no user 'alcie', did you mean alice?" in capsys.readouterr().err


def test_comments_and_other_users_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "users"
    for name in ("alice", "bob"):
        run(file, "add", name, "--project", "p", "--password-stdin", password="x", monkeypatch=monkeypatch)
    file.write_text(f"# ours\n{file.read_text()}")
    run(file, "delete", "alice", monkeypatch=monkeypatch)
    assert file.read_text().startswith("# ours\nbob:")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "a b", "--project", "p", "--password-stdin"), "user: 'a b'"),
        (("add", "a", "--project", "p/q", "--password-stdin"), "project"),
        (("add", "a", "--project", "p", "--roles", "x y", "--other-roles", "--password-stdin"), "roles: 'x y'"),
        (("add", "a", "--project", "p", "--roles", "member,admn", "--password-stdin"), ", did you mean admin?"),
        (("add", "a", "--project", "p", "--password-stdin"), "0 bytes"),
        (("delete", "nobody"), "No such file"),
        (("list",), "No such file"),
    ],
)
def test_refused_user_command_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
) -> None:
    assert run(tmp_path / "users", *words, monkeypatch=monkeypatch) == 1
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_password_that_is_typed_is_typed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["one", "two", "same", "same"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    add = ["--file", str(tmp_path / "users"), "add", "alice", "--project", "p"]
    assert users.main(add) == 1 and "differ" in capsys.readouterr().err
    assert users.main(add) == 0
    assert password_matches(b"same", read_users(tmp_path / "users")["alice"].hash)
