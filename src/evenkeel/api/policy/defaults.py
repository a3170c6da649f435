"""Default policy rules: name, check and description.

Roles are Octavia's (``load-balancer_member`` and so on), and the default roles of OpenStack (``reader``, ``member``,
``admin``). Like in Octavia, ``admin`` of any project is the administrator of all.
"""

import re
from collections.abc import Iterator

from oslo_policy.policy import RuleDefault

from evenkeel.api.policy.names import GLOBAL_SUFFIX, octavia_rule, own_rule

_READ, _READ_GLOBAL, _WRITE = "load-balancer:read", "load-balancer:read-global", "load-balancer:write"
_READ_QUOTA, _READ_QUOTA_GLOBAL = "load-balancer:read-quota", "load-balancer:read-quota-global"
_WRITE_QUOTA, _ADMIN = "load-balancer:write-quota", "load-balancer:admin"
_ROLE_PATTERN = re.compile(r"role:([\w-]+)")
_ADMINISTRATORS = "role:admin or role:load-balancer_admin"
_OPERATOR, _WATCHER = own_rule("roles", "operator"), own_rule("roles", "watcher")
_READ_OR_OPERATOR, _WRITE_OR_OPERATOR = f"{_READ} or rule:{_OPERATOR}", f"{_WRITE} or rule:{_OPERATOR}"

_EVERY_CALLER_CHECK = "@"
"""The check that every authenticated caller passes."""

_ROLES = (
    ("context_is_admin", _ADMINISTRATORS, "The administrator"),
    ("load-balancer:owner", "project_id:%(project_id)s", "Login for the project that owns the object"),
    (_ADMIN, "is_admin:True or rule:context_is_admin", "Everything; is_admin: authentication is disabled"),
    (
        "load-balancer:observer_and_owner",
        "(role:load-balancer_observer or role:reader) and rule:load-balancer:owner",
        "Read objects of its project",
    ),
    ("load-balancer:global_observer", "role:load-balancer_global_observer", "May see every project"),
    (
        "load-balancer:member_and_owner",
        "(role:load-balancer_member or role:member) and rule:load-balancer:owner",
        "Change objects of its project",
    ),
    (
        _READ,
        "rule:load-balancer:observer_and_owner or rule:load-balancer:global_observer or "
        "rule:load-balancer:member_and_owner or rule:load-balancer:admin",
        "Looks",
    ),
    (_READ_GLOBAL, "rule:load-balancer:global_observer or rule:load-balancer:admin", "May see every project"),
    (_WRITE, "rule:load-balancer:member_and_owner or rule:load-balancer:admin", "Changes"),
    (_READ_QUOTA, "rule:load-balancer:read or role:load-balancer_quota_admin", "Read quotas"),
    (
        _READ_QUOTA_GLOBAL,
        "rule:load-balancer:global_observer or role:load-balancer_quota_admin or rule:load-balancer:admin",
        "Read quotas of all projects",
    ),
    (_WRITE_QUOTA, "role:load-balancer_quota_admin or rule:load-balancer:admin", "Change quotas"),
    (_OPERATOR, "role:evenkeel_operator or rule:load-balancer:admin", "Operator of Even Keel"),
    (_WATCHER, "role:evenkeel_agent or rule:evenkeel:roles:operator", "Read agents, environments, shards and status"),
)

ADMINISTRATOR_ROLES = frozenset(_ROLE_PATTERN.findall(_ADMINISTRATORS))
"""Roles whose users administer everything, whatever their project."""

_TENANT_KINDS = {
    "loadbalancer": "load balancers",
    "listener": "listeners",
    "pool": "pools",
    "member": "members",
    "healthmonitor": "health monitors",
    "l7policy": "L7 policies",
    "l7rule": "L7 rules",
    "ratelimitpolicy": "rate limit policies",
    "ratelimitrule": "rate limit rules",
}
_CATALOGUE_KINDS = {"flavor": "flavors", "availability-zone": "availability zones"}
_PROFILE_KINDS = {"flavor-profile": "flavor profiles", "availability-zone-profile": "availability zone profiles"}
_VERBS_BY_ACTION = {"post": "Create", "put": "Change", "delete": "Delete"}

