"""The store port for what devices need of networks, where a network service knows it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from evenkeel.core.attachment import DueFacts, KnownSubnet, TakenAddress
from evenkeel.core.control import Change
from evenkeel.core.ids import ShardId
from evenkeel.core.networks import MemberHost


class AttachmentStore(Protocol):
    """Facts that were read from the network service, and addresses of devices that are ports there."""

    async def store_facts(self, found: Sequence[KnownSubnet]) -> tuple[Change, ...]:
        """Store subnets and networks. Returns the changes of load balancers on networks whose facts were others."""
        ...

    async def store_hosts(self, network_id: str, hosts: Mapping[str, MemberHost]) -> tuple[Change, ...]:
        """Store where members' ports are, by address. Returns the changes of load balancers if one has moved."""
        ...

    async def take_due_facts(self, *, older_seconds: float, limit: int) -> tuple[DueFacts, ...]:
        """At most ``limit`` networks that were read longer ago, oldest first; they count as read now. Those without
        attached devices are forgotten."""
        ...

    async def release_leftovers(self, *, limit: int) -> int:
        """Release networks that no load balancer uses any more, of at most ``limit`` shards, and at most ``limit``
        networks that projects share; returns how many there were. Where a process died after the last user was removed
        and before this."""
        ...

    async def store_address(self, shard_id: ShardId, taken: TakenAddress) -> bool:
        """Store the address of a port that was made, which then holds its claim. False: it is not needed any more.
        Raises :class:`NetworkUnavailable` if deleting the port has begun."""
        ...
