"""Implements :class:`evenkeel.core.ports.AttachmentStore`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.attachment import KnownSubnet
from evenkeel.core.networking.networks import MemberHost
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.operations import query_operation, write_operation
from evenkeel.store.networks import bindings, common, facts, network_attachment
from evenkeel.store.options import StoreOptions

ALLOCATION_TRIES = 3
"""Maximum number of attempts to store rows that other processes store at the same time."""


class SqlAttachments:
    """Stores facts from the network service, and ports created there for devices, in SQL; implements the port
    ``AttachmentStore``.
    """

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options

    async def store_network_facts(self, found: Sequence[KnownSubnet]) -> tuple[Change, ...]:
        with suppress(IntegrityError):  # another process stored one of them first: its facts are as recent
            return await self._db.write(lambda connection: facts.store_network_facts(connection, found, self._options))
        return ()

    async def store_hosts(
        self, network_id: str, hosts: Mapping[str, MemberHost], *, late: bool = False
    ) -> tuple[Change, ...]:
        for _ in range(ALLOCATION_TRIES):
            with suppress(IntegrityError):  # another process stored one of them first: now it is known
                return await self._db.write(
                    lambda connection: facts.store_member_hosts(connection, network_id, hosts, self._options, late=late)
                )
        await self.record_unanswered_hosts({network_id: hosts})
        return ()

    record_unanswered_hosts = write_operation(facts.record_unanswered_hosts)

    make_network_facts_due = write_operation(facts.make_network_facts_due)

    take_due_network_facts = write_operation(facts.take_due_network_facts)

    async def release_unused_networks(self, *, limit: int) -> int:
        shards = await self._db.read(
            lambda connection: network_attachment.find_shards_with_unused_networks(connection, limit)
        )
        for shard_id in shards:
            await self._db.write(partial(network_attachment.release_unused_networks, shard_id=shard_id))
        networks = await self._db.read(lambda connection: common.find_unused_common_networks(connection, limit))
        for each in networks:
            await self._db.write(partial(network_attachment.release_common_network, network=each))
        return len(shards) + len(networks)

    async def take_due_bindings(self, *, limit: int, backoff: Backoff) -> tuple[str, ...]:
        due = await self._db.query(lambda connection: bindings.read_due_bindings(connection, limit))
        if not due:
            return ()
        return await self._db.write(lambda connection: bindings.take_due_bindings(connection, due, backoff))

    find_binding = query_operation(bindings.find_device_binding)

    record_binding = write_operation(bindings.delete_pending_binding)

    store_address = write_operation(network_attachment.store_allocated_address)
