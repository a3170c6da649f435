"""Amphorae, the virtual machines of Octavia's amphora provider. No device type here has any: lists are empty, and every
id is unknown, like on an Octavia server without the amphora provider.
"""

from msgspec import defstruct

from evenkeel.api.common.linking import Link, single_object_type
from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.common.views import View
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import FIELDS_PARAMETER, PAGE_PARAMETERS, Filters, parse_list, parse_text
from evenkeel.api.http.routing import Operation
from evenkeel.api.policy.names import octavia_rule
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import InvalidQuery
from evenkeel.core.kit.errors import NotFound

TITLE = "Amphora"


class AmphoraView(View, kw_only=True):
    """An amphora in Octavia's form."""

    id: str
    loadbalancer_id: str | None = None
    compute_id: str | None = None
    lb_network_ip: str | None = None
    vrrp_ip: str | None = None
    ha_ip: str | None = None
    vrrp_port_id: str | None = None
    ha_port_id: str | None = None
    cert_expiration: str | None = None
    cert_busy: bool = False
    role: str | None = None
    status: str
    vrrp_interface: str | None = None
    vrrp_id: int | None = None
    vrrp_priority: int | None = None
    cached_zone: str | None = None
    created_at: str
    updated_at: str | None = None
    image_id: str | None = None
    compute_flavor: str | None = None


FILTERS = Filters(parsers=dict.fromkeys((*AmphoraView.__struct_fields__, "name"), parse_text), tagged=False)
"""Filters for amphorae. They have no name, but the OpenStack client looks them up by one."""


async def list_no_amphorae(services: Services, call: Call) -> Answer:
    """Handle GET /amphorae: answer with an empty list. Raises :class:`InvalidQuery` for invalid list parameters
    and any marker.
    """
    wanted = parse_list(call, FILTERS, services.limits)
    # In an empty list every marker is unknown.
    if (marker := wanted.query.marker) is not None:
        raise InvalidQuery(f"marker: there is no {TITLE} {marker[:64]}")
    return json_answer({"amphorae": [], "amphorae_links": []})


async def refuse_amphora_request(services: Services, call: Call) -> Answer:
    """Handle any request for one amphora, which never exists. Raises :class:`NotFound`."""
    raise NotFound(TITLE, object_id(call, TITLE))


def _operation_on_amphora(method: str, below: str, action: str, summary: str, status: int = 200) -> Operation:
    return Operation(
        method=method,
        path=f"/amphorae/{{id}}{below}",
        handle=refuse_amphora_request,
        summary=summary,
        rule=octavia_rule("amphora", action),
        answer=single_object_type("amphora", AmphoraView) if action == "get_one" else None,
        status=status,
        hidden=action != "get_one",
    )


AMPHORA_ROUTES: tuple[Operation, ...] = (
    Operation(
        method="GET",
        path="/amphorae",
        handle=list_no_amphorae,
        summary="List amphorae: there are none",
        rule=octavia_rule("amphora", "get_all"),
        answer=defstruct(
            "AmphoraPage", [("amphorae", list[AmphoraView]), ("amphorae_links", list[Link])], kw_only=True
        ),
        partial=AmphoraView,
        parameters=(*PAGE_PARAMETERS, FIELDS_PARAMETER),
        filters=True,
    ),
    _operation_on_amphora("GET", "", "get_one", "Show an amphora"),
    _operation_on_amphora("GET", "/stats", "get_stats", "Show an amphora's statistics"),
    _operation_on_amphora("PUT", "/config", "put_config", "Configure an amphora", 202),
    _operation_on_amphora("PUT", "/failover", "put_failover", "Fail an amphora over", 202),
    _operation_on_amphora("DELETE", "", "delete", "Delete an amphora", 204),
)
