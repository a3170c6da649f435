"""The rules as they are without a policy file: name, check and meaning.

Roles are Octavia's (``load-balancer_member`` and so on), and beside them the plain ones that every OpenStack cloud has
(``reader``, ``member``, ``admin``). As in Octavia, ``admin`` of any project is the administrator of all.
"""

from collections.abc import Iterator

from oslo_policy.policy import RuleDefault

from evenkeel.api.policy.names import GLOBAL_SUFFIX, octavia, own

_READ, _READ_GLOBAL, _WRITE = "load-balancer:read", "load-balancer:read-global", "load-balancer:write"
_READ_QUOTA, _READ_QUOTA_GLOBAL = "load-balancer:read-quota", "load-balancer:read-quota-global"
_WRITE_QUOTA, _ADMIN = "load-balancer:write-quota", "load-balancer:admin"
_OPERATOR, _WATCHER = own("roles", "operator"), own("roles", "watcher")

_ROLES = (
    ("context_is_admin", "role:admin or role:load-balancer_admin", "The administrator"),
    ("load-balancer:owner", "project_id:%(project_id)s", "Of the project whose object it is"),
    (_ADMIN, "is_admin:True or rule:context_is_admin", "Everything; is_admin: there is no identity"),
    (
        "load-balancer:observer_and_owner",
        "(role:load-balancer_observer or role:reader) and rule:load-balancer:owner",
        "Looks at its project",
    ),
    ("load-balancer:global_observer", "role:load-balancer_global_observer", "Looks at every project"),
    (
        "load-balancer:member_and_owner",
        "(role:load-balancer_member or role:member) and rule:load-balancer:owner",
        "Changes its project",
    ),
    (
        _READ,
        "rule:load-balancer:observer_and_owner or rule:load-balancer:global_observer or "
        "rule:load-balancer:member_and_owner or rule:load-balancer:admin",
        "Looks",
    ),
    (_READ_GLOBAL, "rule:load-balancer:global_observer or rule:load-balancer:admin", "Looks at every project"),
    (_WRITE, "rule:load-balancer:member_and_owner or rule:load-balancer:admin", "Changes"),
    (_READ_QUOTA, "rule:load-balancer:read or role:load-balancer_quota_admin", "Looks at quotas"),
    (
        _READ_QUOTA_GLOBAL,
        "rule:load-balancer:global_observer or role:load-balancer_quota_admin or rule:load-balancer:admin",
        "Looks at every project's quotas",
    ),
    (_WRITE_QUOTA, "role:load-balancer_quota_admin or rule:load-balancer:admin", "Changes quotas"),
    (_OPERATOR, "role:evenkeel_operator or rule:load-balancer:admin", "Runs Even Keel"),
    (_WATCHER, "role:evenkeel_agent or rule:evenkeel:roles:operator", "Looks at agents and where work is"),
)

_TENANT_KINDS = {
    "loadbalancer": "load balancers",
    "listener": "listeners",
    "pool": "pools",
    "member": "members",
    "healthmonitor": "health monitors",
    "l7policy": "L7 policies",
    "l7rule": "L7 rules",
}
_CATALOGUE_KINDS = {"flavor": "flavors", "availability-zone": "availability zones"}
_PROFILE_KINDS = {"flavor-profile": "flavor profiles", "availability-zone-profile": "availability zone profiles"}
_CHANGES = {"post": "Create", "put": "Change", "delete": "Delete"}

_OCTAVIA = (
    ("loadbalancer", "get_stats", _READ, "Show a load balancer's statistics"),
    ("loadbalancer", "get_status", _READ, "Show the status tree"),
    ("loadbalancer", "put_failover", _ADMIN, "Fail a load balancer over"),
    ("listener", "get_stats", _READ, "Show a listener's statistics"),
    ("quota", "get_all", _READ_QUOTA, "List quotas"),
    ("quota", "get_all-global", _READ_QUOTA_GLOBAL, "List quotas, those of other projects too"),
    ("quota", "get_one", _READ_QUOTA, "Show quotas"),
    ("quota", "get_defaults", _READ_QUOTA, "Show the default quotas"),
    ("quota", "put", _WRITE_QUOTA, "Change quotas"),
    ("quota", "delete", _WRITE_QUOTA, "Reset quotas"),
    ("provider", "get_all", _READ, "List providers"),
    ("provider-flavor", "get_all", _ADMIN, "List what flavors of a provider may hold"),
    ("provider-availability-zone", "get_all", _ADMIN, "List what availability zones of a provider may hold"),
    ("amphora", "get_all", _ADMIN, "List amphorae"),
    ("amphora", "get_one", _ADMIN, "Show an amphora"),
    ("amphora", "get_stats", _ADMIN, "Show an amphora's statistics"),
    ("amphora", "put_config", _ADMIN, "Configure an amphora"),
    ("amphora", "put_failover", _ADMIN, "Fail an amphora over"),
    ("amphora", "delete", _ADMIN, "Delete an amphora"),
)

