"""The routes of the operators' API."""

from msgspec import defstruct, structs

from evenkeel.api.lists import PAGE_PARAMETERS
from evenkeel.api.octavia.linking import Link, wrapped
from evenkeel.api.octavia.views import LoadBalancerView
from evenkeel.api.operators import (
    agents,
    certificates,
    database,
    enhanced_services,
    environments,
    handlers,
    plans,
    references,
    requests,
    views,
)
from evenkeel.api.operators.agent_views import AgentView
from evenkeel.api.operators.query import operator_only
from evenkeel.api.policy.names import own
from evenkeel.api.routing import Operation, Parameter, RouteMap

_AGENT_PARAMETERS = (
    Parameter(name="environment", description="Of this environment"),
    Parameter(name="group_number", description="Of this device group", type=int),
    Parameter(name="host", description="On this host"),
    Parameter(name="device_driver", description="With this device driver"),
    Parameter(name="id", description="With this id"),
    Parameter(name="alive", description="With a live session or not", type=bool),
    Parameter(name="admin_state_up", description="In service or not", type=bool),
    Parameter(name="state", description="In this state: up, draining, drained, silent, stopped or forced_down"),
)

_AGENT = wrapped("agent", AgentView)
_ENVIRONMENT = wrapped("environment", views.EnvironmentView)

_AGENTS = (
    Operation(
        method="GET",
        path="/agents",
        handle=agents.agents,
        summary="List agents",
        rule=own("agent", "get"),
        answer=defstruct("AgentList", [("agents", list[AgentView])], kw_only=True),
        parameters=_AGENT_PARAMETERS,
    ),
    Operation(
        method="GET",
        path="/agents/{id}",
        handle=agents.agent,
        summary="Show an agent",
        rule=own("agent", "get"),
        answer=_AGENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}",
        handle=agents.change_agent,
        summary="Drain an agent (admin_state_up false), or undrain it",
        rule=own("agent", "update"),
        body=requests.AgentChangeBody,
        answer=_AGENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}/drain",
        handle=agents.set_admin_state(False),
        summary="Drain an agent: hand its shards over to other agents, and assign it none",
        rule=own("agent", "update"),
        answer=_AGENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}/undrain",
        handle=agents.set_admin_state(True),
        summary="Put a drained agent back into service",
        rule=own("agent", "update"),
        answer=_AGENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}/failback",
        handle=agents.failback,
        summary="Hand the shards whose home it is back to it",
        rule=own("agent", "update"),
        answer=_AGENT,
        errors=(404, 409),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}/force-down",
        handle=agents.force_down,
        summary="Declare its host dead, so that its shards move at once, or revoke that",
        rule=own("agent", "force_down"),
        body=requests.ForceDownBody,
        answer=_AGENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/agents/{id}/rebind",
        handle=agents.rebind,
        summary="Make another agent of its group the home of its shards",
        rule=own("agent", "rebind"),
        body=requests.RebindBody,
        answer=wrapped("rebound", views.ReboundView),
        errors=(404, 409),
    ),
    Operation(
        method="DELETE",
        path="/agents/{id}",
        handle=agents.delete_agent,
        summary="Delete a stopped agent",
        rule=own("agent", "delete"),
        status=204,
        parameters=(
            Parameter(name="rebind_to", description="The agent of its group that becomes the home of its shards"),
        ),
        errors=(404, 409),
    ),
    Operation(
        method="GET",
        path="/agents/{id}/loadbalancers",
        handle=agents.agent_load_balancers,
        summary="List load balancers the agent acts for or is home to",
        rule=own("agent", "get_loadbalancers"),
        answer=defstruct(
            "HostedPage",
            [("loadbalancers", list[LoadBalancerView]), ("loadbalancers_links", list[Link])],
            kw_only=True,
        ),
        parameters=PAGE_PARAMETERS,
        filters=True,
        errors=(404,),
    ),
)

_ENVIRONMENTS = (
    Operation(
        method="GET",
        path="/environments",
        handle=environments.environments,
        summary="List environments",
        rule=own("environment", "get"),
        answer=defstruct("EnvironmentList", [("environments", list[views.EnvironmentView])], kw_only=True),
    ),
    Operation(
        method="POST",
        path="/environments",
        handle=environments.create_environment,
        summary="Create an environment",
        rule=own("environment", "create"),
        body=requests.EnvironmentNewBody,
        answer=_ENVIRONMENT,
        status=201,
        errors=(409,),
    ),
    Operation(
        method="GET",
        path="/environments/{name}",
        handle=environments.environment,
        summary="Show an environment",
        rule=own("environment", "get"),
        answer=_ENVIRONMENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/environments/{name}",
        handle=environments.change_environment,
        summary="Change an environment",
        rule=own("environment", "update"),
        body=requests.EnvironmentChangeBody,
        answer=_ENVIRONMENT,
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/environments/{name}/resume",
        handle=environments.resume_environment,
        summary="Close its circuit breaker: the shards of silent agents move",
        rule=own("environment", "update"),
        answer=_ENVIRONMENT,
        errors=(404,),
    ),
    Operation(
        method="DELETE",
        path="/environments/{name}",
        handle=environments.delete_environment,
        summary="Delete an environment without agents and load balancers",
        rule=own("environment", "delete"),
        status=204,
        errors=(404, 409),
    ),
)

