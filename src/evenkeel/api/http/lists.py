"""List requests of Octavia's API: filters, order, pages and ``fields``.

Links to other pages repeat the whole query, including filters, with another marker.
"""

from calendar import timegm
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from evenkeel.api.http.call import Call, Query, RequestLimits, parse_bool
from evenkeel.api.http.fields import INT32_MAX
from evenkeel.api.http.routing import Parameter
from evenkeel.api.responses.errors import InvalidQuery
from evenkeel.core.control.lists import ListQuery, Page, TagFilter
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import canonical_address

Parse = Callable[[str, str], Any]

PROJECT_NAMES = ("project_id", "tenant_id")
"""Names of the parameters that choose a project."""
MAX_TAGS_ASKED_FOR = 100
"""Most tags in all parameters of one query: each is a condition of the SQL statement."""

PAGE_PARAMETERS = (
    Parameter(name="limit", description="Page size; the cap is also the default", type=int),
    Parameter(name="marker", description="Id of the last item of the page before"),
    Parameter(name="page_reverse", description="The page before the marker instead", type=bool),
    Parameter(name="sort", description="Order: key:dir,key:dir; dir is asc or desc"),
    Parameter(name="sort_key", description="Order: keys, comma separated"),
    Parameter(name="sort_dir", description="Directions of sort_key, comma separated"),
)
FIELDS_PARAMETER = Parameter(name="fields", description="Show only these attributes", repeatable=True)
TAG_PARAMETERS = (
    Parameter(name="tags", description="Objects that have all of these tags, comma separated"),
    Parameter(name="tags-any", description="... one of these at least"),
    Parameter(name="not-tags", description="... not all of these"),
    Parameter(name="not-tags-any", description="... none of these"),
)
LIST_PARAMETERS = (*PAGE_PARAMETERS, FIELDS_PARAMETER, *TAG_PARAMETERS)

_PAGING = frozenset(parameter.name for parameter in (*PAGE_PARAMETERS, FIELDS_PARAMETER))
_TAGS = frozenset(parameter.name for parameter in TAG_PARAMETERS)


def parse_text(name: str, value: str) -> str:
    return value


def parse_address(name: str, value: str) -> str:
    """Return an address in its stored form; any other text unchanged, so that the filter matches no object."""
    return canonical_address(value) or value


def is_integer(text: str) -> bool:
    """Whether a text consists of digits, perhaps behind one minus sign."""
    return text.removeprefix("-").isdecimal()


def parse_integer(name: str, value: str) -> int:
    """Parse an integer from -2147483647 to 2147483647, which a column can hold. Raises :class:`InvalidQuery`
    naming the filter.
    """
    # The length is checked first: int() of a very long text is slow, and raises above 4,300 digits.
    if is_integer(value) and len(value) <= 11 and abs(number := int(value)) <= INT32_MAX:
        return number
    raise InvalidQuery(f"Invalid input for filter {name}. Value: '{value[:64]}'. Value should be an integer.")


def parse_number(name: str, value: str) -> float:
    """Parse a decimal number without a sign, of at most 16 characters. Raises :class:`InvalidQuery` naming the
    filter.
    """
    if len(value) <= 16 and value.replace(".", "", 1).isdecimal():
        return float(value)
    raise InvalidQuery(f"Invalid input for filter {name}. Value: '{value[:64]}'. Value should be a number.")


