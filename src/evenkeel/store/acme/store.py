"""Implements the store port of requested certificates."""

from collections.abc import Mapping, Sequence
from functools import partial

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import AcmeCertificate, Authorization, PlacedChallenges
from evenkeel.store.acme import awaiting, certificates, challenges
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.operations import query_operation, read_operation, write_operation
from evenkeel.store.options import StoreOptions


class SqlAcme:
    """Implements :class:`evenkeel.core.ports.AcmeStore`."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options

    store_request = write_operation(certificates.store_certificate_request)
    list_requested_certificates = query_operation(certificates.read_requested_certificates)
    find_requested_certificate = query_operation(certificates.find_requested_certificate)
    mark_used = write_operation(certificates.mark_certificate_referenced)
    request_removal_of_unused = write_operation(certificates.request_removal_of_unused)
    request_removal = write_operation(certificates.request_certificate_removal)
    request_revocation = write_operation(certificates.request_certificate_revocation)
    remove_request = write_operation(certificates.delete_certificate_request)
    store_dns_records = write_operation(certificates.store_dns_records)
    find_challenge_targets = read_operation(challenges.read_challenge_targets)

    async def find_with_unneeded_records(self, *, limit: int, rest_seconds: float) -> tuple[AcmeCertificate, ...]:
        return await self._db.query(
            lambda connection: certificates.find_certificates_with_unneeded_records(connection, limit, rest_seconds)
        )

    async def take_due_certificates(self, *, limit: int, lease_seconds: float) -> tuple[AcmeCertificate, ...]:
        ids = await self._db.query(lambda connection: certificates.read_due_certificate_ids(connection, limit))
        if not ids:
            return ()
        return await self._db.write(
            lambda connection: certificates.take_due_certificates(connection, ids, lease_seconds)
        )

    async def reserve_order(self, certificate: AcmeCertificate, *, orders_max: int, lease_seconds: float) -> bool:
        return await self._db.write(
            lambda connection: certificates.reserve_order(connection, certificate, orders_max, lease_seconds)
        )

    async def store_progress(
        self, certificate: AcmeCertificate, result: AdvancedProgress, *, lease_seconds: float
    ) -> AcmeCertificate | None:
        return await self._db.write(
            lambda connection: certificates.store_certificate_progress(connection, certificate, result, lease_seconds)
        )

    async def set_awaiting_problem(self, certificate: AcmeCertificate, *, awaited_seconds: float) -> None:
        await self._db.write(lambda connection: awaiting.set_awaiting_problem(connection, certificate, awaited_seconds))

    async def end_overdue_waits(self, *, awaited_seconds: float, limit: int) -> int:
        overdue = await self._db.query(
            lambda connection: awaiting.read_overdue_certificate_ids(connection, awaited_seconds, limit)
        )
        for each in overdue:  # each in a transaction of its own, because each locks load balancers in their order
            await self._db.write(
                partial(awaiting.end_overdue_certificate_wait, id_=each, awaited_seconds=awaited_seconds)
            )
        return len(overdue)

    async def replace_challenges(
        self, certificate: AcmeCertificate, wanted: Mapping[LoadBalancerId, Sequence[Authorization]]
    ) -> tuple[tuple[PlacedChallenges, ...], tuple[Change, ...]]:
        return await self._db.write(
            lambda connection: challenges.replace_challenges(connection, certificate, wanted, self._options)
        )
