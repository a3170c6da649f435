"""Routes of the operators' API."""

from typing import Any

from msgspec import defstruct, structs

from evenkeel.api.common.event_view import EventView
from evenkeel.api.common.linking import Link, list_type, single_object_type
from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.http.lists import PAGE_PARAMETERS
from evenkeel.api.http.routing import Handler, Operation, Parameter, RouteMap
from evenkeel.api.http.style import OPERATORS
from evenkeel.api.octavia.routes import OCTAVIA_ROUTES
from evenkeel.api.octavia.views import LoadBalancerView
from evenkeel.api.operators import (
    activity,
    acts,
    agents,
    caller,
    certificates,
    database,
    enhanced_services,
    environments,
    events,
    hosting,
    ids,
    imports,
    irules,
    moves,
    networks,
    overview,
    plans,
    references,
    requests,
    search,
    series,
    shards,
    status,
    subnets,
    trees,
    views,
)
from evenkeel.api.operators.agent_views import AgentView
from evenkeel.api.operators.mirror.routes import TREE_BYTES_MAX
from evenkeel.api.operators.query import operator_only
from evenkeel.api.policy.names import own_rule, own_rules
from evenkeel.api.usecases.mirror_requests import HeldPut, ImportPut
from evenkeel.core.control.acts import operator_action_summary


def _object_routes(name: str, view: type[Any], key: str = "{id}") -> ObjectRoutes:
    return ObjectRoutes(name=name, plural=f"{name}s", path=f"/{name}s", view=view, rule=own_rules(name), key=key)


def _document_operation(name: str, view: type[Any], handle: Handler, summary: str, *parameters: Parameter) -> Operation:
    """Declare GET of one document about the whole system, wrapped in ``name``."""
    return Operation(
        method="GET",
        path=f"/{name}",
        handle=handle,
        summary=summary,
        rule=own_rule(name, "get"),
        answer=single_object_type(name, view),
        parameters=parameters,
    )


_OF_ENVIRONMENT = Parameter(name="environment", description="Of this environment")
_OF_PROJECT = Parameter(name="project_id", description="Of this project")
_AGENT_PARAMETERS = (
    _OF_ENVIRONMENT,
    Parameter(name="group_number", description="Of this device group", type=int),
    Parameter(name="host", description="On this host"),
    Parameter(name="device_driver", description="With this device driver"),
    Parameter(name="id", description="With this id"),
    Parameter(name="alive", description="With a live session or not", type=bool),
    Parameter(name="admin_state_up", description="In service or not", type=bool),
    Parameter(name="state", description="In this state: up, draining, drained, silent, stopped or forced_down"),
)

_AGENT = _object_routes("agent", AgentView)
_AGENTS = (
    _AGENT.list_operation(agents.list_agents, "List agents", parameters=_AGENT_PARAMETERS),
    _AGENT.show_operation(agents.show_agent, "Show an agent"),
    _AGENT.change_operation(
        agents.change_agent, requests.AgentChangeBody, "Drain an agent (admin_state_up false), or undrain it"
    ),
    _AGENT.put_operation(
        "drain",
        agents.admin_state_handler(False),
        operator_action_summary("agent_drain"),
        act="agent_drain",
    ),
    _AGENT.put_operation(
        "undrain", agents.admin_state_handler(True), operator_action_summary("agent_undrain"), act="agent_undrain"
    ),
    _AGENT.put_operation(
        "failback",
        agents.request_failback,
        operator_action_summary("agent_failback"),
        act="agent_failback",
        errors=(409,),
    ),
    _AGENT.put_operation(
        "force-down",
        agents.force_agent_down,
        operator_action_summary("agent_force_down"),
        act="agent_force_down",
        rule="force_down",
        body=requests.ForceDownBody,
    ),
    _AGENT.put_operation(
        "rebind",
        agents.rebind_agent,
        operator_action_summary("agent_rebind"),
        act="agent_rebind",
        rule="rebind",
        body=requests.RebindBody,
        answer=single_object_type("rebound", views.ReboundView),
        errors=(409,),
    ),
    _AGENT.delete_operation(
        agents.delete_agent,
        operator_action_summary("agent_delete"),
        act="agent_delete",
        parameters=(
            Parameter(name="rebind_to", description="The agent of its group that becomes the home of its shards"),
        ),
        errors=(409,),
    ),
    _AGENT.get_operation(
        "loadbalancers",
        agents.list_load_balancers_on_agent,
        "List load balancers the agent acts for or is home to",
        rule="get_loadbalancers",
        answer=defstruct(
            "HostedPage",
            [("loadbalancers", list[LoadBalancerView]), ("loadbalancers_links", list[Link])],
            kw_only=True,
        ),
        parameters=PAGE_PARAMETERS,
        filters=True,
    ),
)