def parse_time(name: str, value: str) -> int:
    """Parse a time like ``2026-01-02T03:04:05``, in UTC, perhaps with a Z at the end, into seconds since the
    epoch. Raises :class:`InvalidQuery` naming the filter.
    """
    try:
        moment = datetime.strptime(value.removesuffix("Z"), "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        allowed = "Value should be a time such as 2026-01-02T03:04:05, in UTC."
        raise InvalidQuery(f"Invalid input for filter {name}. Value: '{value[:64]}'. {allowed}") from None
    return timegm(moment.timetuple())


def parse_optional(parse: Parse) -> Parse:
    """Return a parser for a nullable attribute that takes an empty value for null, and else calls ``parse``."""
    return lambda name, value: None if value == "" else parse(name, value)


class Filters(Value):
    """Attributes by which a collection can be filtered and sorted. ``parsers``: parser of filter values by
    the store's attribute name; ``aliases``: store's names by the API's, where they differ; ``unordered``:
    attributes that cannot be sorted by.
    """

    parsers: Mapping[str, Parse]
    aliases: Mapping[str, str] = {}
    unordered: frozenset[str] = frozenset()
    tagged: bool = True
    """True if objects of the kind have tags."""
    owned: bool = True
    """True: the objects belong to projects. False: every caller sees all of them."""

    def attribute_of_filter(self, name: str) -> str | None:
        """Return the store's name of an attribute that a request names; None if the list cannot be filtered
        by it.
        """
        name = self.aliases.get(name, name)
        return name if name in self.parsers else None

    def sort_key(self, name: str) -> str | None:
        """Return the store's attribute to sort by, for a name in a request; None if the list cannot be sorted
        by it.
        """
        name = self.aliases.get(name, name)
        known = name in self.parsers or (self.owned and name == PROJECT_NAMES[0])
        return name if known and name not in self.unordered else None

    @property
    def names(self) -> list[str]:
        """Names of all filters in requests, except those for tags."""
        return [*sorted({*self.parsers, *self.aliases}), *(PROJECT_NAMES if self.owned else ())]

    @property
    def sort_keys(self) -> list[str]:
        """Sorted names of the attributes to sort by, without aliases."""
        return [name for name in sorted({*self.parsers, PROJECT_NAMES[0]}) if self.sort_key(name)]


class ListRequest(Value):
    """A parsed list request: the store's query (filters, sort keys, page), and the attributes to show;
    ``fields`` empty: all.
    """

    query: ListQuery
    fields: tuple[str, ...] = ()
    empty: bool = False
    """True: no object can match, because the filter names projects that the caller cannot see."""


def parse_list(call: Call, filters: Filters, limits: RequestLimits) -> ListRequest:
    """Parse the filters, order, page and fields of a list request, limited to the caller's projects. Raises
    :class:`InvalidQuery` for a bad value, and :class:`Invalid` for an unknown filter or sort key.
    """
    wanted: dict[str, list[Any]] = {}
    projects: list[str] = []
    for name, value in call.query:
        if name in _PAGING:
            continue
        if name in PROJECT_NAMES and filters.owned:
            projects.append(value)
            continue
        if name in _TAGS and filters.tagged:
            continue
        attribute = _filter_name(name, filters)
        wanted.setdefault(attribute, []).append(filters.parsers[attribute](name, value))
    # of a repeated option the last value counts
    options = dict(call.query)
    scope = call.caller.scope if filters.owned else None
    if len(projects) > 1 and scope is None:
        wanted["project_id"] = list(projects)
    query = ListQuery(
        filters={name: tuple(values) for name, values in wanted.items()},
        tags=_tag_filter(call) if filters.tagged else None,
        project_id=scope if scope is not None or len(projects) != 1 else ProjectId(projects[0]),
        sort=_sort_order(options, filters),
        limit=_page_limit(options.get("limit"), limits.page_items),
        marker=options.get("marker") or None,
        page_reverse=parse_bool("page_reverse", options.get("page_reverse", "false")),
    )
    fields = tuple(call.query_values("fields"))
    return ListRequest(query=query, fields=fields, empty=scope is not None and bool(projects) and scope not in projects)


def _tag_filter(call: Call) -> TagFilter | None:
    """Combine the tags of repeated parameters, each once; None without tag parameters. Raises
    :class:`InvalidQuery` for too many tags.
    """
    given: dict[str, dict[str, None]] = {}
    for name, value in call.query:
        if name in _TAGS:
            given.setdefault(name, {}).update(dict.fromkeys(tag for tag in value.split(",") if tag))
    if not given:
        return None
    if (count := sum(map(len, given.values()))) > MAX_TAGS_ASKED_FOR:
        counts = ", ".join(f"{name}: {len(tags)}" for name, tags in given.items() if tags)
        raise InvalidQuery(f"There may be at most {MAX_TAGS_ASKED_FOR} tags in a query. It has {count} ({counts}).")
    every, some, not_every, none = (tuple(given.get(parameter.name, ())) for parameter in TAG_PARAMETERS)
    return TagFilter(every=every, some=some, not_every=not_every, none=none)


def _filter_name(name: str, filters: Filters) -> str:
    if (attribute := filters.attribute_of_filter(name)) is not None:
        return attribute
    problem = "One or more arguments are either duplicate or invalid"
    raise Invalid(f"{problem}: there is no filter '{name[:64]}'. Allowed: {', '.join(filters.names)}.")


def _page_limit(given: str | None, cap: int) -> int:
    if given is None:
        return cap
    if given.lower() == "infinite":
        return cap
    if not is_integer(given) or len(given) > 20:
        raise InvalidQuery(f"Supplied pagination limit '{given[:64]}' is not valid. It should be an integer.")
    number = int(given)
    return cap if number < 1 else min(number, cap)


def _sort_order(options: Mapping[str, str], filters: Filters) -> tuple[tuple[str, bool], ...]:
    if sort := options.get("sort"):
        pairs = [_split_sort_item(item) for item in sort.split(",")]
    elif keys := options.get("sort_key"):
        names, directions = keys.split(","), (options.get("sort_dir") or "asc").split(",")
        directions += ["asc"] * (len(names) - len(directions))
        pairs = list(zip(names, directions, strict=False))
    else:
        return ()
    return tuple((_sort_key(name, filters), _is_descending(direction)) for name, direction in pairs)


def _split_sort_item(item: str) -> tuple[str, str]:
    name, _, direction = item.partition(":")
    return name, direction or "asc"


def _sort_key(name: str, filters: Filters) -> str:
    resolved = filters.sort_key(name)
    if resolved is None:
        allowed = ", ".join(filters.sort_keys)
        raise Invalid(f"Supplied sort key '{name[:64]}' is not valid. Allowed: {allowed}.")
    return resolved


def _is_descending(direction: str) -> bool:
    if direction.lower() not in ("asc", "desc"):
        raise InvalidQuery(f"Supplied sort direction '{direction[:64]}' is not valid. Allowed: asc, desc.")
    return direction.lower() == "desc"


async def read_page(wanted: ListRequest, read: Callable[[ListQuery], Awaitable[Page]]) -> Page:
    return Page(items=()) if wanted.empty else await read(wanted.query)


def page_links(call: Call, page: Page, limit: int | None) -> list[dict[str, str]]:
    """Return the links to the previous and the next page of a list, as Octavia's lists have them; empty if the list has
    only one page. ``limit``: the page size.
    """
    if not page.items or not (page.before or page.after):
        return []
    kept: Query = [(name, value) for name, value in call.query if name not in ("marker", "page_reverse", "limit")]
    kept.append(("limit", str(limit)))

    def page_link(rel: str, marker: str, *extra: tuple[str, str]) -> dict[str, str]:
        query = urlencode([*kept, ("marker", marker), *extra])
        return {"rel": rel, "href": f"{call.base_url}{call.path}?{query}"}

    found = []
    if page.before:
        found.append(page_link("previous", page.items[0].id, ("page_reverse", "True")))
    if page.after:
        found.append(page_link("next", page.items[-1].id))
    return found


def select_fields(view: Any, fields: Sequence[str]) -> Any:
    """Return the view, or a dictionary of only the attributes in ``fields`` if there are any; unknown names
    are ignored, like in Octavia.
    """
    if not fields:
        return view
    return {name: getattr(view, name) for name in fields if name in view.__struct_fields__}
