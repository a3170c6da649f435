"""The port ``DnsZone``, implemented by dynamic updates (RFC 2136) that are signed by TSIG (RFC 8945)."""

import asyncio
import os
from collections.abc import Sequence
from typing import NamedTuple

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.update

from evenkeel.acme_client.resolver import DnsResolver, address_and_port
from evenkeel.core.kit.errors import DnsZoneUnavailable
from evenkeel.core.tls.acme.values import TxtRecord
from evenkeel.core.tls.certificates import Secret

TTL_SECONDS = 60
SERVERS_MAX = 20
"""Maximum number of a zone's authoritative servers that are queried."""
RECORDS_PER_MESSAGE = 100
"""Maximum number of records in one update message: with the longest names they take half of the 64 KiB that a message
may have.
"""
_REASON_CHARACTERS = 200
_NO_VALUE = "evenkeel-check"


class TsigKey(NamedTuple):
    """A key that a name server shares with the controllers, to sign updates (RFC 8945)."""

    name: str
    algorithm: str
    """Algorithm as in key files of BIND: ``hmac-sha256``."""
    secret: Secret
    """The secret in base64."""


class Rfc2136Zone:
    """Changes one DNS zone by dynamic updates (RFC 2136); changes that the server does not accept raise
    :class:`DnsZoneUnavailable`.

    ``server``: the zone's primary server, an address with an optional port. ``name_servers``: servers that
    have to answer with a record before it counts as set; empty: those that the zone's NS records name, by
    ``resolver``. ``timeout_seconds``: time-out of each message.
    """

    def __init__(
        self,
        zone: str,
        server: str,
        key: TsigKey,
        resolver: DnsResolver,
        *,
        name_servers: Sequence[str] = (),
        timeout_seconds: float,
    ) -> None:
        """Initialize the zone; nothing is sent yet. Raises :class:`ValueError` for a server that is no
        address, and for a secret that is no base64.
        """
        self._zone = zone
        self._place = address_and_port(server)
        self._key = dns.tsig.Key(
            dns.name.from_text(key.name), key.secret.reveal().decode("ascii"), dns.name.from_text(key.algorithm)
        )
        self._resolver = resolver
        self._name_servers = [address_and_port(each) for each in name_servers]
        self._timeout_seconds = timeout_seconds

    async def check(self, names: Sequence[str]) -> None:
        """Check that the server accepts updates of the names, by removing a record that none of them has:
        BIND accepts an update without any change from every key, and applies its policy to each name of
        other updates. Raises :class:`DnsZoneUnavailable` if it does not.
        """
        await self.remove([TxtRecord(zone=self._zone, name=name, value=_NO_VALUE) for name in names])

    async def add(self, records: Sequence[TxtRecord]) -> None:
        """Add the records by updates of :data:`RECORDS_PER_MESSAGE` records; existing records stay. Raises
        :class:`DnsZoneUnavailable`; earlier updates are in force then.
        """
        for part in _split_records(records):
            update = self._new_update()
            for one in part:
                update.add(_dns_name(one.name), TTL_SECONDS, _txt_rdata(one))
            await self._send_update(update)

    async def remove(self, records: Sequence[TxtRecord]) -> None:
        """Remove exactly these records by updates of :data:`RECORDS_PER_MESSAGE` records. Raises
        :class:`DnsZoneUnavailable`; earlier updates are in force then.
        """
        for part in _split_records(records):
            update = self._new_update()
            for one in part:
                update.delete(_dns_name(one.name), _txt_rdata(one))
            await self._send_update(update)

    async def missing_record_reason(self, records: Sequence[TxtRecord]) -> str:
        """Query the first :data:`SERVERS_MAX` of the zone's authoritative servers concurrently; return a text
        that names a server without an answer or without one of the records, or that the zone has no
        servers; empty if each queried server has all records. Raises :class:`DnsResolverUnavailable` if the
        zone's name servers cannot be read.
        """
        servers = self._name_servers
        if not servers:
            servers = [(each, 53) for each in await self._resolver.name_servers(self._zone)]
        if not servers:
            return f"Zone {self._zone} has no name servers in the DNS."
        found = await asyncio.gather(*(self._missing_record_at(each, records) for each in servers[:SERVERS_MAX]))
        return next(filter(None, found), "")

    async def _missing_record_at(self, server: tuple[str, int], records: Sequence[TxtRecord]) -> str:
        for one in records:
            query = dns.message.make_query(_dns_name(one.name), "TXT", flags=0)
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    answer, _ = await dns.asyncquery.udp_with_fallback(
                        query, server[0], timeout=self._timeout_seconds, port=server[1]
                    )
            except (dns.exception.DNSException, OSError, EOFError) as error:
                return (
                    f"Name server {server[0]} of zone {self._zone} does not answer: {_reason_without_addresses(error)}."
                )
            if not any(_txt_rdata(one) in rrset for rrset in answer.answer if rrset.rdtype == dns.rdatatype.TXT):
                return f"Name server {server[0]} of zone {self._zone} does not have the record {one.name} yet."
        return ""

    def _new_update(self) -> dns.update.UpdateMessage:
        return dns.update.UpdateMessage(
            _dns_name(self._zone), keyring=self._key, keyname=self._key.name, keyalgorithm=self._key.algorithm
        )

    async def _send_update(self, update: dns.update.UpdateMessage) -> None:
        """Send an update. Raises :class:`DnsZoneUnavailable` unless the server accepts it and signs its answer."""
        # Without the address and the key's name, which are the operators' and not for tenants.
        about, (address, port) = f"The primary name server of zone {self._zone}", self._place
        try:
            async with asyncio.timeout(self._timeout_seconds):
                # By TCP: updates do not fit into a datagram, and nothing is sent twice.
                answer = await dns.asyncquery.tcp(update, address, timeout=self._timeout_seconds, port=port)
        except dns.tsig.PeerError as error:
            raise DnsZoneUnavailable(f"{about} does not accept the TSIG key: {_tsig_refusal(error)}.") from error
        except (TimeoutError, dns.exception.Timeout) as error:
            raise DnsZoneUnavailable(f"{about} did not answer within {self._timeout_seconds:g} s.") from error
        except (dns.exception.DNSException, OSError, EOFError, ValueError) as error:
            raise DnsZoneUnavailable(f"{about} cannot be changed: {_reason_without_addresses(error)}.") from error
        if answer.rcode() != dns.rcode.NOERROR:
            raise DnsZoneUnavailable(f"{about} refuses changes: {dns.rcode.to_text(answer.rcode())}.")
        # Not every version of the library demands the signature.
        if not answer.had_tsig:
            raise DnsZoneUnavailable(f"{about} does not sign its answers by the TSIG key.")


