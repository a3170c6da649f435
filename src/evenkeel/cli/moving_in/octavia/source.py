"""Reads a stock Octavia by its API.

Load balancers, listeners, pools, health monitors and L7 policies come in pages of all projects or of some; members and
rules need a request for each pool and policy that has any. No answer is a snapshot of all: load balancers are listed
again at the end, and what has changed meanwhile is named in :attr:`SourceObjects.moving`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from evenkeel.cli.client import ApiRefused, Client, EndpointsUnreachable, quote_segment
from evenkeel.cli.moving_in.foreign import InvalidSourceData

Row = Mapping[str, Any]

LBAAS_PATH = "/v2.0/lbaas"
PAGE_ROWS = 1000
PAGES_MAX = 1000
_IDENTITY_BY_LIST = {"quotas": "project_id", "availability_zones": "name"}
"""Attribute by which a list's next page is requested, by the list's name; ``id`` for other lists."""
_PROVIDER_ALIASES = {"amphora": ("octavia",)}
"""Other names of a provider: Octavia shows its oldest load balancers, stored without a provider, under ``octavia``."""
PROJECTS_ASKED_ONE_BY_ONE_MAX = 20
"""Maximum number of projects for which lists are read project by project; for more, all projects' lists are read."""


class LoadBalancerFilter(NamedTuple):
    """Filter of the load balancers that are read."""

    provider: str | None = None
    """The source's provider that serves the load balancers; None: any."""
    project_id: str | None = None
    """The project that owns the load balancers; None: all projects that the source shows."""
    ids: tuple[str, ...] = ()
    """Ids of the only load balancers to read, whatever serves them; empty: all."""

    def accepts_provider(self, provider: object) -> bool:
        """Whether load balancers of the provider are wanted."""
        return self.provider in (None, provider) or provider in _PROVIDER_ALIASES.get(str(self.provider), ())


class SourceObjects(NamedTuple):
    """Objects of a source, as its API shows them."""

    load_balancers: tuple[Row, ...]
    listeners: Mapping[str, Row] = {}
    """Listeners by id; pools, health monitors and L7 policies are by id, too."""
    pools: Mapping[str, Row] = {}
    health_monitors: Mapping[str, Row] = {}
    l7policies: Mapping[str, Row] = {}
    members: Mapping[str, Sequence[Row]] = {}
    """Members by the pool's id."""
    rules: Mapping[str, Sequence[Row]] = {}
    """L7 rules by the L7 policy's id."""
    moving: frozenset[str] = frozenset()
    """Ids of load balancers that changed while they were read."""