_ENVIRONMENT = _object_routes("environment", views.EnvironmentView, key="{name}")
_ENVIRONMENTS = (
    _ENVIRONMENT.list_operation(environments.list_environments, "List environments"),
    _ENVIRONMENT.create_operation(
        environments.create_environment,
        requests.EnvironmentNewBody,
        operator_action_summary("environment_create"),
        act="environment_create",
        errors=(409,),
    ),
    _ENVIRONMENT.show_operation(environments.show_environment, "Show an environment"),
    _ENVIRONMENT.change_operation(
        environments.change_environment,
        requests.EnvironmentChangeBody,
        operator_action_summary("environment_update"),
        act="environment_update",
    ),
    _ENVIRONMENT.put_operation(
        "resume",
        environments.resume_environment,
        operator_action_summary("environment_resume"),
        act="environment_resume",
    ),
    _ENVIRONMENT.delete_operation(
        environments.delete_environment,
        operator_action_summary("environment_delete"),
        act="environment_delete",
        errors=(409,),
    ),
)

_ENHANCED_SERVICE = _object_routes("enhanced_service", enhanced_services.EnhancedServiceView)
_ENHANCED_SERVICES = (
    _ENHANCED_SERVICE.list_operation(
        enhanced_services.list_enhanced_services,
        "List the enhanced services that agents loaded, and whether the agents of an environment agree",
        parameters=(_OF_ENVIRONMENT, Parameter(name="name", description="With this name")),
    ),
    Operation(
        method="GET",
        path="/environments/{name}/enhanced_services/{enhanced_service}",
        handle=enhanced_services.show_enhanced_service,
        summary="Show an enhanced service of an environment, agent by agent",
        rule=own_rule("enhanced_service", "get"),
        answer=_ENHANCED_SERVICE.answer_type,
    ),
)

