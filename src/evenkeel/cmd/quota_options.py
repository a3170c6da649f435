"""The controller's options of quotas, with Octavia's names."""

from oslo_config import cfg

from evenkeel.core.quota import MAX_QUOTA, UNLIMITED, Quotas

_OPTIONS = {
    "loadbalancer": ("default_load_balancer_quota", "load balancers"),
    "listener": ("default_listener_quota", "listeners"),
    "pool": ("default_pool_quota", "pools"),
    "member": ("default_member_quota", "members"),
    "healthmonitor": ("default_health_monitor_quota", "health monitors"),
    "l7policy": ("default_l7policy_quota", "L7 policies"),
    "l7rule": ("default_l7rule_quota", "L7 rules"),
}

QUOTAS = [
    cfg.IntOpt(
        name,
        default=UNLIMITED,
        min=UNLIMITED,
        max=MAX_QUOTA,
        help=f"How many {called} a project without quotas of its own may have; -1: no limit.",
    )
    for name, called in _OPTIONS.values()
]


def default_quotas(conf: cfg.ConfigOpts) -> Quotas:
    """The quotas of ``[quotas]``. All controllers are to have the same."""
    return Quotas(**{name: conf.quotas[option] for name, (option, _) in _OPTIONS.items()})
