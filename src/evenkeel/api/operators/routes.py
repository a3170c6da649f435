"""Routes of the operators' API."""

from typing import Any

from msgspec import defstruct, structs

from evenkeel.api.common.event_view import EventView
from evenkeel.api.common.linking import Link, list_type, single_object_type
from evenkeel.api.common.object_routes import ObjectRoutes
from evenkeel.api.http.lists import PAGE_PARAMETERS
from evenkeel.api.http.routing import Handler, Operation, Parameter, RouteMap
from evenkeel.api.http.style import OPERATORS
from evenkeel.api.octavia.views import LoadBalancerView
from evenkeel.api.operators import (
    activity,
    agents,
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


def _objects(name: str, view: type[Any], key: str = "{id}") -> ObjectRoutes:
    return ObjectRoutes(name=name, plural=f"{name}s", path=f"/{name}s", view=view, rule=own_rules(name), key=key)


def _facts(name: str, view: type[Any], handle: Handler, summary: str, *parameters: Parameter) -> Operation:
    """Declare GET of one document about the whole system."""
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

_AGENT = _objects("agent", AgentView)
_AGENTS = (
    _AGENT.list(agents.agents, "List agents", parameters=_AGENT_PARAMETERS),
    _AGENT.show(agents.agent, "Show an agent"),
    _AGENT.change(
        agents.change_agent, requests.AgentChangeBody, "Drain an agent (admin_state_up false), or undrain it"
    ),
    _AGENT.put(
        "drain",
        agents.set_admin_state(False),
        "Drain an agent: hand its shards over to other agents, and assign it none",
    ),
    _AGENT.put("undrain", agents.set_admin_state(True), "Put a drained agent back into service"),
    _AGENT.put("failback", agents.failback, "Hand the shards whose home it is back to it", errors=(409,)),
    _AGENT.put(
        "force-down",
        agents.force_down,
        "Declare its host dead, so that its shards move at once, or revoke that",
        rule="force_down",
        body=requests.ForceDownBody,
    ),
    _AGENT.put(
        "rebind",
        agents.rebind,
        "Make another agent of its group the home of its shards",
        rule="rebind",
        body=requests.RebindBody,
        answer=single_object_type("rebound", views.ReboundView),
        errors=(409,),
    ),
    _AGENT.delete(
        agents.delete_agent,
        "Delete a stopped agent",
        parameters=(
            Parameter(name="rebind_to", description="The agent of its group that becomes the home of its shards"),
        ),
        errors=(409,),
    ),
    _AGENT.get(
        "loadbalancers",
        agents.agent_load_balancers,
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

_ENVIRONMENT = _objects("environment", views.EnvironmentView, key="{name}")
_ENVIRONMENTS = (
    _ENVIRONMENT.list(environments.environments, "List environments"),
    _ENVIRONMENT.create(
        environments.create_environment, requests.EnvironmentNewBody, "Create an environment", errors=(409,)
    ),
    _ENVIRONMENT.show(environments.environment, "Show an environment"),
    _ENVIRONMENT.change(environments.change_environment, requests.EnvironmentChangeBody, "Change an environment"),
    _ENVIRONMENT.put(
        "resume", environments.resume_environment, "Close its circuit breaker: the shards of silent agents move"
    ),
    _ENVIRONMENT.delete(
        environments.delete_environment, "Delete an environment without agents and load balancers", errors=(409,)
    ),
)

_ENHANCED_SERVICE = _objects("enhanced_service", enhanced_services.EnhancedServiceView)
_ENHANCED_SERVICES = (
    _ENHANCED_SERVICE.list(
        enhanced_services.enhanced_services,
        "List the enhanced services that agents loaded, and whether the agents of an environment agree",
        parameters=(_OF_ENVIRONMENT, Parameter(name="name", description="With this name")),
    ),
    Operation(
        method="GET",
        path="/environments/{name}/enhanced_services/{enhanced_service}",
        handle=enhanced_services.enhanced_service,
        summary="Show an enhanced service of an environment, agent by agent",
        rule=own_rule("enhanced_service", "get"),
        answer=_ENHANCED_SERVICE.answer,
    ),
)

_DATABASE = single_object_type("database", views.DatabaseView)
_SYSTEM = (
    _facts("database", views.DatabaseView, database.database, "Show the history of the database"),
    Operation(
        method="POST",
        path="/database/new-history",
        handle=database.new_history,
        summary="State that the database was restored or has lost changes: all agents check everything they serve",
        rule=own_rule("database", "new_history"),
        answer=_DATABASE,
    ),
    Operation(
        method="POST",
        path="/database/histories/{id}/accept",
        handle=database.accept_history,
        summary="Accept a history that agents saw and the database never had, so that removals go on",
        rule=own_rule("database", "accept_history"),
        answer=_DATABASE,
    ),
    _facts("status", status.StatusView, status.status, "Show a summary of the whole system"),
    _facts(
        "activity",
        activity.ActivityView,
        activity.activity,
        "Show this controller's requests and times to ACTIVE, and the traffic of all load balancers, over time",
        Parameter(name="hours", description="Over so many last hours (1 to 24, else 6)", type=int),
        Parameter(
            name="points", description="At most so many points (1 to 360); means of several if there are more", type=int
        ),
    ),
    _facts(
        "topology",
        overview.TopologyView,
        overview.topology,
        "Show who may write to which devices: device groups with agents, devices and the shards between them",
        _OF_ENVIRONMENT,
    ),
    _objects("controller", overview.ControllerView).list(overview.controllers, "List controllers"),
    _objects("event", EventView).list(
        events.events,
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
        handle=ids.ids,
        summary="List ids of load balancers, agents and shards that begin with a prefix",
        rule=own_rule("id", "get"),
        answer=single_object_type("ids", views.IdsView),
        parameters=(Parameter(name="prefix", description="The first 4 to 36 characters"),),
    ),
    Operation(
        method="DELETE",
        path="/orphans/{id}",
        handle=plans.remove_orphan,
        summary="Remove a load balancer on devices that is missing from the database, without waiting for its time",
        rule=own_rule("orphan", "delete"),
        status=204,
    ),
)

_LOAD_BALANCER = _objects("loadbalancer", LoadBalancerView)
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
    _LOAD_BALANCER.get(
        "agent",
        hosting.hosting,
        "Show the agents of a load balancer",
        rule="get_agent",
        answer=single_object_type("hosting", views.HostingView),
    ),
    _LOAD_BALANCER.get(
        "tree",
        trees.tree,
        "Show a load balancer and everything below it, with statuses: also pools that no listener uses",
        rule="get_tree",
        answer=single_object_type("tree", trees.LoadBalancerNode),
    ),
    _LOAD_BALANCER.get(
        "history",
        overview.history,
        "List the last 50 revisions of a load balancer, newest first, with who requested and who applied each",
        rule="get_history",
        answer=list_type("history", overview.RevisionView),
    ),
    _LOAD_BALANCER.get(
        "series",
        series.traffic,
        "Show the traffic of a load balancer over the last hours, as far as this controller holds it",
        rule="get_series",
        answer=series.SeriesView,
    ),
    _LOAD_BALANCER.post(
        "plan",
        plans.plan,
        "Show what the next pass over a load balancer would change on its devices; changes nothing",
        rule="plan",
        answer=single_object_type("plan", plans.PlanView),
        errors=(409,),
    ),
)

_LISTENER = _objects("listener", irules.ListenerIrulesView)
_LISTENERS = (
    _LISTENER.get(
        "irules",
        irules.show,
        "Show the iRules that operators keep on a listener's virtual servers",
        rule="get_irules",
        answer=_LISTENER.answer,
    ),
    _LISTENER.put(
        "irules",
        irules.put,
        "Attach exactly these iRules of operators to a listener's virtual servers",
        rule="set_irules",
        body=requests.IrulesBody,
        errors=(409, 501),
    ),
)

_SHARD = _objects("shard", views.ShardView)
_SHARDS = (
    _SHARD.list(
        shards.shards,
        "List shards",
        parameters=(
            _OF_ENVIRONMENT,
            Parameter(name="agent_id", description="Of this agent, home or acting"),
        ),
    ),
    _SHARD.put(
        "rebind",
        shards.rebind_shard,
        "Make another agent of its device group the home of a shard",
        rule="rebind",
        body=requests.RebindBody,
        errors=(409,),
    ),
    _SHARD.post(
        "adoption",
        plans.adoption,
        "Plan the adoption of a partition that another program made for the tenant; with apply, adopt it;"
        " with give_back, the way back",
        rule="adopt",
        body=requests.AdoptionBody,
        answer=single_object_type("adoption", plans.PlanView),
        errors=(409,),
    ),
    _SHARD.post(
        "orphans",
        plans.orphans,
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

_MOVE = _objects("move", moves.MoveView)
_MOVES = (
    _MOVE.list(
        moves.moves,
        "List the last moves of load balancers to other device groups, those under way first",
        parameters=(Parameter(name="load_balancer_id", description="Of this load balancer"),),
    ),
    Operation(
        method="POST",
        path="/moves",
        handle=moves.move,
        summary="Plan to move a load balancer, or those of a project, to another device group; with apply, begin it",
        rule=own_rule("move", "create"),
        body=requests.MoveBody,
        answer=single_object_type("move", moves.MovePlanView),
        errors=(409,),
    ),
    _MOVE.put(
        "finish",
        moves.finish,
        "State that a load balancer's traffic goes to its new devices, so that the former ones may remove it",
        rule="update",
        errors=(409,),
    ),
    _MOVE.put("back", moves.go_back, "Let a move go back", rule="update", errors=(409,)),
)

_SUBNET = _objects("subnet", views.SubnetView)
_SUBNETS = (
    _SUBNET.list(subnets.subnets, "List address pools"),
    _SUBNET.create(subnets.create_subnet, requests.SubnetNewBody, "Create an address pool", errors=(409,)),
    _SUBNET.change(
        subnets.change_subnet,
        requests.SubnetChangeBody,
        "Set the addresses that devices may have in an address pool",
        errors=(409,),
    ),
    _SUBNET.delete(subnets.delete_subnet, "Delete an address pool that no load balancer uses", errors=(409,)),
)

_NETWORK = _objects("network", views.NetworkView)
_NETWORKS = (
    _NETWORK.list(networks.networks, "List declared networks"),
    _NETWORK.create(
        networks.create_network,
        requests.NetworkNewBody,
        "Declare a network of the built-in network service, to which devices may be attached",
        errors=(409,),
    ),
    _NETWORK.show(networks.network, "Show a declared network"),
    _NETWORK.change(
        networks.change_network,
        requests.NetworkChangeBody,
        "Change a declared network; load balancers of devices attached to it follow",
        errors=(409,),
    ),
    _NETWORK.delete(networks.delete_network, "Delete a declared network to which no device is attached", errors=(409,)),
)

_CERTIFICATE = _objects("certificate", certificates.CertificateView, key="{project_id}/{name}")
_CERTIFICATES = (
    _CERTIFICATE.list(
        certificates.certificates,
        "List the certificates that the controllers store",
        parameters=(_OF_PROJECT,),
        errors=(501,),
    ),
    _CERTIFICATE.create(
        certificates.add_certificate,
        requests.CertificateNewBody,
        "Add a certificate with its key, CA certificates or a revocation list",
        errors=(409, 501),
    ),
    _CERTIFICATE.show(certificates.certificate, "Show a certificate; never its key", errors=(501,)),
    _CERTIFICATE.delete(
        certificates.delete_certificate, "Delete a certificate, even if it is referred to", errors=(501,)
    ),
)

_REFERENCES = (
    _objects("reference", references.ReferenceView).list(
        references.references,
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
        handle=references.refresh,
        summary="Read a reference, or all of them, again now",
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
        handle=imports.put,
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
        summary="Release a held load balancer to its devices, or take it from them",
        rule=own_rule("loadbalancer", "import"),
        body=HeldPut,
        answer=single_object_type("import", imports.HeldView),
        errors=(409,),
    ),
    Operation(
        method="DELETE",
        path="/imports/loadbalancers/{id}",
        handle=imports.remove,
        summary="Delete a held load balancer without its VIP's port",
        rule=own_rule("loadbalancer", "import"),
        status=204,
        errors=(409,),
    ),
)

OPERATOR_ROUTES = RouteMap(
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
            *_CERTIFICATES,
            *_REFERENCES,
            *_IMPORTS,
        )
    ),
    style=OPERATORS,
)
