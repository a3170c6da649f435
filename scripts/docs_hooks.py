"""Hooks of MkDocs: pages at the repository's root that the site contains too, and links that leave ``docs``.

Pages in ``docs`` link to files of the repository by relative paths, which work on a code host. On the site, links to
the pages of :data:`ROOT_PAGES` lead to their copies; links to other files of the repository become plain text.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {"ARCHITECTURE.md": "architecture.md"}
"""Page at the repository's root -> its place on the site."""
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]+)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of the repository's root."""
    for name, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Rewrite links that leave ``docs``, and those of pages at the root."""
    places = {place: name for name, place in ROOT_PAGES.items()}
    here = places.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder, site_folder = posixpath.dirname(here), posixpath.dirname(page.file.src_uri)

    def rewritten(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        if path.startswith("docs/"):
            place = path.removeprefix("docs/")
        elif path in ROOT_PAGES:
            place = ROOT_PAGES[path]
        else:
            return text
        return f"[{text}]({posixpath.relpath(place, site_folder or '.')}{anchor})"

    return LINK.sub(rewritten, markdown)
