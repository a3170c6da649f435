"""Commands of the documentation can be copied: a shell reads each block, nothing is a placeholder that a shell would
take for something else, and a page sets the variables that it uses.

``tests/packaging/test_install_on_debian.py`` runs the section of ``install.md`` about seven hosts.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
PLACEHOLDER = re.compile(r"(?<![<\w])<[a-z][a-z -]*>|(?<![\w/])(?:\.\.\.|…)")
SET = re.compile(r"(?:^|[\s;&|(])(?:for |read (?:-\w+ )*)?([A-Za-z_]\w*)(?:\+?=| in )|\bread (?:-\w+ )*([A-Za-z_]\w*)")
USED = re.compile(r"(?<!\\)\$\{?([A-Za-z_]\w*)")
PRINTED = ROOT / "docs" / "tutorial" / "first-load-balancer.md"
"""Has … for ports and process ids, which the demo has just printed as commands to copy."""
OF_EVERY_SHELL = {"HOME", "HOSTNAME", "PATH", "PWD", "USER"}


def blocks(page: Path) -> Iterator[str]:
    """The page's blocks of shell commands, without the comments at the ends of lines."""
    for indent, text in BLOCK.findall(page.read_text()):
        yield re.sub(rf"(?m)^{indent}", "", text)


def without_comments(block: str) -> str:
    return re.sub(r"(?m)(?:^|\s)#.*$", "", block)


PAGES_WITH_COMMANDS = [page for page in PAGES if "```sh\n" in page.read_text()]
pages = pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))


@pages
def test_a_shell_reads_each_block(page: Path) -> None:
    for block in blocks(page):
        read = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, timeout=30)
        assert (read.returncode, read.stderr) == (0, ""), block


@pytest.mark.parametrize(
    "page", [page for page in PAGES_WITH_COMMANDS if page != PRINTED], ids=lambda page: str(page.relative_to(ROOT))
)
def test_no_block_has_placeholders(page: Path) -> None:
    assert [found for block in blocks(page) for found in PLACEHOLDER.findall(without_comments(block))] == []


@pages
def test_variables_are_set_before_they_are_used(page: Path) -> None:
    known = set(OF_EVERY_SHELL)
    for block in blocks(page):
        for line in without_comments(block).splitlines():
            known |= {name for pair in SET.findall(line) for name in pair if name}
            assert set(USED.findall(re.sub(r"'[^']*'", "", line))) <= known, line


@pages
def test_a_block_leaves_the_umask_as_it_was(page: Path) -> None:
    """Blocks are pasted one after the other, and a later one may write files that other users read."""
    for block in blocks(page):
        umasks = re.findall(r"(?m)^umask (\d+)", without_comments(block))
        assert not umasks or umasks[-1] == "022", block
