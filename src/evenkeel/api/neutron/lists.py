"""List requests in Neutron's style: unknown query parameters are ignored, ``fields`` selects attributes."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, defstruct
from msgspec.structs import replace

from evenkeel.api.common.linking import Link
from evenkeel.api.http.call import Call, RequestLimits
from evenkeel.api.http.lists import PROJECT_NAMES, Filters, ListRequest, Parse
from evenkeel.api.http.lists import page_links as page_links
from evenkeel.api.http.lists import read_page as octavia_page
from evenkeel.api.http.routing import Parameter
from evenkeel.api.neutron.bodies import invalid_value
from evenkeel.api.neutron.errors import bad_request
from evenkeel.api.responses.flags import FLAG_WORDS
from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.errors import Invalid, RequestError
from evenkeel.core.kit.ids import ProjectId

FIELDS_PARAMETER = Parameter(name="fields", description="Show only these attributes", repeatable=True)
LIST_PARAMETERS = (
    Parameter(name="limit", description="Page size; the cap is also the default", type=int),
    Parameter(name="marker", description="Id of the last item of the page before"),
    Parameter(name="page_reverse", description="True: the page before the marker instead"),
    Parameter(name="sort_key", description="Order: an attribute", repeatable=True),
    Parameter(name="sort_dir", description="asc or desc, one for each sort_key", repeatable=True),
    FIELDS_PARAMETER,
)
SHORT_LIST_PARAMETERS = (*LIST_PARAMETERS[:2], FIELDS_PARAMETER)
"""Parameters of lists that are not read from the database."""


_pages: dict[type[Any], type[Any]] = {}


def list_page_type(plural: str, view: type[Any]) -> type[Any]:
    """Return the type of a response with a page of objects, the same type for each call with a view; links
    are present only with neighbouring pages.
    """
    if view not in _pages:
        fields: list[Any] = [(plural, list[view]), (f"{plural}_links", list[Link], [])]  # type: ignore[valid-type]
        _pages[view] = defstruct(f"{view.__name__}Page", fields, kw_only=True, omit_defaults=True)
    return _pages[view]


def parse_list(call: Call, filters: Filters, limits: RequestLimits) -> ListRequest:
    """Parse filters, order, page and fields of a list request, limited to the caller's projects; unknown
    parameters are ignored. Raises :class:`NeutronRefusal` (400) naming the parameter, :class:`InvalidQuery` for
    an invalid query string.
    """
    wanted: dict[str, list[Any]] = {}
    for name, value in call.query:
        attribute = filters.attribute_of_filter(name)
        if attribute is not None:
            wanted.setdefault(attribute, []).append(_parse_filter(filters.parsers[attribute], name, value))
    projects = [value for name in PROJECT_NAMES if filters.owned for value in call.query_values(name)]
    scope = call.caller.scope if filters.owned else None
    if scope is None and len(projects) > 1:
        wanted["project_id"] = list(projects)
    query = ListQuery(
        filters={name: tuple(values) for name, values in wanted.items()},
        project_id=scope if scope is not None or len(projects) != 1 else ProjectId(projects[0]),
        sort=_sort_order(call, filters),
        limit=_page_limit(_given_limits(call), limits.page_items),
        marker=next(iter(call.query_values("marker")), None),
        page_reverse=any(FLAG_WORDS.get(value.lower(), False) for value in call.query_values("page_reverse")),
    )
    # A filter by other projects than the caller's own finds nothing; it is no error.
    hidden = scope is not None and bool(projects) and scope not in projects
    return ListRequest(query=query, fields=tuple(call.query_values("fields")), empty=hidden)


def _parse_filter(parse: Parse, name: str, value: str) -> Any:
    try:
        return parse(name, value)
    except RequestError as error:
        raise bad_request(str(error), "InvalidInput") from error


def _given_limits(call: Call) -> list[str]:
    """Return all values of the ``limit`` parameter, also empty ones, which Neutron refuses."""
    return [value for name, value in call.query if name == "limit"]


def _page_limit(given: Sequence[str], cap: int) -> int:
    """Return the page size for the given values of ``limit``, of which the last counts, at most ``cap``;
    absent and 0 mean ``cap``, like in Neutron. Raises :class:`NeutronRefusal` for another text.
    """
    if not given:
        return cap
    if not given[-1].isdecimal() or len(given[-1]) > 20:
        raise bad_request(
            f"Bad limit request: Limit must be an integer 0 or greater and not '{given[-1][:64]}'.", "BadRequest"
        )
    return min(int(given[-1]) or cap, cap)


def _sort_order(call: Call, filters: Filters) -> tuple[tuple[str, bool], ...]:
    keys, directions = call.query_values("sort_key"), call.query_values("sort_dir")
    if keys and directions and len(keys) != len(directions):
        raise bad_request("The number of sort_keys and sort_dirs must be same")
    directions = directions or ["asc"] * len(keys)
    return tuple(
        (_sort_key(key, filters), _is_descending(direction)) for key, direction in zip(keys, directions, strict=False)
    )


def _sort_key(name: str, filters: Filters) -> str:
    resolved = filters.sort_key(PROJECT_NAMES[0] if name in PROJECT_NAMES else name)
    if resolved is None:
        raise bad_request(f"'{name[:64]}' is invalid attribute for sort_keys")
    return resolved


def _is_descending(direction: str) -> bool:
    if direction not in ("asc", "desc"):
        raise invalid_value("sort_dir", f"'{direction[:64]}' is not one of asc, desc.")
    return direction == "desc"


async def read_page(call: Call, wanted: ListRequest, read: Callable[[ListQuery], Awaitable[Page]]) -> Page:
    """Read the requested page with ``read``. After an unknown marker the page is empty; without ``limit`` an
    unknown marker is ignored, like in Neutron.
    """

    async def read_or_refuse(query: ListQuery) -> Page:
        try:
            return await read(query)
        except Invalid as error:
            if error.code != "marker_unknown":
                raise
            return Page(items=()) if call.query_values("limit") else await read(replace(query, marker=None))

    return await octavia_page(wanted, read_or_refuse)


class _RowWithId(NamedTuple):
    """A row of a list that is not read from the database, with the id by which clients page."""

    id: str
    row: Any


def unpaged_list_body(
    call: Call, plural: str, rows: Iterable[Any], name_of: Callable[[Any], str], cap: int
) -> dict[str, Any]:
    """Build the body of a page of a short list that is read as a whole: the rows with the chosen ``fields``;
    if the request has ``limit``, the rows behind the marker, none behind an unknown one. ``name_of``:
    returns a row's id; ``cap``: largest page size. Raises :class:`NeutronRefusal` for a bad limit,
    :class:`InvalidQuery` for an invalid query string.
    """
    given = _given_limits(call)
    limit = _page_limit(given, cap)
    named = [_RowWithId(name_of(row), row) for row in rows]
    marker = next(iter(call.query_values("marker")), None)
    # Neutron ignores a marker without a limit: such a list has no pages.
    if marker is not None and given:
        places = [place for place, each in enumerate(named) if each.id == marker]
        named = named[places[0] + 1 :] if places else []
    page = Page(items=tuple(named[:limit]), before=marker is not None, after=len(named) > limit)
    fields = call.query_values("fields")
    body: dict[str, Any] = {plural: [select_fields(each.row, fields) for each in page.items]}
    if given and (links := page_links(call, page, limit)):
        body[f"{plural}_links"] = links
    return body


def select_fields(view: Any, fields: Sequence[str]) -> Any:
    """Return the view, or a dictionary of only the attributes in ``fields`` if there are any; unknown names
    and absent attributes are left out.
    """
    if not fields:
        return view
    if isinstance(view, Mapping):
        return {name: view[name] for name in fields if name in view}
    chosen = {name: getattr(view, name) for name in fields if name in view.__struct_fields__}
    return {name: value for name, value in chosen.items() if value is not UNSET}


def list_page_body(call: Call, plural: str, views: Sequence[Any], wanted: ListRequest, page: Page) -> dict[str, Any]:
    """Build the body of a page of ``views``; it has links only if the request has ``limit`` and there are
    neighbouring pages, like in Neutron.
    """
    body: dict[str, Any] = {plural: [select_fields(view, wanted.fields) for view in views]}
    if any(name == "limit" for name, _ in call.query) and (found := page_links(call, page, wanted.query.limit)):
        body[f"{plural}_links"] = found
    return body
