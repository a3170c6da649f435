"""Searches for VIPs' ports that were deleted at the network service, so that they are recreated.

The load balancers' status reason reports the loss. All controllers share the search, page by page, so that each port is
queried once in an interval, however many controllers and load balancers there are.
"""

import structlog

from evenkeel.controller.settings import ControllerSettings
from evenkeel.controller.vip_port_updates import VipPortUpdates
from evenkeel.core.ports import LostPortStore, Network

log = structlog.get_logger(__name__)

PORTS_PER_PAGE = 100


class VipPortSearch:
    """Finds lost ports of VIPs and requests their recreation."""

    def __init__(
        self, ports: LostPortStore, network: Network, updates: VipPortUpdates, settings: ControllerSettings
    ) -> None:
        self._ports = ports
        self._network = network
        self._updates = updates
        self._settings = settings

    async def query_due(self) -> None:
        """Look for all ports that are due at the network service, store which are lost, and request their
        recreation. Raises :class:`NetworkUnavailable` (the current page waits for the next search),
        :class:`StoreUnavailable`.
        """
        older_seconds = self._settings.port_search_seconds
        while page := await self._ports.take_ports_to_check(older_seconds=older_seconds, limit=PORTS_PER_PAGE):
            # The page was taken before: two controllers never query the same ports, and a failed page waits for the
            # next search.
            there = await self._network.find_existing_ports([each.port_id for each in page])
            lost = [each for each in page if each.port_id not in there]
            for load_balancer_id in await self._ports.record_lost_ports(lost):
                log.warning("a VIP's port was deleted at the network service", load_balancer=load_balancer_id)
                self._updates.update_soon(load_balancer_id)