_OCTAVIA = (
    ("loadbalancer", "get_stats", _READ, "Show a load balancer's statistics"),
    ("loadbalancer", "get_status", _READ, "Show the status tree"),
    ("loadbalancer", "put_failover", _ADMIN, "Fail a load balancer over"),
    ("loadbalancer", "put_resize", _WRITE, "Give a load balancer another flavor"),
    ("listener", "get_stats", _READ, "Show a listener's statistics"),
    ("quota", "get_all", _READ_QUOTA, "List quotas"),
    ("quota", "get_all-global", _READ_QUOTA_GLOBAL, "List quotas of all projects"),
    ("quota", "get_one", _READ_QUOTA, "Show quotas"),
    ("quota", "get_defaults", _READ_QUOTA, "Show the default quotas"),
    ("quota", "put", _WRITE_QUOTA, "Change quotas"),
    ("quota", "delete", _WRITE_QUOTA, "Reset quotas"),
    ("provider", "get_all", _READ, "List providers"),
    ("provider-flavor", "get_all", _ADMIN, "List the settings that flavors of a provider may contain"),
    (
        "provider-availability-zone",
        "get_all",
        _ADMIN,
        "List the settings that availability zones of a provider may contain",
    ),
    ("amphora", "get_all", _ADMIN, "List amphorae"),
    ("amphora", "get_one", _ADMIN, "Show an amphora"),
    ("amphora", "get_stats", _ADMIN, "Show an amphora's statistics"),
    ("amphora", "put_config", _ADMIN, "Configure an amphora"),
    ("amphora", "put_failover", _ADMIN, "Fail an amphora over"),
    ("amphora", "delete", _ADMIN, "Delete an amphora"),
)

_OWN_RULES = (
    ("lookup", "get", _READ, "Look up subnets, networks, ports and projects, as the OpenStack client does"),
    ("provider", "get_capabilities", _READ, "Show the capabilities of a provider"),
    ("act", "get", _WATCHER, "List what operators can do, and whether the caller may"),
    ("agent", "get", _WATCHER, "List and show agents"),
    ("agent", "update", _OPERATOR, "Drain or undrain an agent, hand its shards back"),
    ("agent", "force_down", _OPERATOR, "Declare an agent's host dead"),
    ("agent", "rebind", _OPERATOR, "Make another agent the home of its shards"),
    ("agent", "delete", _OPERATOR, "Delete an agent"),
    ("agent", "get_loadbalancers", _OPERATOR, "List the load balancers of an agent, of all projects"),
    ("loadbalancer", "get", _OPERATOR, "Search the load balancers of all projects"),
    ("loadbalancer", "get_agent", _OPERATOR, "Show the agents of a load balancer"),
    ("loadbalancer", "get_tree", _OPERATOR, "Show a load balancer and everything below it, with statuses"),
    ("loadbalancer", "get_history", _OPERATOR, "List the last revisions of a load balancer, with who requested them"),
    ("controller", "get", _WATCHER, "List controllers"),
    ("topology", "get", _WATCHER, "Show agents, devices and the shards between them"),
    ("loadbalancer", "get_series", _OPERATOR, "Show the traffic of a load balancer over the last hours"),
    ("loadbalancer", "plan", _OPERATOR, "Show what the next pass over a load balancer would change on its devices"),
    ("loadbalancer", "import", _OPERATOR, "Import a load balancer of another system, with its ids and VIP"),
    ("listener", "get_irules", _OPERATOR, "Show the iRules of operators on a listener"),
    ("listener", "set_irules", _OPERATOR, "Attach iRules of operators to a listener, and detach them"),
    ("move", "get", _OPERATOR, "List moves of load balancers to other device groups"),
    ("move", "create", _OPERATOR, "Plan and begin moves of load balancers to other device groups"),
    ("move", "update", _OPERATOR, "Finish a move of a load balancer, or let it go back"),
    ("mirror", "get", _OPERATOR, "Read load balancers that mirror those of an Octavia, as its provider agent does"),
    ("mirror", "put", _OPERATOR, "Store and delete load balancers that mirror those of an Octavia"),
    ("environment", "get", _WATCHER, "List and show environments"),
    ("environment", "create", _OPERATOR, "Create an environment"),
    ("environment", "update", _OPERATOR, "Change an environment, or close its circuit breaker"),
    ("environment", "delete", _OPERATOR, "Delete an environment"),
    ("enhanced_service", "get", _OPERATOR, "List and show the enhanced services that agents loaded"),
    ("database", "get", _WATCHER, "Show the history of the database"),
    ("database", "new_history", _OPERATOR, "State that the database was restored or has lost changes"),
    ("database", "accept_history", _OPERATOR, "Accept a history that agents saw and the database never had"),
    ("subnet", "get", _OPERATOR, "List address pools"),
    ("subnet", "create", _OPERATOR, "Create an address pool"),
    ("subnet", "update", _OPERATOR, "Set the addresses that devices may have in an address pool"),
    ("network", "get", _OPERATOR, "List and show declared networks"),
    ("network", "create", _OPERATOR, "Declare a network"),
    ("network", "update", _OPERATOR, "Change a declared network"),
    ("network", "delete", _OPERATOR, "Delete a declared network"),
    ("subnet", "delete", _OPERATOR, "Delete an address pool"),
    ("certificate", "get", _READ_OR_OPERATOR, "List and show certificates that the controllers store, without keys"),
    ("certificate", "create", _WRITE_OR_OPERATOR, "Request a certificate; operators also add files"),
    ("certificate", "delete", _WRITE_OR_OPERATOR, "Delete a requested certificate; operators also others"),
    ("reference", "get", _OPERATOR, "List references of listeners and pools to the key manager"),
    ("reference", "refresh", _OPERATOR, "Read references again now"),
    ("shard", "get", _WATCHER, "List shards"),
    ("shard", "get_orphans", _OPERATOR, "List load balancers on devices that are missing from the database"),
    ("orphan", "delete", _OPERATOR, "Remove a load balancer on devices that is missing from the database"),
    (
        "shard",
        "adopt",
        _OPERATOR,
        "Have the partition adopted that another program made for a shard's tenant, or plan it",
    ),
    ("shard", "rebind", _OPERATOR, "Make another agent the home of a shard"),
    ("caller", "get", None, "Show who the caller is"),
    ("event", "get", _OPERATOR, "List events"),
    ("id", "get", _OPERATOR, "List ids that begin with a prefix"),
    ("activity", "get", _WATCHER, "Show requests, times to ACTIVE and traffic over time, as sums"),
    ("status", "get", _WATCHER, "Show a summary of the whole system"),
    ("request", "unlimited", _OPERATOR, "Send requests without a rate limit, which is for tenants"),
)


