"""Challenges of dns-01: records in DNS zones, set before the authority validates and removed after the order.

Records are stored in the database before they are set. If a controller dies, the controller that continues
the order finds them there; records that a zone's server did not remove are removed later.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import NamedTuple

import structlog

from evenkeel.controller.loops import for_each_concurrently
from evenkeel.core.kit.errors import DnsZoneUnavailable, StoreUnavailable, Unavailable
from evenkeel.core.ports import AcmeStore, DnsZone
from evenkeel.core.tls.acme.values import AcmeCertificate, Authorization, TxtRecord
from evenkeel.core.tls.acme.zones import ZoneScope, challenge_record, challenge_record_name, find_zones

log = structlog.get_logger(__name__)

RECORDS_MAX = 400
"""Limit of records of a request that may be in zones: four times those of an order with the most names."""
LEFT_PER_LOOK = 100
LEFT_AT_ONCE = 8


class ConfiguredZone(NamedTuple):
    """A configured DNS zone, with the client that changes its records."""

    scope: ZoneScope
    server: DnsZone


class DnsChallengeRecords:
    """Sets and removes the TXT records of dns-01 challenges in the configured zones. ``step_seconds``: time
    limit for all zones of a certificate in one step, less than a controller's lease of the certificate.
    """

    def __init__(self, store: AcmeStore, zones: Sequence[ConfiguredZone], *, step_seconds: float) -> None:
        self._store = store
        self._scopes = tuple(each.scope for each in zones)
        self._servers: Mapping[str, DnsZone] = {each.scope.zone: each.server for each in zones}
        self._step_seconds = step_seconds

    def zones_by_name(self, certificate: AcmeCertificate) -> Mapping[str, str]:
        """Return the DNS zone of each name of the certificate that is proven by dns-01; names without a
        configured zone are left out.
        """
        return find_zones(certificate.project_id, certificate.names, self._scopes)

    async def check_zones(self, certificate: AcmeCertificate) -> None:
        """Check that the servers of the certificate's zones accept changes. Raises :class:`DnsZoneUnavailable`
        if one does not, or if that takes longer than the time limit.
        """
        zones = self.zones_by_name(certificate)
        async with self._limit_time():
            for zone in sorted(set(zones.values())):
                names = sorted({challenge_record_name(name) for name, its in zones.items() if its == zone})
                await self._servers[zone].check(names)

    async def set_records(self, certificate: AcmeCertificate, authorizations: Sequence[Authorization]) -> str:
        """Store the records of the authorizations and set them in their zones. Returns why they are not
        complete yet (a name server lacks one, or another controller continues the order); empty if they
        are. Raises :class:`DnsZoneUnavailable`, :class:`StoreUnavailable`.
        """
        zones = self.zones_by_name(certificate)
        wanted = [challenge_record(each, zones[each.name]) for each in authorizations]
        kept = tuple(dict.fromkeys([*certificate.records, *wanted]))
        if len(kept) > RECORDS_MAX:
            raise DnsZoneUnavailable(f"{RECORDS_MAX} records of earlier orders could not be removed from DNS zones.")
        if kept != certificate.records and not await self._store.store_dns_records(certificate, kept):
            return "Another controller continues the order."
        async with self._limit_time():
            for zone, records in _group_by_zone(wanted):
                await self._servers[zone].add(records)
            for zone, records in _group_by_zone(wanted):
                if missing := await self._servers[zone].missing_record_reason(records):
                    return missing
        return ""

    async def remove_records(self, certificate: AcmeCertificate) -> bool:
        """Remove all records of the certificate from their zones and the database; records in zones that are
        no longer configured are only logged. Returns False if a zone's server failed or another controller
        continues the order. Raises :class:`StoreUnavailable`.
        """
        if not certificate.records:
            return True
        about = log.bind(certificate=certificate.name, project=certificate.project_id)
        try:
            async with self._limit_time():
                for zone, records in _group_by_zone(certificate.records):
                    if zone in self._servers:
                        await self._servers[zone].remove(records)
                    else:
                        about.warning("records left in a DNS zone that is not configured any more", zone=zone)
        except StoreUnavailable:
            raise
        except Unavailable as error:
            about.warning("records not removed from a DNS zone", reason=str(error))
            return False
        return await self._store.store_dns_records(certificate, ())

    async def remove_leftover_records(self, rest_seconds: float) -> None:
        """Remove records that could not be removed at the end of their orders, of at most
        :data:`LEFT_PER_LOOK` certificates. ``rest_seconds``: time in which no step of the certificate may
        be due, because its next order may have the same records. Raises :class:`StoreUnavailable`.
        """
        left = await self._store.find_with_unneeded_records(limit=LEFT_PER_LOOK, rest_seconds=rest_seconds)
        failed: set[str] = set()

        async def remove_unless_failed(certificate: AcmeCertificate) -> None:
            zones = {each.zone for each in certificate.records}
            # One attempt for a zone whose server does not answer: due steps wait meanwhile.
            if not zones & failed and not await self.remove_records(certificate):
                failed.update(zones)

        await for_each_concurrently(left, remove_unless_failed, at_once=LEFT_AT_ONCE)

    @asynccontextmanager
    async def _limit_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._step_seconds):
                yield
        except TimeoutError as error:
            raise DnsZoneUnavailable(
                f"The servers of DNS zones did not finish within {self._step_seconds:g} s."
            ) from error


def _group_by_zone(records: Iterable[TxtRecord]) -> list[tuple[str, list[TxtRecord]]]:
    ordered = sorted(records, key=lambda each: each.zone)
    return [(zone, list(found)) for zone, found in groupby(ordered, key=lambda each: each.zone)]
