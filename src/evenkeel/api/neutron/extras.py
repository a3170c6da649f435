"""Other Neutron resources that clients request: versions, extensions, flavors."""

from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.http.lists import Filters, parse_text
from evenkeel.api.neutron.lists import list_page_body, parse_list, read_page, select_fields, unpaged_list_body
from evenkeel.api.neutron.style import BASE
from evenkeel.api.octavia.catalogue import FLAVORS
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.catalogue import Flavor

FLAVOR_FILTERS = Filters(
    parsers={"id": parse_text, "name": parse_text, "description": parse_text, "enabled": parse_bool}, owned=False
)
SERVICE_TYPE = "LOADBALANCERV2"


class NeutronVersionLink(Value):
    """URL of an API version."""

    href: str
    rel: str


class NeutronVersion(Value):
    """A version of Neutron's API."""

    id: str
    status: str
    links: list[NeutronVersionLink]


class NeutronVersions(Value):
    """The list of Neutron API versions."""

    versions: list[NeutronVersion]


class ResourceLink(Value):
    """A collection of the API and its link."""

    name: str
    collection: str
    links: list[NeutronVersionLink]


class NeutronResources(Value):
    """The collections of a version of Neutron's API."""

    resources: list[ResourceLink]


class NeutronExtension(Value):
    """An extension of the Neutron API."""

    alias: str
    name: str
    description: str
    updated: str
    links: list[str]


class ServiceProviderView(Value):
    """A provider: an environment by its name. ``default``: it serves load balancers without a provider."""

    service_type: str
    name: str
    default: bool


class NeutronFlavorView(Value):
    """A flavor of load balancers."""

    id: str
    name: str
    description: str
    enabled: bool
    service_type: str
    service_profiles: list[str]


_UPDATED_AT = "2018-12-01T00:00:00-00:00"
EXTENSIONS = tuple(
    NeutronExtension(alias=alias, name=name, description=name, updated=_UPDATED_AT, links=[])
    for alias, name in (
        ("agent", "Agents"),
        ("flavors", "Flavors of load balancers"),
        ("hm_max_retries_down", "Failed checks until a member is offline"),
        ("l7", "L7 policies and rules of LBaaS v2"),
        ("lb-graph", "Whole load balancers in one request"),
        ("lb_network_vip", "VIPs by network"),
        ("lbaas", "LBaaS v1"),
        ("lbaas_agent_scheduler", "Agents of LBaaS v1"),
        ("lbaas_agent_schedulerv2", "Agents of LBaaS v2"),
        ("lbaasv2", "LBaaS v2"),
        ("quotas", "Quotas"),
        ("service-type", "Providers"),
        ("shared_pools", "Pools that several listeners send to"),
    )
)
_COLLECTIONS = (
    ("loadbalancer", "lbaas/loadbalancers"),
    ("listener", "lbaas/listeners"),
    ("pool", "lbaas/pools"),
    ("healthmonitor", "lbaas/healthmonitors"),
    ("l7policy", "lbaas/l7policies"),
    ("vip", "lb/vips"),
    ("member", "lb/members"),
    ("health_monitor", "lb/health_monitors"),
    ("agent", "agents"),
    ("extension", "extensions"),
    ("subnet", "subnets"),
    ("network", "networks"),
    ("port", "ports"),
)


async def list_versions(services: Services, call: Call) -> Answer:
    """Handle GET /neutron: list the only API version."""
    link = NeutronVersionLink(href=f"{call.base_url}{BASE}/v2.0/", rel="self")
    return json_answer(NeutronVersions(versions=[NeutronVersion(id="v2.0", status="CURRENT", links=[link])]))


async def list_resources(services: Services, call: Call) -> Answer:
    """Handle GET /v2.0: list the collections of the version."""
    base = f"{call.base_url}{BASE}/v2.0"
    known = [
        ResourceLink(
            name=name,
            collection=path.rpartition("/")[2],
            links=[NeutronVersionLink(href=f"{base}/{path}", rel="self")],
        )
        for name, path in _COLLECTIONS
    ]
    return json_answer(NeutronResources(resources=known))


async def list_extensions(services: Services, call: Call) -> Answer:
    """Handle GET /extensions: list supported extensions, or those with an ``alias`` in the query. Raises
    :class:`NeutronRefusal` for a bad limit, :class:`InvalidQuery` for an invalid query string.
    """
    asked = call.query_values("alias")
    known = [each for each in EXTENSIONS if not asked or each.alias in asked]
    return json_answer(
        unpaged_list_body(call, "extensions", known, lambda each: str(each.alias), services.limits.page_items)
    )


async def show_extension(services: Services, call: Call) -> Answer:
    """Handle GET /extensions/{id}: show one supported extension. Raises :class:`NotFound`."""
    for each in EXTENSIONS:
        if each.alias == call.params["id"]:
            return json_answer({"extension": each})
    raise NotFound("Extension", call.params["id"][:64])


async def list_service_providers(services: Services, call: Call) -> Answer:
    """Handle GET /service-providers: list providers of load balancers, or those with a ``name`` in the query.
    Raises :class:`NeutronRefusal` for a bad limit, :class:`InvalidQuery` for an invalid query string.
    """
    asked = call.query_values("name")
    known = (
        ServiceProviderView(service_type=SERVICE_TYPE, name=row.name, default=row.name == services.default_provider)
        for row in await services.operators.environments()
        if not asked or row.name in asked
    )
    cap = services.limits.page_items
    return json_answer(unpaged_list_body(call, "service_providers", known, lambda each: str(each.name), cap))


def flavor_view(row: Flavor) -> NeutronFlavorView:
    """Convert a flavor to Neutron's view, without profiles, which Octavia's API manages."""
    return NeutronFlavorView(
        id=row.id,
        name=row.name,
        description=row.description,
        enabled=row.enabled,
        service_type=SERVICE_TYPE,
        service_profiles=[],
    )


async def list_flavors(services: Services, call: Call) -> Answer:
    """Handle GET /flavors: list a page of the flavors of load balancers. Raises :class:`NeutronRefusal` for a
    bad parameter.
    """
    wanted = parse_list(call, FLAVOR_FILTERS, services.limits)
    page = await read_page(call, wanted, lambda query: services.catalogue.list_catalogue(Flavor, query))
    return json_answer(list_page_body(call, "flavors", [flavor_view(row) for row in page.items], wanted, page))


async def show_flavor(services: Services, call: Call) -> Answer:
    """Handle GET /flavors/{id}: show one flavor. Raises :class:`NotFound`, :class:`InvalidQuery` for an invalid
    query string.
    """
    row: Any = await services.catalogue.catalogue_entry(Flavor, FLAVORS.id_in_path(call))
    return json_answer({"flavor": select_fields(flavor_view(row), call.query_values("fields"))})
