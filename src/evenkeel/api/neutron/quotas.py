"""Quotas in Neutron's form: the same limits as Octavia's, under LBaaS v2's and v1's names in one document."""

from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from evenkeel.api.common.services import Services
from evenkeel.api.http.bodies import Request
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import Filters
from evenkeel.api.neutron.bodies import NeutronChange, invalid_value
from evenkeel.api.neutron.errors import NeutronRefusal, error_answer
from evenkeel.api.neutron.fields import QuotaLimit
from evenkeel.api.neutron.lists import list_page_body, parse_list, read_page, select_fields
from evenkeel.api.octavia.quotas import project_in_path
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.responses.errors import Forbidden
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.quota import TITLES, ProjectQuotas, Quotas

NAMES = {
    "loadbalancer": "loadbalancer",
    "listener": "listener",
    "pool": "pool",
    "member": "member",
    "healthmonitor": "healthmonitor",
    "l7policy": "l7policy",
    "vip": "listener",
    "health_monitor": "healthmonitor",
}
"""``{Neutron's name of a quota: Octavia's name}``; the last two are LBaaS v1's, where a VIP is a listener."""

_REFUSAL_TEXT = "User does not have admin privileges: Only admin can view or configure quota."
FILTERS = Filters(parsers={}, tagged=False)


class NeutronQuotaView(Value):
    """The maximum number of objects of each kind; -1: no limit."""

    loadbalancer: int
    listener: int
    pool: int
    member: int
    healthmonitor: int
    l7policy: int
    vip: int
    health_monitor: int


class NeutronProjectQuotaView(NeutronQuotaView):
    """Quotas of one project, in a list."""

    tenant_id: str


class NeutronQuotaChange(NeutronChange):
    """Limits to set; null: back to the default, absent: unchanged."""

    READ_ONLY: ClassVar[frozenset[str]] = frozenset({"tenant_id", "project_id"})

    loadbalancer: QuotaLimit | UnsetType | None = UNSET
    listener: QuotaLimit | UnsetType | None = UNSET
    pool: QuotaLimit | UnsetType | None = UNSET
    member: QuotaLimit | UnsetType | None = UNSET
    healthmonitor: QuotaLimit | UnsetType | None = UNSET
    l7policy: QuotaLimit | UnsetType | None = UNSET
    vip: QuotaLimit | UnsetType | None = UNSET
    health_monitor: QuotaLimit | UnsetType | None = UNSET


class NeutronQuotaChangeBody(Request):
    """Body of PUT /quotas/{id}."""

    quota: NeutronQuotaChange


class TenantOfCaller(Value):
    """The project of the caller."""

    tenant_id: str


def _quotas_by_neutron_name(quotas: Quotas) -> dict[str, int]:
    return {name: getattr(quotas, ours) for name, ours in NAMES.items()}


def quota_view(quotas: Quotas) -> NeutronQuotaView:
    """Convert quotas to Neutron's names."""
    return NeutronQuotaView(**_quotas_by_neutron_name(quotas))


def quotas_forbidden() -> Answer:
    """Build Neutron's response 403 to a request for quotas."""
    return error_answer(403, "AdminRequired", _REFUSAL_TEXT)


def _project_of_path(call: Call) -> ProjectId:
    """Return the project in the path. Raises :class:`NeutronRefusal` (403) if it is not the caller's, unless
    the caller may see all projects; :class:`Invalid` for an impossible id.
    """
    try:
        return project_in_path(call)
    except Forbidden as error:
        raise NeutronRefusal(403, "AdminRequired", _REFUSAL_TEXT) from error


async def list_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas: list a page of the quotas of projects with limits of their own; 403 for callers who
    do not see all projects. Raises :class:`NeutronRefusal` for a bad parameter.
    """
    if call.caller.scope is not None:
        return quotas_forbidden()
    wanted = parse_list(call, FILTERS, services.limits)
    page = await read_page(call, wanted, services.quotas.list_quotas)
    views = [
        NeutronProjectQuotaView(tenant_id=row.project_id, **_quotas_by_neutron_name(row.quotas)) for row in page.items
    ]
    return json_answer(list_page_body(call, "quotas", views, wanted, page))


async def show_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas/{id}: show the quotas of one project. Raises :class:`NeutronRefusal` (403) for
    another project than the caller's, :class:`InvalidQuery` for an invalid query string, :class:`Invalid` for
    an impossible project id.
    """
    row: ProjectQuotas = await services.quotas.quotas_of(_project_of_path(call))
    return json_answer({"quota": select_fields(quota_view(row.quotas), call.query_values("fields"))})


async def show_default_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas/{id}/default: show the default quotas, equal for every project. Raises
    :class:`NeutronRefusal` (403) for another project than the caller's, :class:`Invalid` for an impossible
    project id.
    """
    _project_of_path(call)
    return json_answer({"quota": quota_view(services.quotas.default_quotas())})


async def show_tenant_of_caller(services: Services, call: Call) -> Answer:
    """Handle GET /quotas/tenant: show the project whose quotas a client requests by default."""
    return json_answer({"tenant": TenantOfCaller(tenant_id=call.caller.project_id)})


async def change_quotas(services: Services, call: Call, body: NeutronQuotaChangeBody) -> Answer:
    """Handle PUT /quotas/{id}: set limits; answers with all quotas of the project. Raises
    :class:`NeutronRefusal`: 403 for another project than the caller's, 400 if two names of one limit have
    different values, :class:`Invalid` for an impossible project id.
    """
    row = await services.quotas.set_quotas(_project_of_path(call), _limits_of_body(body.quota))
    return json_answer({"quota": quota_view(row.quotas)})


def _limits_of_body(body: NeutronQuotaChange) -> dict[str, int | None]:
    limits: dict[str, int | None] = {}
    for name, ours in NAMES.items():
        value: Any = getattr(body, name)
        if value is UNSET:
            continue
        # Two of Neutron's names may stand for one limit: a request may contain both, but only with one value.
        if limits.setdefault(ours, value) != value:
            raise invalid_value(name, f"'{value}' is not the same as {ours}, which is {limits[ours]}.")
    return limits


async def reset_quotas(services: Services, call: Call) -> Answer:
    """Handle DELETE /quotas/{id}: reset a project's limits to the defaults. Idempotent; answers 204. Raises
    :class:`NeutronRefusal` (403) for another project than the caller's, :class:`Invalid` for an impossible
    project id.
    """
    await services.quotas.set_quotas(_project_of_path(call), dict.fromkeys(TITLES))
    return NO_CONTENT
