"""The controller's options of quotas, with Octavia's names."""

from oslo_config import cfg

from evenkeel.core.resources.quota import MAX_QUOTA, UNLIMITED, Quotas

_OPTION_BY_KIND = {
    "loadbalancer": ("default_load_balancer_quota", "load balancers", 100),
    "listener": ("default_listener_quota", "listeners", 1000),
    "pool": ("default_pool_quota", "pools", 1000),
    "member": ("default_member_quota", "members", 10_000),
    "healthmonitor": ("default_health_monitor_quota", "health monitors", 1000),
    "l7policy": ("default_l7policy_quota", "L7 policies", 1000),
    "l7rule": ("default_l7rule_quota", "L7 rules", 5000),
}
"""Default quotas: enough for a tenant with hundreds of sites, and low enough that a runaway script fills neither
database nor devices.
"""

QUOTA_OPTIONS = [
    cfg.IntOpt(
        name,
        default=default,
        min=UNLIMITED,
        max=MAX_QUOTA,
        help=f"Default quota of {called}; -1: no limit.",
    )
    for name, called, default in _OPTION_BY_KIND.values()
]


def default_quotas(conf: cfg.ConfigOpts) -> Quotas:
    """Read the quotas of ``[quotas]``, which must be the same on all controllers."""
    return Quotas(**{name: conf.quotas[option] for name, (option, *_) in _OPTION_BY_KIND.items()})
