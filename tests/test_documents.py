"""Pages of the documentation: all are in the site's navigation, links and anchors resolve, each sentence has its line.

``scripts/docs build`` checks the same of the site; here it costs no MkDocs.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
AT_ROOT = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*AT_ROOT, *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
NO_PROSE = re.compile(r"^\s*(?:$|#|\||<|!\[|[-*] |\d+\. |> ?$)")
SENTENCE_END = re.compile(r"[.?!:][)\]\"'*_`]*$")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without the Python objects that it names."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@cache
def text_of(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text())


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as code hosts and mkdocs.yml make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def places(entry: Any) -> Iterator[str]:
    """Pages that an entry of the navigation names, with those below it."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from places(value)
    else:
        for item in entry:
            yield from places(item)


def wrapped_lines(text: str) -> list[str]:
    """Lines of prose whose sentence goes on in the next line."""
    lines = text.splitlines()
    return [
        line
        for line, following in itertools.pairwise(lines)
        if line.strip() and not NO_PROSE.match(following) and not line.lstrip().startswith(("|", "#", "![", "<"))
        if not SENTENCE_END.search(line)
    ]


def test_navigation_of_the_site_names_each_page_once() -> None:
    navigation = yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)["nav"]  # noqa: S506  # a SafeLoader
    named = sorted(places(navigation))
    assert named == sorted(["architecture.md", *(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))])


@pages
def test_links_and_anchors_of_a_page_resolve(page: Path) -> None:
    for target, anchor in LINK.findall(text_of(page)):
        to = (page.parent / target).resolve() if target else page
        assert to.exists(), target
        if anchor:
            assert anchor in anchors(to), f"{target}#{anchor}"


@pages
def test_lines_of_a_page_break_between_sentences_only(page: Path) -> None:
    assert wrapped_lines(text_of(page)) == []


@pages
def test_headings_and_tables_of_a_page_follow_an_empty_line(page: Path) -> None:
    """Else the site shows a table's bars as text of the paragraph before it."""
    lines = text_of(page).splitlines()
    attached = [
        line
        for before, line in itertools.pairwise(lines)
        if before.strip() and (re.match(r"#+ ", line) or (line.startswith("|") and not before.startswith("|")))
    ]
    assert attached == []