_DATABASE = single_object_type("database", views.DatabaseView)
_SYSTEM = (
    _document_operation("database", views.DatabaseView, database.show_database, "Show the history of the database"),
    Operation(
        method="POST",
        path="/database/new-history",
        handle=database.begin_new_history,
        summary=operator_action_summary("database_new_history"),
        act="database_new_history",
        rule=own_rule("database", "new_history"),
        answer=_DATABASE,
    ),
    Operation(
        method="POST",
        path="/database/histories/{id}/accept",
        handle=database.accept_history,
        summary=operator_action_summary("database_accept_history"),
        act="database_accept_history",
        rule=own_rule("database", "accept_history"),
        answer=_DATABASE,
    ),
    Operation(
        method="GET",
        path="/acts",
        handle=acts.operator_actions_handler(lambda: (*OCTAVIA_ROUTES, OPERATOR_ROUTES)),
        summary="List what operators can do, in words, and whether the caller may",
        rule=own_rule("act", "get"),
        answer=list_type("acts", acts.ActView),
    ),
    _document_operation(
        "caller", caller.CallerView, caller.show_caller, "Show who the caller is, and the version of the controller"
    ),
    _document_operation("status", status.StatusView, status.show_status, "Show a summary of the whole system"),
    _document_operation(
        "activity",
        activity.ActivityView,
        activity.show_activity,
        "Show this controller's requests and times to ACTIVE, and the traffic of all load balancers, over time",
        Parameter(name="hours", description="Over so many last hours (1 to 24, else 6)", type=int),
        Parameter(
            name="points", description="At most so many points (1 to 360); means of several if there are more", type=int
        ),
    ),
    _document_operation(
        "topology",
        overview.TopologyView,
        overview.show_topology,
        "Show who may write to which devices: device groups with agents, devices and the shards between them",
        _OF_ENVIRONMENT,
    ),
    _object_routes("controller", overview.ControllerView).list_operation(overview.list_controllers, "List controllers"),
    _object_routes("event", EventView).list_operation(
        events.list_events,
        "List events, oldest first; as text/event-stream, resumable by Last-Event-ID, as they happen",
        streams=True,
        parameters=(
            Parameter(name="after", description="Only events with a greater id", type=int),
            Parameter(name="limit", description="The maximum number of events (1 to 1000, default 100)", type=int),
            Parameter(name="newest", description="The last events instead of the first", type=bool),
            Parameter(name="object_id", description="Only events of this agent, shard or load balancer"),
            Parameter(name="by", description="Only acts of the user with this name or id"),
        ),
    ),
    Operation(
        method="GET",
        path="/ids",
        handle=ids.list_ids_with_prefix,
        summary="List ids of load balancers, agents and shards that begin with a prefix",
        rule=own_rule("id", "get"),
        answer=single_object_type("ids", views.IdsView),
        parameters=(Parameter(name="prefix", description="The first 4 to 36 characters"),),
    ),
    Operation(
        method="DELETE",
        path="/orphans/{id}",
        handle=plans.remove_orphan,
        summary=operator_action_summary("orphan_delete"),
        act="orphan_delete",
        rule=own_rule("orphan", "delete"),
        status=204,
    ),
)

_LOAD_BALANCER = _object_routes("loadbalancer", LoadBalancerView)
_LOAD_BALANCERS = (
    Operation(
        method="GET",
        path="/loadbalancers",
        handle=search.find_load_balancers,
        summary="Search the load balancers of all projects, with their number",
        rule=own_rule("loadbalancer", "get"),
        answer=defstruct(
            "FoundLoadBalancerPage",
            [
                ("loadbalancers", list[search.FoundLoadBalancerView]),
                ("total", int),
                ("total_is_exact", bool),
                ("loadbalancers_links", list[Link]),
            ],
            kw_only=True,
        ),
        parameters=search.PARAMETERS,
    ),
    _LOAD_BALANCER.get_operation(
        "agent",
        hosting.show_hosting,
        "Show the agents of a load balancer",
        rule="get_agent",
        answer=single_object_type("hosting", views.HostingView),
    ),
    _LOAD_BALANCER.get_operation(
        "tree",
        trees.show_tree,
        "Show a load balancer and everything below it, with statuses: also pools that no listener uses",
        rule="get_tree",
        answer=single_object_type("tree", trees.LoadBalancerNode),
    ),
    _LOAD_BALANCER.get_operation(
        "history",
        overview.list_revisions,
        "List the last 50 revisions of a load balancer, newest first, with who requested and who applied each",
        rule="get_history",
        answer=list_type("history", overview.RevisionView),
    ),
    _LOAD_BALANCER.get_operation(
        "series",
        series.show_traffic,
        "Show the traffic of a load balancer over the last hours, as far as this controller holds it",
        rule="get_series",
        answer=series.SeriesView,
    ),
    _LOAD_BALANCER.post_operation(
        "plan",
        plans.show_plan,
        "Show what the next pass over a load balancer would change on its devices; changes nothing",
        rule="plan",
        answer=single_object_type("plan", plans.PlanView),
        errors=(409,),
    ),
)