def _rule_default(name: str, check: str, meaning: str) -> RuleDefault:
    return RuleDefault(name, check, description=meaning)


def _tenant_rules(kind: str, called: str) -> Iterator[RuleDefault]:
    yield _rule_default(octavia_rule(kind, "get_all"), f"rule:{_READ}", f"List {called}")
    everybodys = f"List {called} of all projects"
    yield _rule_default(octavia_rule(kind, "get_all") + GLOBAL_SUFFIX, f"rule:{_READ_GLOBAL}", everybodys)
    yield _rule_default(octavia_rule(kind, "get_one"), f"rule:{_READ}", f"Show {called}")
    for action, verb in _VERBS_BY_ACTION.items():
        yield _rule_default(octavia_rule(kind, action), f"rule:{_WRITE}", f"{verb} {called}")


def _catalogue_rules(kind: str, called: str, read: str) -> Iterator[RuleDefault]:
    yield _rule_default(octavia_rule(kind, "get_all"), f"rule:{read}", f"List {called}")
    yield _rule_default(octavia_rule(kind, "get_one"), f"rule:{read}", f"Show {called}")
    for action, verb in _VERBS_BY_ACTION.items():
        yield _rule_default(octavia_rule(kind, action), f"rule:{_ADMIN}", f"{verb} {called}")


def default_rules() -> tuple[RuleDefault, ...]:
    """Return all default policy rules: first those that define roles, then those of routes."""
    return (
        *(_rule_default(*row) for row in _ROLES),
        *(rule for row in _TENANT_KINDS.items() for rule in _tenant_rules(*row)),
        *(rule for row in _CATALOGUE_KINDS.items() for rule in _catalogue_rules(*row, _READ)),
        *(rule for row in _PROFILE_KINDS.items() for rule in _catalogue_rules(*row, _ADMIN)),
        *(
            _rule_default(octavia_rule(kind, action), f"rule:{check}", meaning)
            for kind, action, check, meaning in _OCTAVIA
        ),
        *(
            _rule_default(own_rule(kind, action), f"rule:{check}" if check else _EVERY_CALLER_CHECK, meaning)
            for kind, action, check, meaning in _OWN_RULES
        ),
    )


def all_roles() -> frozenset[str]:
    """Return the names of all roles in the checks of the default rules."""
    return frozenset(role for rule in default_rules() for role in _ROLE_PATTERN.findall(rule.check_str))
