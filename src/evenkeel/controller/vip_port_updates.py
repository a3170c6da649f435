"""Telling the network service what the ports of VIPs are to have, after a tenant has changed it.

The database says what is still to be told. The controller that accepted a change tells it at once; what that one did
not get done, because it died or the network service was out of reach, any of them does later, however often that fails.
"""

import structlog

from evenkeel.controller.loops import InterruptibleSleep, for_each
from evenkeel.core.errors import Conflict
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.network import RETRY, DuePort, PortOptions
from evenkeel.core.ports import Network, PortStore

log = structlog.get_logger(__name__)

PORTS_PER_LOOK = 20
PORTS_AT_ONCE = 4
CHANGED_MAX = 1_000
"""Of those accepted here; more are found in the database."""
ROUNDS = 5
"""How often a port is told again because it was changed meanwhile, before others get their turn."""


class VipPortUpdates:
    """Looks for ports that are still to be changed, and changes them."""

    def __init__(self, ports: PortStore, network: Network) -> None:
        self._ports = ports
        self._network = network
        self._changed: set[LoadBalancerId] = set()
        self._pause = InterruptibleSleep()

    def changed(self, load_balancer_id: LoadBalancerId) -> None:
        """What its port is to have was changed just now."""
        if len(self._changed) < CHANGED_MAX:
            self._changed.add(load_balancer_id)
        self._pause.end()

    async def pause(self, seconds: float) -> None:
        """Until the next look is due, or something has changed."""
        await self._pause.wait(seconds)

    async def look(self) -> None:
        """Once. Raises :class:`NetworkUnavailable` if that is why some could not be changed."""
        changed, self._changed = self._changed, set()
        due = await self._ports.take_due_ports(limit=PORTS_PER_LOOK, backoff=RETRY)
        await for_each(sorted({*changed, *due}), self._tell, at_once=PORTS_AT_ONCE)

    async def _tell(self, load_balancer_id: LoadBalancerId) -> None:
        for _ in range(ROUNDS):
            port = await self._ports.port_of(load_balancer_id)
            if port is None:
                return
            try:
                told = await self._set(port)
            except Conflict as error:
                log.warning(
                    "a VIP's port is not changed; trying again", load_balancer=load_balancer_id, reason=str(error)
                )
                return
            if told is None or await self._ports.port_set(told):
                return

    async def _set(self, port: DuePort) -> DuePort | None:
        """What the port was given; None: there is nothing to give."""
        latest: DuePort | None = port

        async def read() -> PortOptions | None:
            nonlocal latest
            latest = await self._ports.port_of(port.load_balancer_id)
            return None if latest is None else latest.options

        await self._network.set_options(port.port_id, read)
        return latest
