"""The options that ``evenkeel-haproxyd`` reads.

A module of its own, so that the daemon starts without the modules of the other processes' options: while it starts,
changes of all tenants on its host wait.
"""

from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.options import haproxyd_options, metrics_options, tracing_options
from evenkeel.cmd.options.logging_options import LOGGING_OPTIONS

HAPROXYD_OPTION_GROUPS: OptionGroups = {
    None: LOGGING_OPTIONS,
    "haproxyd": haproxyd_options.HAPROXYD_OPTIONS,
    "metrics": metrics_options.METRICS_OPTIONS,
    "tracing": tracing_options.TRACING_OPTIONS,
}
