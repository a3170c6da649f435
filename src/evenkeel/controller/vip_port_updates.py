"""Updates VIPs' ports at the network service after a tenant's change, binds them to hosts of devices, and recreates
lost ports.

The database holds the pending changes. The controller that accepted a change makes it at once; if that fails, because
the controller died or the network service was unavailable, any controller retries it until it succeeds.
"""

import structlog

from evenkeel.controller.loops import InterruptibleSleep, for_each_concurrently
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import RETRY, MissingVipPort, PortOptions, PortToUpdate
from evenkeel.core.ports import LostPortStore, Network, PortStore

log = structlog.get_logger(__name__)

PORTS_PER_LOOK = 20
PORTS_AT_ONCE = 4
CHANGED_MAX = 1_000
"""Limit of remembered changes of this controller; further changes are found in the database."""
ROUNDS = 5
"""Maximum number of successive updates of a port that changes meanwhile, before the next port."""


class VipPortUpdates:
    """Finds VIPs' ports with pending changes, and updates them at the network service."""

    def __init__(self, ports: PortStore, lost: LostPortStore, network: Network) -> None:
        self._ports = ports
        self._lost = lost
        self._network = network
        self._changed: set[LoadBalancerId] = set()
        self._pause = InterruptibleSleep()

    def update_soon(self, load_balancer_id: LoadBalancerId) -> None:
        """Make the update of the load balancer's port due at once, because its options have just changed.
        Above :data:`CHANGED_MAX` it is left to the database.
        """
        if len(self._changed) < CHANGED_MAX:
            self._changed.add(load_balancer_id)
        self._pause.end()

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``, or earlier after :meth:`update_soon`."""
        await self._pause.wait(seconds)

    async def update_due(self) -> None:
        """Update the ports that changed on this controller, and at most :data:`PORTS_PER_LOOK` others that
        are due. Raises :class:`NetworkUnavailable` if that prevented some updates,
        :class:`StoreUnavailable`. A port that the network service refuses to change is tried again later.
        """
        # Taken before the work, so that a change that arrives during it is not lost.
        changed, self._changed = self._changed, set()
        due = await self._ports.take_load_balancers_due_for_port_update(limit=PORTS_PER_LOOK, backoff=RETRY)
        await for_each_concurrently(sorted({*changed, *due}), self._update_port, at_once=PORTS_AT_ONCE)

    async def _update_port(self, load_balancer_id: LoadBalancerId) -> None:
        for _ in range(ROUNDS):
            port = await self._ports.find_due_port(load_balancer_id)
            if port is None:
                return
            if port.lost is not None:
                if not await self._recreate_port(port, port.lost):
                    return
                continue
            try:
                told = await self._set_options(port)
            except Conflict as error:
                log.warning("VIP port not updated; trying again", load_balancer=load_balancer_id, reason=str(error))
                return
            if told is None or await self._ports.record_port_updated(told):
                return

    async def _recreate_port(self, port: PortToUpdate, lost: MissingVipPort) -> bool:
        """Recreate a lost port, unless it exists after all; returns whether the port is there now. Raises
        :class:`NetworkUnavailable`, :class:`StoreUnavailable`.
        """
        id_ = port.load_balancer_id
        # Looked for once more: the search may have been wrong, for example by a policy that hid the port.
        if await self._network.find_existing_ports([port.port_id]):
            log.warning(
                "VIP port is there again; does Neutron show this controller's user all ports?", port=port.port_id
            )
            await self._lost.record_found_port(port)
            return True
        # Stored before the port is created: if this process dies in between, the claim's marks find the port.
        if not await self._lost.begin_recreation(id_):
            return False
        try:
            port_id = await self._network.recreate_vip_port(lost, port.options)
        except Conflict as error:
            log.warning("VIP port not recreated; trying again", load_balancer=id_, reason=str(error))
            reason = (
                f"port {port.port_id} of its VIP was deleted at the network service, and is not made again: {error}"
            )
            await self._lost.record_recreation_failure(id_, reason)
            return False
        if not await self._lost.record_new_port(port, port_id):
            return False
        log.info("VIP port recreated", load_balancer=id_, port=port_id, instead_of=port.port_id)
        return True

    async def _set_options(self, port: PortToUpdate) -> PortToUpdate | None:
        """Set the newest options (QoS policy, security groups, host) on a VIP's port at the network service.
        Returns the port with the options that were set; None if no update of it was pending any more.

        Raises :class:`NetworkUnavailable`; :class:`Conflict` if the network service refuses.
        """
        latest: PortToUpdate | None = port

        async def read_options() -> PortOptions | None:
            nonlocal latest
            # Read at the last moment: of two changes in quick succession the port gets the newer options.
            latest = await self._ports.find_due_port(port.load_balancer_id)
            return None if latest is None else latest.options

        await self._network.set_options(port.port_id, read_options)
        return latest
