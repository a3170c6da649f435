"""Kinds of LBaaS v2's objects, and how the API reads and removes them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from evenkeel.api.common.declared import ApiFunctions
from evenkeel.api.common.resources import TenantResource, find_object, parent_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Handler
from evenkeel.api.neutron.bodies import invalid_value
from evenkeel.api.neutron.lists import (
    LIST_PARAMETERS,
    list_page_body,
    list_page_type,
    parse_list,
    read_page,
    select_fields,
)
from evenkeel.api.neutron.v2 import showing
from evenkeel.api.octavia import resources as octavia
from evenkeel.api.responses.answers import Answer, json_answer

T = TypeVar("T")


def _resource_with_view(resource: TenantResource, view: Callable[[Any], Any]) -> TenantResource:
    return replace(resource, view=view, filters=replace(resource.filters, tagged=False))


LOAD_BALANCERS = _resource_with_view(octavia.LOAD_BALANCERS, showing.load_balancer_view)
LISTENERS = _resource_with_view(octavia.LISTENERS, showing.listener_view)
POOLS = _resource_with_view(octavia.POOLS, showing.pool_view)
MEMBERS = _resource_with_view(octavia.MEMBERS, showing.member_view)
HEALTH_MONITORS = _resource_with_view(octavia.HEALTH_MONITORS, showing.health_monitor_view)
L7POLICIES = _resource_with_view(octavia.L7POLICIES, showing.l7policy_view)
L7RULES = _resource_with_view(octavia.L7RULES, showing.l7rule_view)


def convert_body(kind: Callable[..., T], body: Any, **others: Any) -> T:
    """Convert an LBaaS v2 request to Octavia's ``kind`` by copying attributes of the same name that are not
    absent; ``others``: values of further attributes.
    """
    names: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined]
    values = {name: getattr(body, name) for name in body.__struct_fields__ if name in names}
    return kind(**{name: value for name, value in values.items() if value is not UNSET} | others)


def _listing_handler(resource: TenantResource) -> Handler:
    """Return the handler that lists a page of the resource's objects. It raises :class:`NeutronRefusal` for a
    bad parameter, and :class:`NotFound` for a parent.
    """

    async def handle_list(services: Services, call: Call) -> Answer:
        wanted = parse_list(call, resource.filters, services.limits)
        wanted = replace(wanted, query=replace(wanted.query, filters=_status_filters(resource, wanted.query.filters)))
        parent = parent_id(resource, call)
        page = await read_page(
            call, wanted, lambda query: services.tenants.list(resource.kind, query, parent_id=parent)
        )
        return json_answer(
            list_page_body(call, resource.plural, [resource.view(row) for row in page.items], wanted, page)
        )

    return handle_list


def _status_filters(resource: TenantResource, filters: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the filters with LBaaS v2's operating statuses converted to stored ones, and to a condition on
    ``admin_state_up``. Raises :class:`NeutronRefusal` for DISABLED together with other statuses.
    """
    asked = filters.get("operating_status")
    if asked is None:
        return dict(filters)
    rest = {name: values for name, values in filters.items() if name != "operating_status"}
    disabled = showing.DISABLED in asked
    if disabled and set(asked) != {showing.DISABLED}:
        raise invalid_value("operating_status", f"{showing.DISABLED} cannot be combined with other statuses.")
    # Empty if the two conditions contradict each other: then no object matches.
    states = tuple(state for state in rest.get("admin_state_up", (True, False)) if state is not disabled)
    stored = {} if disabled else {"operating_status": showing.stored_statuses(asked, resource.kind)}
    return {**rest, **stored, "admin_state_up": states}


async def _remove_object(resource: TenantResource, services: Services, call: Call, id_: str) -> None:
    """Delete a child of a load balancer, and notify the driver. Raises :class:`NotFound`, and
    :class:`Conflict` if it has children that must be deleted first.
    """
    change = await services.tenants.delete_child(
        resource.kind,
        id_,
        parent_id=parent_id(resource, call),
        project_id=call.caller.scope,
        restrict=True,
    )
    await services.change_accepted(change)


LBAAS_V2 = ApiFunctions(
    listing=_listing_handler,
    parameters=LIST_PARAMETERS,
    page=lambda resource, view: list_page_type(resource.plural, view),
    find=find_object,
    select=select_fields,
    remove=_remove_object,
)
