"""Routes of Neutron resources that LBaaS clients use: agents, quotas, look-ups."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from evenkeel.api.common.linking import single_object_type
from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.neutron import agents, extras, quotas
from evenkeel.api.neutron.lists import LIST_PARAMETERS, SHORT_LIST_PARAMETERS, list_page_type
from evenkeel.api.neutron.lookups import LOOKUPS
from evenkeel.api.neutron.style import BASE
from evenkeel.api.neutron.v2.names import V2
from evenkeel.api.neutron.v2.routes import V2_ROUTES
from evenkeel.api.neutron.v2.views import V2LoadBalancerView
from evenkeel.api.policy.names import PUBLIC, octavia_rule, octavia_rules, own_rule, own_rules
from evenkeel.api.responses.answers import Answer


def _operations_with_refusal(refused: Callable[[], Answer], *operations: Operation) -> Iterator[Operation]:
    """Yield copies of the operations whose response to callers whom the rule does not allow comes from
    ``refused``.
    """
    return (replace(operation, refused=refused) for operation in operations)


_AGENT = ObjectRoutes(
    name="agent", plural="agents", path="/agents", view=agents.NeutronAgentView, rule=own_rules("agent")
)
AGENT_ROUTES = (
    _AGENT.list_operation(
        agents.list_agents,
        "List agents",
        refused=agents.empty_agent_list,
        answer=list_page_type("agents", agents.NeutronAgentView),
        partial=agents.NeutronAgentView,
        parameters=SHORT_LIST_PARAMETERS,
        filters=True,
    ),
    *_operations_with_refusal(
        agents.agent_not_found,
        _AGENT.show_fields(agents.show_agent, "Show an agent"),
        _AGENT.change_operation(agents.change_agent, agents.NeutronAgentChangeBody, "Drain an agent, or undrain it"),
        _AGENT.delete_operation(agents.delete_stopped_agent, "Delete an agent that is gone", errors=(409,)),
    ),
    _AGENT.get_operation(
        "agent-loadbalancers",
        agents.list_load_balancers_on_agent,
        "List the load balancers of an agent",
        rule="get_loadbalancers",
        answer=list_page_type("loadbalancers", V2LoadBalancerView),
        partial=V2LoadBalancerView,
        parameters=LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/lbaas/loadbalancers/{id}/loadbalancer-hosting-agent",
        handle=agents.show_hosting_agent,
        summary="Show the agent that serves a load balancer",
        rule=own_rule("loadbalancer", "get_agent"),
        answer=_AGENT.answer_type | None,  # type: ignore[arg-type]
    ),
)

_QUOTA = ObjectRoutes(
    name="quota", plural="quotas", path="/quotas", view=quotas.NeutronQuotaView, rule=octavia_rules("quota")
)
QUOTA_ROUTES = _operations_with_refusal(
    quotas.quotas_forbidden,
    _QUOTA.list_operation(
        quotas.list_quotas,
        "List quotas of projects that have some of their own",
        answer=list_page_type("quotas", quotas.NeutronProjectQuotaView),
        partial=quotas.NeutronProjectQuotaView,
        parameters=LIST_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/quotas/tenant",
        handle=quotas.show_tenant_of_caller,
        summary="Show whose quotas are the caller's",
        rule=octavia_rule("quota", "get_one"),
        answer=single_object_type("tenant", quotas.TenantOfCaller),
    ),
    _QUOTA.show_fields(quotas.show_quotas, "Show a project's quotas"),
    _QUOTA.get_operation(
        "default", quotas.show_default_quotas, "Show the default quotas", rule="get_defaults", answer=_QUOTA.answer_type
    ),
    _QUOTA.change_operation(quotas.change_quotas, quotas.NeutronQuotaChangeBody, "Set a project's quotas"),
    _QUOTA.delete_operation(quotas.reset_quotas, "Reset a project's quotas"),
)

_EXTENSION = ObjectRoutes(
    name="extension", plural="extensions", path="/extensions", view=extras.NeutronExtension, rule=own_rules("lookup")
)
_FLAVOR = ObjectRoutes(
    name="flavor", plural="flavors", path="/flavors", view=extras.NeutronFlavorView, rule=octavia_rules("flavor")
)
EXTRA_ROUTES = (
    _EXTENSION.list_operation(
        extras.list_extensions,
        "List extensions",
        answer=list_page_type("extensions", extras.NeutronExtension),
        partial=extras.NeutronExtension,
        parameters=SHORT_LIST_PARAMETERS,
    ),
    _EXTENSION.show_operation(extras.show_extension, "Show an extension"),
    Operation(
        method="GET",
        path="/service-providers",
        handle=extras.list_service_providers,
        summary="List providers",
        rule=octavia_rule("provider", "get_all"),
        answer=list_page_type("service_providers", extras.ServiceProviderView),
        partial=extras.ServiceProviderView,
        parameters=SHORT_LIST_PARAMETERS,
    ),
    _FLAVOR.list_operation(
        extras.list_flavors,
        "List flavors",
        answer=list_page_type("flavors", extras.NeutronFlavorView),
        partial=extras.NeutronFlavorView,
        parameters=LIST_PARAMETERS,
        filters=True,
    ),
    _FLAVOR.show_fields(extras.show_flavor, "Show a flavor"),
)

NEUTRON_ROUTES = (
    RouteMap(
        tag="Neutron",
        prefixes=(BASE,),
        operations=(
            Operation(
                method="GET",
                path="",
                handle=extras.list_versions,
                summary="List API versions",
                rule=PUBLIC,
                answer=extras.NeutronVersions,
            ),
            Operation(
                method="GET",
                path="/v2.0",
                handle=extras.list_resources,
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
