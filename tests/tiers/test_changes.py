"""Changed files: by git, compared with the last release run; unknown where git can't tell."""

import subprocess
from pathlib import Path

import pytest

from tests.tiers.changes import LAST_RELEASE_RUN, changed_files, is_any_in, revision

IDENTITY = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    command = ["git", *IDENTITY, "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, name: str, content: str) -> str:
    (root / name).parent.mkdir(exist_ok=True, parents=True)
    (root / name).write_text(content)
    git(root, "add", "-A")
    git(root, "commit", "-qm", name)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose first revision had a release run."""
    git(tmp_path, "init", "-q", "-b", "main")
    first = commit(tmp_path, "src/a.py", "1")
    commit(tmp_path, str(LAST_RELEASE_RUN), f"{first}\n")
    return tmp_path


def test_committed_uncommitted_and_new_files_have_changed(root: Path) -> None:
    commit(root, "src/b.py", "1")
    (root / "src/a.py").write_text("2")
    (root / "src/c.py").write_text("3")
    assert changed_files(root) == {"src/a.py", "src/b.py", "src/c.py", str(LAST_RELEASE_RUN)}


def test_branch_from_before_the_release_run_counts_its_own_changes_only(root: Path) -> None:
    git(root, "checkout", "-qb", "branch")
    commit(root, "src/mine.py", "1")
    git(root, "checkout", "-q", "main")
    later = commit(root, "src/theirs.py", "1")
    git(root, "checkout", "-q", "branch")
    commit(root, str(LAST_RELEASE_RUN), later)
    assert changed_files(root) == {"src/mine.py", str(LAST_RELEASE_RUN)}


@pytest.mark.parametrize("recorded", ["", "0" * 40, "--help", "not a revision"])
def test_unknown_revision_tells_nothing(root: Path, recorded: str) -> None:
    (root / LAST_RELEASE_RUN).write_text(recorded)
    assert changed_files(root) is None


def test_without_a_record_or_a_repository_nothing_is_known(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (root / LAST_RELEASE_RUN).unlink()
    assert changed_files(root) is None
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "tests").mkdir()
    (elsewhere / LAST_RELEASE_RUN).write_text("0" * 40)
    assert changed_files(elsewhere) is None


def test_revision_is_known_only_if_all_files_are_committed(root: Path) -> None:
    assert revision(root) == git(root, "rev-parse", "HEAD")
    (root / LAST_RELEASE_RUN).write_text("anything")
    assert revision(root) == git(root, "rev-parse", "HEAD")
    (root / "src/a.py").write_text("2")
    assert revision(root) is None


def test_a_path_holds_itself_and_what_is_below() -> None:
    assert is_any_in(["a/b.py"], ["a"]) and is_any_in(["a/b.py"], ["a/b.py"])
    assert not is_any_in(["ab/c.py"], ["a"]) and not is_any_in([], ["a"])
