"""Implements :class:`evenkeel.core.ports.MirrorStore` in SQL."""

from collections.abc import Sequence
from random import Random

from sqlalchemy.exc import IntegrityError

from evenkeel.core.control.mirrors import ADDRESS_TAKEN, BEING_DELETED, MirrorConflict, MirroredSourceState
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, RequestError
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.tls.certificates import CheckedCertificate
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.operations import query_operation, read_operation, write_operation
from evenkeel.store.mirrors import mirror_writes
from evenkeel.store.mirrors.changes import read_mirror_changes
from evenkeel.store.mirrors.lease import take_writer_lease
from evenkeel.store.mirrors.mirror_reads import (
    READ_DELETED_HOLDERS_OF_ADDRESSES,
    find_mirrored_load_balancer,
    list_mirrored_load_balancers,
    read_mirror_statistics,
    read_mirror_statuses,
)
from evenkeel.store.mirrors.vip_ports import find_unused_ports, store_vip_port
from evenkeel.store.options import StoreOptions
from evenkeel.store.tenants.chaining import operation_with_chain_check
from evenkeel.store.vips.selection import plan_with_canonical_addresses, write_with_vip
from evenkeel.store.writing.taken_ids import id_in_use_error


class SqlMirrors:
    """Stores load balancers that mirror another system's in SQL; implements the port ``MirrorStore``."""

    def __init__(self, database: Database, options: StoreOptions, random: Random) -> None:
        self._db = database
        self._options = options
        self._random = random

    find_mirrored_load_balancer = read_operation(find_mirrored_load_balancer)
    read_statuses = read_operation(read_mirror_statuses)
    list_mirrored_load_balancers = query_operation(list_mirrored_load_balancers)
    changes_since = read_operation(read_mirror_changes)
    read_statistics = query_operation(read_mirror_statistics)
    take_writer_lease = write_operation(take_writer_lease)
    store_vip_port = write_operation(store_vip_port)
    find_unused_ports = query_operation(find_unused_ports)

    async def put_mirrored_load_balancer(
        self,
        tree: LoadBalancerTree,
        plan: VipPlan,
        mark: MirroredSourceState,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change | None:
        normal = plan_with_canonical_addresses(plan)
        op = operation_with_chain_check(
            unchained,
            mirror_writes.put_mirrored_load_balancer(self._options, tree, normal, mark, self._random, certificates),
        )
        try:
            return await write_with_vip(self._db, op, normal, _error_of_concurrent_write)
        except Conflict as error:
            wanted = [each.address for each in (normal, *normal.additional) if each.address is not None]
            if error.code == ADDRESS_TAKEN and await self._is_address_being_released(normal.network_id, wanted):
                raise MirrorConflict(f"{error} Its load balancer is being deleted.", code=BEING_DELETED) from error
            raise

    async def _is_address_being_released(self, network_id: str, addresses: Sequence[str]) -> bool:
        """Whether a load balancer that is being deleted still has one of the addresses, which will be free
        afterwards.
        """
        parameters = {"network_id": network_id, "some": addresses}
        return bool(
            await self._db.query(lambda connection: connection.scalar(READ_DELETED_HOLDERS_OF_ADDRESSES, parameters))
        )

    async def remove_mirrored_load_balancer(
        self, load_balancer_id: LoadBalancerId, provider: str, snapshot: float
    ) -> Change | None:
        return await self._db.write(
            mirror_writes.remove_mirrored_load_balancer(self._options, load_balancer_id, provider, snapshot)
        )


def _error_of_concurrent_write(_error: IntegrityError) -> RequestError:
    """Return the error for a write that failed because a concurrent one stored one of the ids elsewhere."""
    return id_in_use_error("An object with one of these ids exists")
