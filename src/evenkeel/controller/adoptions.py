"""Answers agents that adopt the networks to which another program attached their devices.

The shard's rows are stored first, in one transaction; then the ports are marked as ours at the network service. A
controller that dies in between leaves ports with the other program's marks, which the shard holds by their ids:
repeating the adoption marks them, and they are deleted with the shard's networks either way.
"""

from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.devices.adoption import FoundAddress
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.ports import Network, OwnershipStore, TenantStore
from evenkeel.core.protocol import messages as m

PORTS_AT_ONCE = 4


class Adoptions:
    """Answers :class:`AdoptNetworks` and :class:`KeepIrules`. ``network``: the network service that may own
    the ports of addresses; None: there is none.
    """

    def __init__(self, ownership: OwnershipStore, tenants: TenantStore, network: Network | None) -> None:
        self._ownership = ownership
        self._tenants = tenants
        self._network = network

    async def keep_irules(self, call: m.KeepIrules) -> m.Done:
        """Store operators' iRules with their listeners. Raises :class:`Conflict` with the reason,
        :class:`SessionLost`, :class:`StoreUnavailable`.
        """
        # No hint follows: the agent that calls makes a complete pass after the adoption.
        await self._tenants.keep_irules(call)
        return m.Done()

    async def adopt_networks(self, call: m.AdoptNetworks) -> m.NetworksAdopted:
        """Adopt, or only preview, the networks of a shard. Raises :class:`Conflict` with the reason (also if
        the network service is unavailable: the adoption may then be stored, and is repeated),
        :class:`SessionLost`, :class:`StoreUnavailable`.
        """
        try:
            ports = await self._find_ports(call)
            # Stored before the ports are marked: a mark alone does not show which shard a port belongs to.
            adopted = await self._ownership.adopt_networks(call, ports)
            if self._network is not None:
                await for_each_concurrently(adopted.ports, self._network.adopt_port, at_once=PORTS_AT_ONCE)
        except NetworkUnavailable as error:
            raise Conflict(f"{error}; repeat the adoption when the network service is back") from error
        return m.NetworksAdopted(
            route_domain=adopted.route_domain,
            addresses=adopted.addresses,
            route_domains=dict(adopted.route_domains),
        )

    async def _find_ports(self, call: m.AdoptNetworks) -> dict[FoundAddress, PortClaim]:
        found: dict[FoundAddress, PortClaim] = {}
        by_network: dict[str, list[FoundAddress]] = {}
        for network_id, address in await self._ownership.ports_to_adopt(call):
            by_network.setdefault(network_id, []).append(address)
        for network_id, addresses in by_network.items():
            if self._network is not None:
                found |= await self._network.find_adoptable(network_id, addresses)
        return found
