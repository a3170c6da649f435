"""An Octavia that answers what a stock one with its provider ``amphora`` answered (``answers.json``)."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.cli.stub import Stub

LBAAS = "/v2.0/lbaas"
_ANSWERS = Path(__file__).with_name("answers.json")
DEFAULT_QUOTAS = ("loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule")
_PAGING = ("limit", "marker")


def uid(letter: str, number: int = 1) -> str:
    """An id in the answers. ``letter``: ``a`` for load balancers, ``b`` listeners, ``c`` pools, ``d`` health monitors,
    ``e`` L7 policies, ``f`` flavors, ``1`` members, ``2`` rules.
    """
    return f"{letter}{number:07x}-0000-4000-8000-000000000000"


LB, FLAVOR = uid("a"), uid("f")
TCP, UDP, TLS, HTTP = (uid("b", number) for number in range(1, 5))
"""Listeners, by protocol."""
TCP_POOL, HTTP_POOL, UDP_POOL = (uid("c", number) for number in range(1, 4))
MEMBER = uid("1")


class RecordedOctavia(Stub):
    """Lists in pages of ``page_rows``. ``documents``: answers by path, which tests may change."""

    def __init__(self, page_rows: int = 1000) -> None:
        super().__init__()
        self.documents: dict[str, dict[str, Any]] = json.loads(_ANSWERS.read_text())
        self.page_rows = page_rows
        self.queries: list[str] = []
        """Paths with their queries, as they were asked."""
        self.refused: dict[str, int] = {}
        """Status of the refusal, by path."""

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The objects of a list; changes of it are what is answered."""
        return next(value for name, value in self.documents[path].items() if not name.endswith("_links"))

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Record the request, choose the answer."""
        self.queries.append(path.removeprefix(LBAAS))
        parts = urlsplit(path.removeprefix(LBAAS))
        if parts.path in self.refused:
            return self.refused[parts.path], {"faultstring": "not for you"}
        if parts.path == "/quotas/defaults":
            return 200, {"quota": dict.fromkeys(DEFAULT_QUOTAS, -1)}
        if parts.path in self.documents:
            return 200, self._page(parts.path, dict(parse_qsl(parts.query)))
        found = [row for row in self.rows("/loadbalancers") if parts.path == f"/loadbalancers/{row['id']}"]
        return (200, {"loadbalancer": found[0]}) if found else (404, {"faultstring": f"{parts.path} not found."})

    def _page(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        key, links = (
            next(name for name in self.documents[path] if name.endswith("_links") is wanted) for wanted in (False, True)
        )
        filters = {name: value for name, value in query.items() if name not in _PAGING}
        rows = [row for row in self.rows(path) if all(row.get(name) == value for name, value in filters.items())]
        ids = [row.get("id") for row in rows]
        first = ids.index(query["marker"]) + 1 if "marker" in query else 0
        page = rows[first : first + self.page_rows]
        more = [{"rel": "next", "href": "http://elsewhere.example/"}] if len(page) == self.page_rows else []
        return {key: page, links: more}