_LISTENER = _object_routes("listener", irules.ListenerIrulesView)
_LISTENERS = (
    _LISTENER.get_operation(
        "irules",
        irules.show_irules,
        "Show the iRules that operators keep on a listener's virtual servers",
        rule="get_irules",
        answer=_LISTENER.answer_type,
    ),
    _LISTENER.put_operation(
        "irules",
        irules.put_irules,
        operator_action_summary("listener_set_irules"),
        act="listener_set_irules",
        rule="set_irules",
        body=requests.IrulesBody,
        errors=(409, 501),
    ),
)

_SHARD = _object_routes("shard", views.ShardView)
_SHARDS = (
    _SHARD.list_operation(
        shards.list_shards,
        "List shards",
        parameters=(
            _OF_ENVIRONMENT,
            Parameter(name="agent_id", description="Of this agent, home or acting"),
        ),
    ),
    _SHARD.put_operation(
        "rebind",
        shards.rebind_shard,
        operator_action_summary("shard_rebind"),
        act="shard_rebind",
        rule="rebind",
        body=requests.RebindBody,
        errors=(409,),
    ),
    _SHARD.post_operation(
        "adoption",
        plans.adopt_or_plan,
        "Plan the adoption of a partition that another program made for the tenant; with apply, adopt it;"
        " with give_back, the way back",
        act="shard_adopt",
        rule="adopt",
        body=requests.AdoptionBody,
        answer=single_object_type("adoption", plans.PlanView),
        errors=(409,),
    ),
    _SHARD.post_operation(
        "orphans",
        plans.list_orphans,
        "List load balancers on a group's devices that are missing from the database (of a common shard)",
        rule="get_orphans",
        answer=defstruct(
            "OrphanList",
            [
                ("orphans", list[plans.OrphanView]),
                ("partitions", list[plans.OrphanedPartitionView]),
                ("more", int),
            ],
            kw_only=True,
        ),
        errors=(409,),
    ),
)

_MOVE = _object_routes("move", moves.MoveView)
_MOVES = (
    _MOVE.list_operation(
        moves.list_moves,
        "List the last moves of load balancers to other device groups, those under way first",
        parameters=(Parameter(name="load_balancer_id", description="Of this load balancer"),),
    ),
    Operation(
        method="POST",
        path="/moves",
        handle=moves.plan_or_begin_moves,
        summary="Plan to move a load balancer, or those of a project, to another device group; with apply, begin it",
        act="move_create",
        rule=own_rule("move", "create"),
        body=requests.MoveBody,
        answer=single_object_type("move", moves.MovePlanView),
        errors=(409,),
    ),
    _MOVE.put_operation(
        "finish",
        moves.finish_move,
        operator_action_summary("move_finish"),
        act="move_finish",
        rule="update",
        errors=(409,),
    ),
    _MOVE.put_operation(
        "back", moves.move_back, operator_action_summary("move_back"), act="move_back", rule="update", errors=(409,)
    ),
)

_SUBNET = _object_routes("subnet", views.SubnetView)
_SUBNETS = (
    _SUBNET.list_operation(subnets.list_subnets, "List address pools"),
    _SUBNET.create_operation(
        subnets.create_subnet,
        requests.SubnetNewBody,
        operator_action_summary("subnet_create"),
        act="subnet_create",
        errors=(409,),
    ),
    _SUBNET.change_operation(
        subnets.change_subnet,
        requests.SubnetChangeBody,
        operator_action_summary("subnet_update"),
        act="subnet_update",
        errors=(409,),
    ),
    _SUBNET.delete_operation(
        subnets.delete_subnet, operator_action_summary("subnet_delete"), act="subnet_delete", errors=(409,)
    ),
)

_NETWORK = _object_routes("network", views.NetworkView)
_NETWORKS = (
    _NETWORK.list_operation(networks.list_networks, "List declared networks"),
    _NETWORK.create_operation(
        networks.create_network,
        requests.NetworkNewBody,
        operator_action_summary("network_create"),
        act="network_create",
        errors=(409,),
    ),
    _NETWORK.show_operation(networks.show_network, "Show a declared network"),
    _NETWORK.change_operation(
        networks.change_network,
        requests.NetworkChangeBody,
        operator_action_summary("network_update"),
        act="network_update",
        errors=(409,),
    ),
    _NETWORK.delete_operation(
        networks.delete_network, operator_action_summary("network_delete"), act="network_delete", errors=(409,)
    ),
)

