"""The controller's options that limit the objects of one load balancer."""

from oslo_config import cfg

from evenkeel.core.resources.limits import PLURALS_OF_LIMITED_KINDS, LoadBalancerLimits

_DEFAULT_LIMITS = LoadBalancerLimits()


def _option_name(kind: str) -> str:
    return f"{PLURALS_OF_LIMITED_KINDS[kind].lower().replace(' ', '_')}_per_load_balancer"


LIMIT_OPTIONS = [
    cfg.IntOpt(
        _option_name(kind),
        default=getattr(_DEFAULT_LIMITS, kind),
        min=1,
        help=f"Maximum number of {called} of a load balancer.",
    )
    for kind, called in PLURALS_OF_LIMITED_KINDS.items()
]


def load_balancer_limits(conf: cfg.ConfigOpts) -> LoadBalancerLimits:
    """Read the limits of ``[limits]``, which must be the same on all controllers."""
    return LoadBalancerLimits(**{kind: conf.limits[_option_name(kind)] for kind in PLURALS_OF_LIMITED_KINDS})