_OWN = (
    ("lookup", "get", _READ, "Look subnets, networks, ports and projects up, as the stock command line does"),
    ("provider", "get_capabilities", _READ, "Show what a provider can do"),
    ("agent", "get", _WATCHER, "List and show agents"),
    ("agent", "update", _OPERATOR, "Drain an agent, undrain it, have its shards come home"),
    ("agent", "force_down", _OPERATOR, "Declare an agent's host dead"),
    ("agent", "rebind", _OPERATOR, "Make another agent the home of its shards"),
    ("agent", "delete", _OPERATOR, "Delete an agent"),
    ("agent", "get_loadbalancers", _OPERATOR, "List the load balancers of an agent, whoever they belong to"),
    ("loadbalancer", "get_agent", _OPERATOR, "Show who serves a load balancer"),
    ("environment", "get", _WATCHER, "List and show environments"),
    ("environment", "create", _OPERATOR, "Create an environment"),
    ("environment", "update", _OPERATOR, "Change an environment, or close its circuit breaker"),
    ("environment", "delete", _OPERATOR, "Delete an environment"),
    ("database", "get", _WATCHER, "Show which history of the database this is"),
    ("database", "new_history", _OPERATOR, "Say that the database was restored or has lost changes"),
    ("subnet", "get", _OPERATOR, "List address pools"),
    ("subnet", "create", _OPERATOR, "Create an address pool"),
    ("subnet", "delete", _OPERATOR, "Delete an address pool"),
    ("certificate", "get", _OPERATOR, "List and show the certificates that the controllers keep, never their keys"),
    ("certificate", "create", _OPERATOR, "Have a certificate kept"),
    ("certificate", "delete", _OPERATOR, "Have a certificate forgotten"),
    ("shard", "get", _WATCHER, "List shards"),
    ("event", "get", _OPERATOR, "List events"),
    ("status", "get", _WATCHER, "Show the whole system in a few numbers"),
    ("request", "unlimited", _OPERATOR, "Ask as often as it likes: the rate limit is for tenants"),
)


def _rule(name: str, check: str, meaning: str) -> RuleDefault:
    return RuleDefault(name, check, description=meaning)


def _tenant(kind: str, called: str) -> Iterator[RuleDefault]:
    yield _rule(octavia(kind, "get_all"), f"rule:{_READ}", f"List {called}")
    everybodys = f"List {called}, those of other projects too"
    yield _rule(octavia(kind, "get_all") + GLOBAL_SUFFIX, f"rule:{_READ_GLOBAL}", everybodys)
    yield _rule(octavia(kind, "get_one"), f"rule:{_READ}", f"Show {called}")
    for action, verb in _CHANGES.items():
        yield _rule(octavia(kind, action), f"rule:{_WRITE}", f"{verb} {called}")


def _shared(kind: str, called: str, read: str) -> Iterator[RuleDefault]:
    yield _rule(octavia(kind, "get_all"), f"rule:{read}", f"List {called}")
    yield _rule(octavia(kind, "get_one"), f"rule:{read}", f"Show {called}")
    for action, verb in _CHANGES.items():
        yield _rule(octavia(kind, action), f"rule:{_ADMIN}", f"{verb} {called}")


def defaults() -> tuple[RuleDefault, ...]:
    """All rules, those of roles first."""
    return (
        *(_rule(*row) for row in _ROLES),
        *(rule for row in _TENANT_KINDS.items() for rule in _tenant(*row)),
        *(rule for row in _CATALOGUE_KINDS.items() for rule in _shared(*row, _READ)),
        *(rule for row in _PROFILE_KINDS.items() for rule in _shared(*row, _ADMIN)),
        *(_rule(octavia(kind, action), f"rule:{check}", meaning) for kind, action, check, meaning in _OCTAVIA),
        *(_rule(own(kind, action), f"rule:{check}", meaning) for kind, action, check, meaning in _OWN),
    )
