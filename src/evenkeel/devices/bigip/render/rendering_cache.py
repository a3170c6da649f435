"""Cache of rendered load balancers: a verification of a partition renders only load balancers that have changed."""

from collections import OrderedDict
from collections.abc import Callable

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.devices.bigip.objects import RenderedObjects

CACHED_RENDERINGS_MAX = 2000
"""Maximum number of load balancers in the cache of a device group: some 20 KB each, 40 MB together.

Beyond it the least recently used are dropped.
"""


class RenderingCache:
    """Cache of the last rendered objects of a device group's load balancers."""

    def __init__(self, kept_max: int = CACHED_RENDERINGS_MAX) -> None:
        self._kept_max = kept_max
        self._kept: OrderedDict[LoadBalancerId, tuple[object, ServiceDefinition, RenderedObjects]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get_or_render(
        self, service: ServiceDefinition, settings: object, render: Callable[[ServiceDefinition], RenderedObjects]
    ) -> RenderedObjects:
        """Return the load balancer's objects; calls ``render`` if definition or ``settings`` differ from the
        previous call's, or that gave no objects.

        ``settings``: everything else that the objects depend on, compared by equality.
        """
        last = self._kept.pop(service.load_balancer_id, None)
        if last is None or last[0] != settings or last[1] != service:
            last = (settings, service, render(service))
        # A problem may pass, and what is deleted is rendered once more at most.
        if last[2].objects:
            self._kept[service.load_balancer_id] = last
            if len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        return last[2]