_CERTIFICATE = _object_routes("certificate", certificates.CertificateView, key="{project_id}/{name}")
_CERTIFICATES = (
    _CERTIFICATE.list_operation(
        certificates.list_certificates,
        "List the certificates that the controllers store: all, or those of the caller's project",
        parameters=(_OF_PROJECT,),
        errors=(501,),
    ),
    _CERTIFICATE.create_operation(
        certificates.add_certificate,
        requests.CertificateNewBody,
        operator_action_summary("certificate_create"),
        act="certificate_create",
        errors=(409, 501),
    ),
    _CERTIFICATE.show_operation(certificates.show_certificate, "Show a certificate; never its key", errors=(501,)),
    _CERTIFICATE.put_operation(
        "revoke",
        certificates.revoke_certificate,
        "Revoke an issued certificate at its authority, and order another one",
        rule="create",
        body=requests.RevocationBody,
        errors=(409, 501),
    ),
    _CERTIFICATE.delete_operation(
        certificates.delete_certificate,
        operator_action_summary("certificate_delete"),
        act="certificate_delete",
        errors=(501,),
    ),
)

_REFERENCES = (
    _object_routes("reference", references.ReferenceView).list_operation(
        references.list_references,
        "List references of listeners and pools to the key manager, the first to expire first",
        parameters=(
            _OF_PROJECT,
            Parameter(name="load_balancer_id", description="Of this load balancer"),
            Parameter(name="expiring_days", description="Only certificates that expire within so many days", type=int),
            Parameter(name="unreadable", description="Only references that could not be read the last time", type=bool),
        ),
    ),
    Operation(
        method="POST",
        path="/references/refresh",
        handle=references.refresh_references,
        summary=operator_action_summary("reference_refresh"),
        act="reference_refresh",
        rule=own_rule("reference", "refresh"),
        body=requests.RefreshBody,
        answer=single_object_type("refresh", references.RefreshView),
        status=202,
    ),
)

_IMPORTS = (
    Operation(
        method="PUT",
        path="/imports/loadbalancers/{id}",
        handle=imports.put_import,
        summary="Import a load balancer of another system with its ids and VIP; without apply, only check it",
        rule=own_rule("loadbalancer", "import"),
        body=ImportPut,
        body_bytes=TREE_BYTES_MAX,
        answer=single_object_type("import", imports.ImportView),
        errors=(409, 501),
    ),
    Operation(
        method="PUT",
        path="/imports/loadbalancers/{id}/held",
        handle=imports.put_held,
        summary=operator_action_summary("loadbalancer_import"),
        act="loadbalancer_import",
        rule=own_rule("loadbalancer", "import"),
        body=HeldPut,
        answer=single_object_type("import", imports.HeldView),
        errors=(409,),
    ),
    Operation(
        method="DELETE",
        path="/imports/loadbalancers/{id}",
        handle=imports.discard_import,
        summary="Delete a held load balancer without its VIP's port",
        rule=own_rule("loadbalancer", "import"),
        status=204,
        errors=(409,),
    ),
)

OPERATOR_ROUTES: RouteMap = RouteMap(
    tag="Operators",
    prefixes=("/evenkeel/v1",),
    operations=tuple(
        structs.replace(operation, handle=operator_only(operation.handle))
        for operation in (
            *_AGENTS,
            *_ENVIRONMENTS,
            *_ENHANCED_SERVICES,
            *_SYSTEM,
            *_LOAD_BALANCERS,
            *_LISTENERS,
            *_SHARDS,
            *_MOVES,
            *_SUBNETS,
            *_NETWORKS,
            *_REFERENCES,
            *_IMPORTS,
        )
    )
    # Tenants have their own project's.
    + _CERTIFICATES,
    style=OPERATORS,
)
