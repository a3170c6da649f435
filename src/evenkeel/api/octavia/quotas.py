"""Quotas of projects, and the defaults. Usage is not shown, like in Octavia."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import Filters, page_links, parse_list, read_page, select_fields
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.octavia.catalogue_bodies import ProjectQuotaView, QuotaSet, QuotaSetBody, QuotaView
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import Forbidden, invalid_input
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.quota import TITLES, ProjectQuotas, Quotas

SPELLINGS = {"loadbalancer": "load_balancer", "healthmonitor": "health_monitor"}
"""``{name of a quota: Octavia's second name for it}``; both names are accepted and shown."""

FILTERS = Filters(parsers={}, tagged=False)


def _quotas_in_both_spellings(quotas: Quotas) -> dict[str, int]:
    values: dict[str, int] = asdict(quotas)
    return values | {other: values[name] for name, other in SPELLINGS.items()}


def quota_view(row: ProjectQuotas) -> ProjectQuotaView:
    """Convert the limits of a project to their view, each under both names."""
    return ProjectQuotaView(
        project_id=row.project_id, tenant_id=row.project_id, **_quotas_in_both_spellings(row.quotas)
    )


async def list_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas: list a page of the quotas of projects with limits of their own. Raises
    :class:`InvalidQuery`, :class:`Invalid` for an unknown filter.
    """
    wanted = parse_list(call, FILTERS, services.limits)
    page = await read_page(wanted, services.quotas.list_quotas)
    shown = [select_fields(quota_view(row), wanted.fields) for row in page.items]
    return json_answer({"quotas": shown, "quotas_links": page_links(call, page, wanted.query.limit)})


async def show_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas/{project_id}: show a project's limits, set or default ones. Raises
    :class:`Forbidden` for another project than the caller's, :class:`InvalidQuery` for an invalid query string,
    :class:`Invalid` for an impossible project id.
    """
    fields = call.query_values("fields")
    row = await services.quotas.quotas_of(project_in_path(call))
    return json_answer({"quota": select_fields(quota_view(row), fields)})


async def show_default_quotas(services: Services, call: Call) -> Answer:
    """Handle GET /quotas/defaults and GET /quotas/{project_id}/default: show the default quotas, equal for
    every project. Raises :class:`Forbidden` for another project than the caller's, :class:`Invalid` for an
    impossible project id.
    """
    quotas = services.quotas.default_quotas()
    if "id" in call.params:
        return json_answer({"quota": quota_view(ProjectQuotas(project_id=project_in_path(call), quotas=quotas))})
    return json_answer({"quota": QuotaView(**_quotas_in_both_spellings(quotas))})


async def change_quotas(services: Services, call: Call, body: QuotaSetBody) -> Answer:
    """Handle PUT /quotas/{project_id}: set limits of a project; answers 202 with all its quotas. Raises
    :class:`Forbidden` for another project than the caller's, :class:`Invalid` for contradictory limits or
    an impossible project id.
    """
    row = await services.quotas.set_quotas(project_in_path(call), limits_from_body(body.quota))
    return json_answer({"quota": quota_view(row)}, 202)


async def reset_quotas(services: Services, call: Call) -> Answer:
    """Handle DELETE /quotas/{project_id}: reset the project's limits to the defaults. Idempotent; answers
    202. Raises :class:`Forbidden` for another project than the caller's, :class:`Invalid` for an
    impossible project id.
    """
    await services.quotas.set_quotas(project_in_path(call), dict.fromkeys(TITLES))
    return Answer(202)


def project_in_path(call: Call) -> ProjectId:
    """Return the project in the path. Raises :class:`Invalid` for an impossible id, :class:`Forbidden` if the
    caller may not see the project.
    """
    project_id = checked_project(call.params["id"], "project_id")
    if call.caller.scope not in (None, project_id):
        raise Forbidden
    return project_id


def limits_from_body(body: QuotaSet) -> dict[str, int | None]:
    """Return the limits in a request, by their first names; None: the default. Raises :class:`Invalid` if the
    two names of one differ.
    """
    limits: dict[str, int | None] = {}
    for name in TITLES:
        values: dict[str, Any] = {each: getattr(body, each) for each in (name, SPELLINGS.get(name, name))}
        given = {each: value for each, value in values.items() if value is not UNSET}
        if len(set(given.values())) > 1:
            other = SPELLINGS[name]
            raise invalid_input(other, given[other], f"It should be the same as {name}, which is {given[name]}.")
        for value in given.values():
            limits[name] = value
    return limits
