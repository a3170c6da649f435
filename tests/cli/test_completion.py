"""Shells that complete: what they offer, asked of the real ones."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("typed", "offered", "missing"),
    [
        (["evenkeel", "sha"], {"shard"}, {"status"}),
        (["evenkeel", "shard", ""], {"list", "move"}, {"show"}),
        (["evenkeel", "shard", "list", "--un"], {"--unserved"}, {"--long"}),
        (["evenkeel", "shard", "list", "-f", "json", "--"], {"--agent", "--long"}, {"list"}),
    ],
)
def test_bash_completes(evenkeel: Run, tmp_path: Path, typed: list[str], offered: set[str], missing: set[str]) -> None:
    script = tmp_path / "evenkeel.bash"
    script.write_text(evenkeel("completion", "bash").out)
    words = " ".join(f"'{word}'" for word in typed)
    ask = f'. {script}; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _evenkeel; echo "${{COMPREPLY[@]}}"'
    said = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    assert offered <= set(said) and not missing & set(said)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("evenkeel ", {"shard", "completion"}),
        ("evenkeel shard ", {"list", "move"}),
        ("evenkeel shard list --un", {"--unserved"}),
    ],
)
def test_fish_completes(evenkeel: Run, tmp_path: Path, typed: str, offered: set[str]) -> None:
    fish = shutil.which("fish") or pytest.skip("fish is not installed: apt-get install fish")
    script = tmp_path / "evenkeel.fish"
    script.write_text(evenkeel("completion", "fish").out)
    ask = [fish, "--no-config", "-c", f"source {script}; complete -C '{typed}'"]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert offered <= set(done.stdout.split()) and not done.stderr


def test_zsh_reads_what_bash_reads(evenkeel: Run, tmp_path: Path) -> None:
    zsh = shutil.which("zsh") or pytest.skip("zsh is not installed: apt-get install zsh")
    script = tmp_path / "_evenkeel"
    script.write_text(evenkeel("completion", "zsh").out)
    ask = f"autoload -U +X compinit && compinit -D -u; . {script}; whence -w _evenkeel"
    said = subprocess.run([zsh, "-f", "-c", ask], capture_output=True, text=True, check=False)
    assert "_evenkeel: function" in said.stdout and not said.stderr