_ENHANCED_SERVICES = (
    Operation(
        method="GET",
        path="/enhanced_services",
        handle=enhanced_services.enhanced_services,
        summary="List the enhanced services that agents loaded, and whether the agents of an environment agree",
        rule=own("enhanced_service", "get"),
        answer=defstruct(
            "EnhancedServiceList",
            [("enhanced_services", list[enhanced_services.EnhancedServiceView])],
            kw_only=True,
        ),
        parameters=(
            Parameter(name="environment", description="Of this environment"),
            Parameter(name="name", description="With this name"),
        ),
    ),
    Operation(
        method="GET",
        path="/environments/{name}/enhanced_services/{enhanced_service}",
        handle=enhanced_services.enhanced_service,
        summary="Show an enhanced service of an environment, agent by agent",
        rule=own("enhanced_service", "get"),
        answer=wrapped("enhanced_service", enhanced_services.EnhancedServiceView),
        errors=(404,),
    ),
)

_DATABASE = wrapped("database", views.DatabaseView)

_OTHERS = (
    Operation(
        method="GET",
        path="/database",
        handle=database.database,
        summary="Show the history of the database",
        rule=own("database", "get"),
        answer=_DATABASE,
    ),
    Operation(
        method="POST",
        path="/database/new-history",
        handle=database.new_history,
        summary="State that the database was restored or has lost changes: all agents check everything they serve",
        rule=own("database", "new_history"),
        answer=_DATABASE,
    ),
    Operation(
        method="GET",
        path="/status",
        handle=handlers.status,
        summary="Show a summary of the whole system",
        rule=own("status", "get"),
        answer=wrapped("status", views.StatusView),
    ),
    Operation(
        method="GET",
        path="/loadbalancers/{id}/agent",
        handle=handlers.hosting,
        summary="Show the agents of a load balancer",
        rule=own("loadbalancer", "get_agent"),
        answer=wrapped("hosting", views.HostingView),
        errors=(404,),
    ),
    Operation(
        method="POST",
        path="/loadbalancers/{id}/plan",
        handle=plans.plan,
        summary="Show what the next pass over a load balancer would change on its devices; changes nothing",
        rule=own("loadbalancer", "plan"),
        answer=wrapped("plan", plans.PlanView),
        errors=(404, 409, 503),
    ),
    Operation(
        method="POST",
        path="/shards/{id}/adoption",
        handle=plans.adoption,
        summary="Plan the adoption of a partition that another program made for the tenant; with apply, adopt it",
        rule=own("shard", "adopt"),
        body=requests.AdoptionBody,
        answer=wrapped("adoption", plans.PlanView),
        errors=(404, 409, 503),
    ),
    Operation(
        method="POST",
        path="/shards/{id}/orphans",
        handle=plans.orphans,
        summary="List load balancers that a group's devices hold and the database does not know (of a common shard)",
        rule=own("shard", "get_orphans"),
        answer=defstruct(
            "OrphanList",
            [
                ("orphans", list[plans.OrphanView]),
                ("partitions", list[plans.OrphanedPartitionView]),
                ("more", int),
            ],
            kw_only=True,
        ),
        errors=(404, 409, 503),
    ),
    Operation(
        method="GET",
        path="/subnets",
        handle=handlers.subnets,
        summary="List address pools",
        rule=own("subnet", "get"),
        answer=defstruct("SubnetList", [("subnets", list[views.SubnetView])], kw_only=True),
    ),
    Operation(
        method="POST",
        path="/subnets",
        handle=handlers.create_subnet,
        summary="Create an address pool",
        rule=own("subnet", "create"),
        body=requests.SubnetNewBody,
        answer=wrapped("subnet", views.SubnetView),
        status=201,
        errors=(409,),
    ),
    Operation(
        method="PUT",
        path="/subnets/{id}",
        handle=handlers.change_subnet,
        summary="Set the addresses that devices may have in an address pool",
        rule=own("subnet", "update"),
        body=requests.SubnetChangeBody,
        answer=wrapped("subnet", views.SubnetView),
        errors=(404, 409),
    ),
    Operation(
        method="GET",
        path="/networks",
        handle=handlers.networks,
        summary="List declared networks",
        rule=own("network", "get"),
        answer=defstruct("NetworkList", [("networks", list[views.NetworkView])], kw_only=True),
    ),
    Operation(
        method="POST",
        path="/networks",
        handle=handlers.create_network,
        summary="Declare a network of the built-in network service, to which devices may be attached",
        rule=own("network", "create"),
        body=requests.NetworkNewBody,
        answer=wrapped("network", views.NetworkView),
        status=201,
        errors=(409,),
    ),
    Operation(
        method="GET",
        path="/networks/{id}",
        handle=handlers.network,
        summary="Show a declared network",
        rule=own("network", "get"),
        answer=wrapped("network", views.NetworkView),
        errors=(404,),
    ),
    Operation(
        method="PUT",
        path="/networks/{id}",
        handle=handlers.change_network,
        summary="Change a declared network; load balancers of devices attached to it follow",
        rule=own("network", "update"),
        body=requests.NetworkChangeBody,
        answer=wrapped("network", views.NetworkView),
        errors=(404, 409),
    ),
    Operation(
        method="DELETE",
        path="/networks/{id}",
        handle=handlers.delete_network,
        summary="Delete a declared network to which no device is attached",
        rule=own("network", "delete"),
        status=204,
        errors=(404, 409),
    ),
    Operation(
        method="DELETE",
        path="/subnets/{id}",
        handle=handlers.delete_subnet,
        summary="Delete an address pool that no load balancer uses",
        rule=own("subnet", "delete"),
        status=204,
        errors=(404, 409),
    ),
    Operation(
        method="GET",
        path="/shards",
        handle=handlers.shards,
        summary="List shards",
        rule=own("shard", "get"),
        answer=defstruct("ShardList", [("shards", list[views.ShardView])], kw_only=True),
        parameters=(
            Parameter(name="environment", description="Of this environment"),
            Parameter(name="agent_id", description="Of this agent, home or acting"),
        ),
    ),
    Operation(
        method="GET",
        path="/events",
        handle=handlers.events,
        summary="List events, oldest first",
        rule=own("event", "get"),
        answer=defstruct("EventList", [("events", list[views.EventView])], kw_only=True),
        parameters=(
            Parameter(name="after", description="Only those with a greater id", type=int),
            Parameter(name="limit", description="The maximum number of events (1 to 1000, default 100)", type=int),
            Parameter(name="newest", description="The last ones instead of the first", type=bool),
        ),
    ),
)

