"""Routes of Neutron resources that LBaaS clients use: agents, quotas, look-ups."""

from msgspec import defstruct

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.neutron import agents, extras, quotas
from evenkeel.api.neutron.lists import FIELDS_PARAMETER, LIST_PARAMETERS, SHORT_LIST_PARAMETERS
from evenkeel.api.neutron.lookups import LOOKUPS
from evenkeel.api.neutron.style import BASE
from evenkeel.api.neutron.v2.names import V2
from evenkeel.api.neutron.v2.routes import V2_ROUTES, page_type
from evenkeel.api.neutron.v2.views import V2LoadBalancerView
from evenkeel.api.policy.names import PUBLIC, octavia_rule, own_rule

AGENT_ROUTES = (
    Operation(
        method="GET",
        path="/agents",
        handle=agents.listing,
        summary="List agents",
        rule=own_rule("agent", "get"),
        refused=agents.empty_agent_list,
        answer=page_type("agents", agents.NeutronAgentView),
        partial=agents.NeutronAgentView,
        parameters=SHORT_LIST_PARAMETERS,
        filters=True,
    ),
    Operation(
        method="GET",
        path="/agents/{id}",
        handle=agents.show,
        summary="Show an agent",
        rule=own_rule("agent", "get"),
        refused=agents.agent_not_found,
        answer=defstruct("NeutronAgentViewChosen", [("agent", agents.NeutronAgentView)], kw_only=True),
        partial=agents.NeutronAgentView,
        parameters=(FIELDS_PARAMETER,),
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}",
        handle=agents.change,
        summary="Drain an agent, or undrain it",
        rule=own_rule("agent", "update"),
        refused=agents.agent_not_found,
        body=agents.NeutronAgentChangeBody,
        answer=single_object_type("agent", agents.NeutronAgentView),
        errors=(404,),
    ),
    Operation(
        method="DELETE",
        path="/agents/{id}",
        handle=agents.delete,
        summary="Delete an agent that is gone",
        rule=own_rule("agent", "delete"),
        refused=agents.agent_not_found,
        status=204,
        errors=(404, 409),
    ),
    Operation(
        method="GET",
        path="/agents/{id}/agent-loadbalancers",
        handle=agents.load_balancers,
        summary="List the load balancers of an agent",
        rule=own_rule("agent", "get_loadbalancers"),
        answer=page_type("loadbalancers", V2LoadBalancerView),
        partial=V2LoadBalancerView,
        parameters=LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/lbaas/loadbalancers/{id}/loadbalancer-hosting-agent",
        handle=agents.hosting,
        summary="Show the agent that serves a load balancer",
        rule=own_rule("loadbalancer", "get_agent"),
        answer=single_object_type("agent", agents.NeutronAgentView) | None,  # type: ignore[arg-type]
    ),
)

QUOTA_ROUTES = (
    Operation(
        method="GET",
        path="/quotas",
        handle=quotas.listing,
        summary="List quotas of projects that have some of their own",
        rule=octavia_rule("quota", "get_all"),
        refused=quotas.quotas_forbidden,
        answer=page_type("quotas", quotas.NeutronProjectQuotaView),
        partial=quotas.NeutronProjectQuotaView,
        parameters=LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/quotas/tenant",
        handle=quotas.tenant,
        summary="Show whose quotas are the caller's",
        rule=octavia_rule("quota", "get_one"),
        refused=quotas.quotas_forbidden,
        answer=single_object_type("tenant", quotas.TenantOfCaller),
    ),
    Operation(
        method="GET",
        path="/quotas/{id}",
        handle=quotas.show,
        summary="Show a project's quotas",
        rule=octavia_rule("quota", "get_one"),
        refused=quotas.quotas_forbidden,
        answer=defstruct("NeutronQuotaViewChosen", [("quota", quotas.NeutronQuotaView)], kw_only=True),
        partial=quotas.NeutronQuotaView,
        parameters=(FIELDS_PARAMETER,),
    ),
    Operation(
        method="GET",
        path="/quotas/{id}/default",
        handle=quotas.defaults,
        summary="Show the default quotas",
        rule=octavia_rule("quota", "get_defaults"),
        refused=quotas.quotas_forbidden,
        answer=single_object_type("quota", quotas.NeutronQuotaView),
    ),
    Operation(
        method="PUT",
        path="/quotas/{id}",
        handle=quotas.change,
        summary="Set a project's quotas",
        rule=octavia_rule("quota", "put"),
        refused=quotas.quotas_forbidden,
        body=quotas.NeutronQuotaChangeBody,
        answer=single_object_type("quota", quotas.NeutronQuotaView),
    ),
    Operation(
        method="DELETE",
        path="/quotas/{id}",
        handle=quotas.reset,
        summary="Reset a project's quotas",
        rule=octavia_rule("quota", "delete"),
        refused=quotas.quotas_forbidden,
        status=204,
    ),
)

EXTRA_ROUTES = (
    Operation(
        method="GET",
        path="/extensions",
        handle=extras.extensions,
        summary="List extensions",
        rule=own_rule("lookup", "get"),
        answer=page_type("extensions", extras.NeutronExtension),
        partial=extras.NeutronExtension,
        parameters=SHORT_LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/extensions/{id}",
        handle=extras.extension,
        summary="Show an extension",
        rule=own_rule("lookup", "get"),
        answer=single_object_type("extension", extras.NeutronExtension),
        errors=(404,),
    ),
    Operation(
        method="GET",
        path="/service-providers",
        handle=extras.service_providers,
        summary="List providers",
        rule=octavia_rule("provider", "get_all"),
        answer=page_type("service_providers", extras.ServiceProviderView),
        partial=extras.ServiceProviderView,
        parameters=SHORT_LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/flavors",
        handle=extras.flavors,
        summary="List flavors",
        rule=octavia_rule("flavor", "get_all"),
        answer=page_type("flavors", extras.NeutronFlavorView),
        partial=extras.NeutronFlavorView,
        parameters=LIST_PARAMETERS,
        filters=True,
    ),
    Operation(
        method="GET",
        path="/flavors/{id}",
        handle=extras.flavor,
        summary="Show a flavor",
        rule=octavia_rule("flavor", "get_one"),
        answer=defstruct("NeutronFlavorViewChosen", [("flavor", extras.NeutronFlavorView)], kw_only=True),
        partial=extras.NeutronFlavorView,
        parameters=(FIELDS_PARAMETER,),
        errors=(404,),
    ),
)

NEUTRON_ROUTES = (
    RouteMap(
        tag="Neutron",
        prefixes=(BASE,),
        operations=(
            Operation(
                method="GET",
                path="",
                handle=extras.versions,
                summary="List API versions",
                rule=PUBLIC,
                answer=extras.NeutronVersions,
            ),
            Operation(
                method="GET",
                path="/v2.0",
                handle=extras.resources,
                summary="List what is served",
                rule=PUBLIC,
                answer=extras.NeutronResources,
            ),
        ),
        style=V2,
    ),
    V2_ROUTES,
    RouteMap(
        tag="Neutron",
        prefixes=(f"{BASE}/v2.0",),
        operations=(*AGENT_ROUTES, *QUOTA_ROUTES, *EXTRA_ROUTES, *LOOKUPS),
        style=V2,
    ),
)
