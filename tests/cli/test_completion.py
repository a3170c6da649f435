"""Shells that complete: what they offer, asked of the real ones."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub


@pytest.mark.parametrize(
    ("typed", "offered", "missing"),
    [
        (["evenkeel", "sha"], {"shard"}, {"status"}),
        (["evenkeel", "shard", ""], {"list", "move"}, {"show"}),
        (["evenkeel", "shard", "list", "--un"], {"--unserved"}, {"--long"}),
        (["evenkeel", "loadbalancer", "list", "--status", "A"], {"ACTIVE"}, {"ERROR", "--long"}),
        (["evenkeel", "completion", ""], {"bash", "zsh", "fish"}, {"names"}),
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


def names(stub: Stub) -> None:
    """Answer the look-ups of names; one is of a tenant that wishes to run something."""
    rows = [{"name": name} for name in ("web", "web-2", "we$(touch ran)", "we b", "old-web")]
    stub.on("GET", "/loadbalancers?limit=50&sort=name%3Aasc&q=we", {"loadbalancers": rows})
    stub.on("GET", "/agents", {"agents": [{"host": "host-1"}, {"host": "mail"}]})
    stub.on("GET", "/environments", {"environments": [{"name": "demo"}]})


@pytest.mark.parametrize(
    ("kind", "prefix", "offered"),
    [("loadbalancer", "we", "web\nweb-2\n"), ("agent", "h", "host-1\n"), ("environment", "", "demo\n")],
)
def test_names_are_those_that_begin_so_and_that_no_shell_expands(
    kind: str, prefix: str, offered: str, stub: Stub, evenkeel: Run
) -> None:
    names(stub)
    assert evenkeel("completion", "names", kind, prefix).out == offered


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["explain", "we"], {"web", "web-2"}),
        (["agent", "drain", "ho"], {"host-1"}),
        (["shard", "list", "--agent", "ho"], {"host-1"}),
        (["agent", "list", "--environment", ""], {"demo"}),
    ],
)
def test_bash_completes_names(evenkeel: Run, stub: Stub, tmp_path: Path, typed: list[str], offered: set[str]) -> None:
    names(stub)
    script = tmp_path / "evenkeel.bash"
    script.write_text(
        f'evenkeel() {{ {sys.executable} -m evenkeel.cli.main --endpoint {stub.url} "$@"; }}\n'
        + evenkeel("completion", "bash").out
    )
    words = " ".join(f"'{word}'" for word in ["evenkeel", *typed])
    ask = f'. {script}; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _evenkeel; echo "${{COMPREPLY[@]}}"'
    said = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.split()
    assert set(said) == offered and not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("evenkeel ", {"shard", "completion"}),
        ("evenkeel shard ", {"list", "move"}),
        ("evenkeel shard list --un", {"--unserved"}),
        ("evenkeel loadbalancer list --status A", {"ACTIVE"}),
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