class OctaviaApi:
    """Reads an Octavia, or another server of its API. ``title``: the server's name in errors; ``at_once``: most
    concurrent requests to the server.
    """

    def __init__(self, client: Client, title: str, *, at_once: int = 1) -> None:
        self._client = client
        self._title = title
        self._at_once = at_once

    def read(self, load_balancer_filter: LoadBalancerFilter) -> SourceObjects:
        """Read the wanted load balancers with all their children; ids of those that changed meanwhile are in
        :attr:`SourceObjects.moving`.

        Raises :class:`InvalidSourceData` for an unusable answer, and :class:`ClientError`.
        """
        before = self._load_balancers(load_balancer_filter)
        if not before:
            return SourceObjects(())
        scopes = _list_filters(load_balancer_filter, before)
        with ThreadPoolExecutor(max_workers=self._at_once) as pool:
            kinds = ("listeners", "pools", "healthmonitors", "l7policies")
            lists = dict(zip(kinds, pool.map(lambda kind: self._rows_by_id(kind, scopes), kinds), strict=True))
            ids = {row["id"] for row in before}
            pools = [id_ for id_, row in lists["pools"].items() if row.get("members") and _is_below(row, ids)]
            listeners = {id_ for id_, row in lists["listeners"].items() if _is_below(row, ids)}
            policies = [
                id_
                for id_, row in lists["l7policies"].items()
                if row.get("rules") and row.get("listener_id") in listeners
            ]
            members = pool.map(lambda id_: self.read_rows(f"/pools/{quote_segment(id_)}/members", "members"), pools)
            rules = pool.map(lambda id_: self.read_rows(f"/l7policies/{quote_segment(id_)}/rules", "rules"), policies)
            found = SourceObjects(
                load_balancers=tuple(before),
                listeners=lists["listeners"],
                pools=lists["pools"],
                health_monitors=lists["healthmonitors"],
                l7policies=lists["l7policies"],
                members=dict(zip(pools, members, strict=True)),
                rules=dict(zip(policies, rules, strict=True)),
            )
        return found._replace(moving=_changed_ids(before, self._load_balancers(load_balancer_filter)))

    def read_rows(self, path: str, key: str, filters: Mapping[str, str] = {}) -> list[Row]:
        """Read all pages of the list ``key`` at ``path`` below :data:`LBAAS_PATH`. Raises :class:`InvalidSourceData`
        for an unusable answer, and :class:`ClientError`.
        """
        return list(self._fetch_pages(path, key, filters))

    def read_object(self, path: str, key: str) -> Row:
        """Read the object ``key`` at ``path`` below :data:`LBAAS_PATH`. Raises :class:`InvalidSourceData` for an
        unusable answer, and :class:`ClientError`.
        """
        row = self._fetch_document(path, {}).get(key)
        if not isinstance(row, Mapping):
            raise InvalidSourceData(f"the answer of {self._title} to GET {path} has no {key}")
        return row

    def _load_balancers(self, load_balancer_filter: LoadBalancerFilter) -> list[Row]:
        if load_balancer_filter.ids:
            return [
                _row_with_id(self.read_object(f"/loadbalancers/{quote_segment(id_)}", "loadbalancer"), id_)
                for id_ in load_balancer_filter.ids
            ]
        filters = {"project_id": load_balancer_filter.project_id} if load_balancer_filter.project_id else {}
        # Of an object that moved from page to page the last state counts. Octavia's filter by provider knows no alias.
        found = {row["id"]: row for row in self.read_rows("/loadbalancers", "loadbalancers", filters)}
        return [row for row in found.values() if load_balancer_filter.accepts_provider(row.get("provider"))]

    def _rows_by_id(self, kind: str, scopes: Iterable[Mapping[str, str]]) -> dict[str, Row]:
        return {row["id"]: row for filters in scopes for row in self.read_rows(f"/{kind}", kind, filters)}

    def _fetch_pages(self, path: str, key: str, filters: Mapping[str, str]) -> Iterator[Row]:
        marker: dict[str, str] = {}
        for _ in range(PAGES_MAX):
            answer = self._fetch_document(path, {**filters, "limit": PAGE_ROWS, **marker})
            rows = self._checked_rows(answer, path, key)
            yield from rows
            if not rows or not _has_next(answer):
                return
            last = rows[-1][_IDENTITY_BY_LIST.get(key, "id")]
            if marker.get("marker") == last:
                raise InvalidSourceData(f"{self._title} repeats a page of GET {path}")
            marker = {"marker": last}
        raise InvalidSourceData(f"{self._title} has more than {PAGES_MAX * PAGE_ROWS} rows of GET {path}")

    def _fetch_document(self, path: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            answer = self._client.get(f"{LBAAS_PATH}{path}", query)
        except ApiRefused as error:
            raise ApiRefused(error.status, f"{self._title} refuses GET {path}: {error}") from error
        except EndpointsUnreachable as error:
            raise EndpointsUnreachable(f"{self._title}: {error}") from error
        if not isinstance(answer, Mapping):
            raise InvalidSourceData(f"the answer of {self._title} to GET {path} is no object; is it Octavia's?")
        return answer

    def _checked_rows(self, answer: Mapping[str, Any], path: str, key: str) -> list[Row]:
        rows, identity = answer.get(key), _IDENTITY_BY_LIST.get(key, "id")
        if not isinstance(rows, list):
            raise InvalidSourceData(f"the answer of {self._title} to GET {path} has no list {key}; is it Octavia's?")
        if not all(isinstance(row, Mapping) and isinstance(row.get(identity), str) for row in rows):
            raise InvalidSourceData(
                f"the answer of {self._title} to GET {path} has an object without {identity} in {key}"
            )
        return rows


def _list_filters(load_balancer_filter: LoadBalancerFilter, load_balancers: Iterable[Row]) -> list[dict[str, str]]:
    """Return the query filters of the list requests that together return all children of the load balancers."""
    if not load_balancer_filter.ids and not load_balancer_filter.project_id:
        return [{}]
    projects = sorted({str(row.get("project_id") or "") for row in load_balancers})
    if len(projects) > PROJECTS_ASKED_ONE_BY_ONE_MAX or "" in projects:
        return [{}]
    return [{"project_id": project_id} for project_id in projects]


def _row_with_id(row: Row, id_: str) -> Row:
    if row.get("id") != id_:
        raise InvalidSourceData(f"the source answers another load balancer than {id_}")
    return row


def _has_next(answer: Mapping[str, Any]) -> bool:
    # the lists of profiles and zones name their links irregularly
    links = [value for name, value in answer.items() if name.endswith("_links") and isinstance(value, list)]
    return any(isinstance(link, Mapping) and link.get("rel") == "next" for found in links for link in found)


def _is_below(row: Row, load_balancer_ids: Iterable[str]) -> bool:
    return any(id_ in load_balancer_ids for id_ in referenced_ids(row.get("loadbalancers")))


def referenced_ids(references: Any) -> list[str]:
    """Return the ids in a list of references, which the API shows as objects with an ``id``; none if it is no
    list.
    """
    if not isinstance(references, list):
        return []
    return [str(each["id"]) for each in references if isinstance(each, Mapping) and each.get("id")]


def _changed_ids(before: Iterable[Row], after: Iterable[Row]) -> frozenset[str]:
    def state(row: Row) -> tuple[object, ...]:
        names = ("updated_at", "provisioning_status")
        return (
            *(row.get(name) for name in names),
            *(sorted(referenced_ids(row.get(kind))) for kind in ("listeners", "pools")),
        )

    now = {row["id"]: state(row) for row in after}
    return frozenset(row["id"] for row in before if now.get(row["id"]) != state(row))
