"""Handler of the operators' API that searches the load balancers of all projects."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.fields import INT32_MAX
from evenkeel.api.http.lists import PAGE_PARAMETERS, page_links
from evenkeel.api.http.routing import Parameter
from evenkeel.api.operators.query import (
    STATUSES,
    invalid_parameter,
    not_allowed_value,
    parse_number_within,
    query_options,
)
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import InvalidQuery
from evenkeel.api.responses.timestamps import format_time, format_time_or_none
from evenkeel.core.control.lists import FoundLoadBalancer, ListQuery
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value

TEXT_MAX = 255
SORT_KEYS = ("name", "vip_address", "provisioning_status", "operating_status", "created_at", "updated_at")
"""Names of attributes by which the result can be sorted; each has an index."""
_PAGE = ("limit", "marker", "page_reverse", "sort")
_FILTERS = (
    Parameter(
        name="q",
        description="With this text in its name (in any case), VIP, project's id or a member's address, or at the"
        " beginning of its id",
    ),
    Parameter(name="provisioning_status", description="With one of these provisioning statuses, comma separated"),
    Parameter(name="operating_status", description="With one of these operating statuses, comma separated"),
    Parameter(name="environment", description="Of this environment"),
    Parameter(name="group_number", description="Of this device group of the environment", type=int),
    Parameter(name="project_id", description="Of this project"),
    Parameter(name="held", description="Imported and not switched over yet, or not", type=bool),
)
PARAMETERS = (*_FILTERS, *(parameter for parameter in PAGE_PARAMETERS if parameter.name in _PAGE))
_NAMES = tuple(parameter.name for parameter in PARAMETERS)


class FoundLoadBalancerView(Value):
    """A load balancer that a search has found."""

    id: LoadBalancerId
    name: str
    project_id: str
    vip_address: str
    environment: str
    group_number: int | None
    """Number of the device group; null: the load balancer is not placed yet."""
    provisioning_status: str
    operating_status: str
    status_reason: str
    operating_reason: str
    held: bool
    """True: it was imported and is not switched over yet."""
    created_at: str
    updated_at: str | None


async def find_load_balancers(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers: search the load balancers of all projects by text and attributes, in pages;
    shows the total, too. Raises :class:`InvalidQuery` for a bad parameter, :class:`Invalid` if the search takes
    too long.
    """
    options = query_options(call, _NAMES)
    text = options.get("q", "").strip()
    if len(text) > TEXT_MAX or not text.isprintable():
        raise invalid_parameter("q", text, f"It may have {TEXT_MAX} printable characters.")
    query = _list_query(options, services.limits.page_items)
    group_number = await _parse_group_number(services, options)
    found = await services.operators.find_load_balancers(query, text=text, group_number=group_number)
    return json_answer(
        {
            "loadbalancers": [_load_balancer_view(row) for row in found.page.items],
            "total": found.total,
            "total_is_exact": found.total_is_exact,
            "loadbalancers_links": page_links(call, found.page, query.limit),
        }
    )


def _list_query(options: Mapping[str, str], page_items: int) -> ListQuery:
    filters: dict[str, tuple[Any, ...]] = {
        name: _status_filter(name, options[name], allowed) for name, allowed in STATUSES.items() if options.get(name)
    }
    if environment := options.get("environment"):
        filters["provider"] = (environment,)
    if held := options.get("held"):
        filters["held"] = (parse_bool("held", held),)
    limit = options.get("limit")
    project_id = options.get("project_id")
    return ListQuery(
        filters=filters,
        project_id=ProjectId(project_id) if project_id else None,
        sort=_parse_sort(options.get("sort", "")),
        limit=parse_number_within("limit", limit, 1, page_items) if limit else page_items,
        marker=options.get("marker") or None,
        page_reverse=parse_bool("page_reverse", options.get("page_reverse") or "false"),
    )


def _status_filter(name: str, given: str, allowed: Sequence[str]) -> tuple[str, ...]:
    wanted = tuple(given.split(","))
    for value in wanted:
        if value not in allowed:
            raise not_allowed_value(name, value, allowed)
    return wanted


def _parse_sort(given: str) -> tuple[tuple[str, bool], ...]:
    if not given:
        return ()
    name, _, direction = given.partition(":")
    if name not in SORT_KEYS or direction not in ("", "asc", "desc"):
        raise not_allowed_value("sort", given, SORT_KEYS, ", with :asc or :desc")
    # Rows with the same value in the same direction, so that one index has the whole order.
    return ((name, direction == "desc"), *((key, direction == "desc") for key in ("created_at", "id") if key != name))


async def _parse_group_number(services: Services, options: Mapping[str, str]) -> int | None:
    """Return the number of the device group to search; None: all groups. Raises :class:`InvalidQuery` for an
    unknown group or environment, or a group without an environment.
    """
    environment, number = options.get("environment"), options.get("group_number")
    if not environment:
        if number:
            raise InvalidQuery("The query parameter group_number needs environment, whose device group it is.")
        return None
    names = [row.name for row in await services.operators.environments()]
    if environment not in names:
        raise not_allowed_value("environment", environment, names)
    if not number:
        return None
    wanted = parse_number_within("group_number", number, 0, INT32_MAX)
    known = await services.operators.device_group_numbers(environment)
    if wanted not in known:
        groups = ", ".join(map(str, known)) or "none: no agent has registered"
        raise invalid_parameter("group_number", number, f"Device groups of {environment}: {groups}.")
    return wanted


def _load_balancer_view(row: FoundLoadBalancer) -> FoundLoadBalancerView:
    return FoundLoadBalancerView(
        id=row.id,
        name=row.name,
        project_id=row.project_id,
        vip_address=row.vip_address,
        environment=row.environment,
        group_number=row.group_number,
        provisioning_status=row.provisioning_status,
        operating_status=row.operating_status,
        status_reason=row.status_reason,
        operating_reason=row.operating_reason,
        held=row.held,
        created_at=format_time(row.created_at),
        updated_at=format_time_or_none(row.updated_at),
    )
