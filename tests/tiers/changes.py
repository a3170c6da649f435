"""Files that differ from the revision of the last release run, as git tells."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

LAST_RELEASE_RUN = Path("tests/last-release-run")
"""Holds the full revision on which ``scripts/test --release`` passed last; such a run writes it."""
GIT_SECONDS = 30


def changed_files(root: Path) -> frozenset[str] | None:
    """Paths, below ``root``, of files changed since the last release run, committed or not; None if git can't tell.

    The comparison is with the merge base of HEAD and the recorded revision, so a branch that began before the last
    release run counts its own changes only."""
    recorded = root / LAST_RELEASE_RUN
    if not recorded.is_file():
        return None
    last = recorded.read_text().strip()
    base = _git(root, "merge-base", last, "HEAD") if re.fullmatch("[0-9a-f]{40,64}", last) else None
    if base is None:
        return None
    differing = _git(root, "diff", "--name-only", "--no-renames", base.strip())
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    if differing is None or new is None:
        return None
    return frozenset(differing.splitlines()) | frozenset(new.splitlines())


def is_any_in(files: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether a file is one of the paths, or below one."""
    return any(file == path or file.startswith(f"{path}/") for file in files for path in paths)


def revision(root: Path) -> str | None:
    """HEAD's full revision; None without git, or if tracked files differ from it."""
    if _git(root, "diff", "--quiet", "HEAD", "--", f":!{LAST_RELEASE_RUN}", ":!tests/durations.json") is None:
        return None
    head = _git(root, "rev-parse", "HEAD")
    return head.strip() if head else None


def _git(root: Path, *arguments: str) -> str | None:
    """Output of a git command; None if it fails or there is no git."""
    try:
        # a checkout of another user, as root in CI, is as good as one's own for reading
        command = ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
