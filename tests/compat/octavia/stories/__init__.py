"""The requests of the table, by what they are about; :mod:`tests.compat.octavia.record` records the answers."""

from dataclasses import replace

from tests.compat.octavia.stories import (
    catalogue,
    gophercloud,
    healthmonitors,
    kubernetes,
    l7,
    listeners,
    loadbalancers,
    pools,
    protocol,
)
from tests.compat.table import Line

_MODULES = (loadbalancers, listeners, pools, healthmonitors, l7, catalogue, protocol, kubernetes, gophercloud)


def all_requests() -> list[Line]:
    """In order, each with its story's name."""
    return [
        replace(line, story=story) for module in _MODULES for story, lines in module.STORIES.items() for line in lines
    ]