_CERTIFICATE = wrapped("certificate", certificates.CertificateView)
_KEY_MANAGER = (501, 503)

_CERTIFICATES = (
    Operation(
        method="GET",
        path="/certificates",
        handle=certificates.certificates,
        summary="List the certificates that the controllers store",
        rule=own("certificate", "get"),
        answer=defstruct("CertificateList", [("certificates", list[certificates.CertificateView])], kw_only=True),
        parameters=(Parameter(name="project_id", description="Of this project"),),
        errors=_KEY_MANAGER,
    ),
    Operation(
        method="POST",
        path="/certificates",
        handle=certificates.add_certificate,
        summary="Add a certificate with its key, CA certificates or a revocation list",
        rule=own("certificate", "create"),
        body=requests.CertificateNewBody,
        answer=_CERTIFICATE,
        status=201,
        errors=(409, *_KEY_MANAGER),
    ),
    Operation(
        method="GET",
        path="/certificates/{project_id}/{name}",
        handle=certificates.certificate,
        summary="Show a certificate; never its key",
        rule=own("certificate", "get"),
        answer=_CERTIFICATE,
        errors=(404, *_KEY_MANAGER),
    ),
    Operation(
        method="DELETE",
        path="/certificates/{project_id}/{name}",
        handle=certificates.delete_certificate,
        summary="Delete a certificate, even if it is referred to",
        rule=own("certificate", "delete"),
        status=204,
        errors=(404, *_KEY_MANAGER),
    ),
)

_REFERENCES = (
    Operation(
        method="GET",
        path="/references",
        handle=references.references,
        summary="List references of listeners and pools to the key manager, the first to expire first",
        rule=own("reference", "get"),
        answer=defstruct("ReferenceList", [("references", list[references.ReferenceView])], kw_only=True),
        parameters=(
            Parameter(name="project_id", description="Of this project"),
            Parameter(name="expiring_days", description="Only certificates that expire within so many days", type=int),
            Parameter(name="unreadable", description="Only those that could not be read the last time", type=bool),
        ),
    ),
    Operation(
        method="POST",
        path="/references/refresh",
        handle=references.refresh,
        summary="Read a reference, or all of them, again now",
        rule=own("reference", "refresh"),
        body=requests.RefreshBody,
        answer=wrapped("refresh", references.RefreshView),
        status=202,
        errors=(404,),
    ),
)

OPERATOR_ROUTES = RouteMap(
    tag="Operators",
    prefixes=("/evenkeel/v1",),
    operations=tuple(
        structs.replace(operation, handle=operator_only(operation.handle), errors=(403, *operation.errors))
        for operation in (*_AGENTS, *_ENVIRONMENTS, *_ENHANCED_SERVICES, *_CERTIFICATES, *_REFERENCES, *_OTHERS)
    ),
)
