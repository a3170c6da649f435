"""Store port for the attachment of devices to networks, where a network service manages these."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import ShardId
from evenkeel.core.networking.attachment import DeviceAddressPort, KnownSubnet, NetworkToReread
from evenkeel.core.networking.network import DeviceBinding
from evenkeel.core.networking.networks import MemberHost


class AttachmentStore(Protocol):
    """Store port for facts read from the network service, and for addresses of devices that have ports there.
    Every method may raise :class:`StoreUnavailable`.
    """

    async def store_network_facts(self, found: Sequence[KnownSubnet]) -> tuple[Change, ...]:
        """Store subnets and networks as read from the network service; subnets without their network are left
        out. Returns the changes of load balancers on networks that differ from what was stored; empty if
        another process stores new ones at the same time.
        """
        ...

    async def store_hosts(
        self, network_id: str, hosts: Mapping[str, MemberHost], *, late: bool = False
    ) -> tuple[Change, ...]:
        """Store on which hosts members of a network are. ``hosts``: {member address: host of the member's
        port}. If a stored member has moved to another host, returns the changes of all load balancers on
        the network, which get new revisions; else empty. ``late``: load balancers were served without
        hosts that were not known, so that a new host counts as a move.
        """
        ...

    async def record_unanswered_hosts(self, members: Mapping[str, Collection[str]]) -> None:
        """Record that the network service did not answer on which hosts members are. ``members``: {network id:
        addresses of members}; members whose host is known keep it.

        Load balancers are served without these hosts until :meth:`store_hosts` is called. The networks are due to be
        read again at once.
        """
        ...

    async def make_network_facts_due(self, network_ids: Collection[str]) -> None:
        """Record that the network service did not answer about these networks, or about members on them: they are due
        to be read at once.
        """
        ...

    async def take_due_network_facts(self, *, older_seconds: float, limit: int) -> tuple[NetworkToReread, ...]:
        """Return at most ``limit`` networks that were read more than ``older_seconds`` ago, those read
        longest ago, sorted by id; mark them as read now, so that no other process gets them. Networks
        without attached devices are deleted instead.
        """
        ...

    async def release_unused_networks(self, *, limit: int) -> int:
        """Release networks of at most ``limit`` shards that no load balancer uses any more, and at most ``limit``
        networks that projects share; return the number of shards and networks. Needed where a process died between the
        removal of a network's last user and the release.
        """
        ...

    async def take_due_bindings(self, *, limit: int, backoff: Backoff) -> tuple[str, ...]:
        """Return the ids of at most ``limit`` claims on device ports that are to be bound to another host,
        longest due first.

        Each claim is returned to one caller only and becomes due again after the delay that ``backoff`` gives
        for its attempts. One query if none is due.
        """
        ...

    async def find_binding(self, claim_id: str) -> DeviceBinding | None:
        """Return the host to which the port of a claim is to be bound; None: the port is gone, is bound already, or is
        to be bound nowhere.
        """
        ...

    async def record_binding(self, claim_id: str, host: str | None) -> None:
        """Record that the claim's port was bound to ``host`` (None: the port was not to be bound). The
        binding stays pending if another host is wanted meanwhile.
        """
        ...

    async def store_address(self, shard_id: ShardId, taken: DeviceAddressPort) -> bool:
        """Store the address of a port that was created for the shard's devices, and let it hold the port's
        claim. Returns False, and stores nothing, if the devices do not need the address any more, or got
        another one meanwhile.

        Raises :class:`NetworkUnavailable` if deleting the port has begun.
        """
        ...