_REASON_BY_TSIG_ERROR: dict[type[dns.tsig.PeerError], str] = {
    dns.tsig.PeerBadKey: "it has no key of this name and algorithm",
    dns.tsig.PeerBadSignature: "it has another secret",
    dns.tsig.PeerBadTime: "its clock differs",
}


def _tsig_refusal(error: dns.tsig.PeerError) -> str:
    return _REASON_BY_TSIG_ERROR.get(type(error), type(error).__name__)


def _reason_without_addresses(error: Exception) -> str:
    """Return the error's reason without the addresses that texts of operating system errors contain."""
    if isinstance(error, TimeoutError | dns.exception.Timeout):
        return "no answer in time"
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno else type(error).__name__
    return (str(error).rstrip(".") or type(error).__name__)[:_REASON_CHARACTERS]


def _split_records(records: Sequence[TxtRecord]) -> list[Sequence[TxtRecord]]:
    return [records[number : number + RECORDS_PER_MESSAGE] for number in range(0, len(records), RECORDS_PER_MESSAGE)]


def _dns_name(text: str) -> dns.name.Name:
    return dns.name.from_text(f"{text}.")


def _txt_rdata(record: TxtRecord) -> dns.rdata.Rdata:
    return dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.TXT, f'"{record.value}"')
