"""The options of ``[series]``: the series of load balancers' traffic that a controller keeps in memory."""

from oslo_config import cfg

from evenkeel.controller.settings import TrafficSettings

SERIES_OPTIONS = [
    cfg.FloatOpt("interval", default=60.0, min=5.0, max=3600.0, help="Seconds between two points of a series."),
    cfg.IntOpt(
        "points",
        default=360,
        min=0,
        max=10_000,
        help="Points of each load balancer, 24 bytes each: the default keeps 6 hours in 9 kB. 0: none.",
    ),
    cfg.IntOpt(
        "load_balancers_max",
        default=10_000,
        min=1,
        max=1_000_000,
        help="Load balancers with a series, the oldest; with the other defaults they take 90 MB.",
    ),
]


def traffic_settings(conf: cfg.ConfigOpts) -> TrafficSettings:
    """Build the settings of the traffic series from the options of ``[series]``."""
    return TrafficSettings(
        interval_seconds=conf.series.interval,
        points=conf.series.points,
        load_balancers_max=conf.series.load_balancers_max,
    )
