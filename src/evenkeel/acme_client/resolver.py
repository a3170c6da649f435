"""The port ``NameResolver``, implemented by dnspython."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

import dns.asyncresolver
import dns.exception
import dns.resolver

from evenkeel.core.kit.errors import DnsResolverUnavailable
from evenkeel.core.tls.acme.caa import CaaRecord

ADDRESSES_MAX = 50
RECORDS_MAX = 100


class DnsResolver:
    """Resolves names, without a cache, each look-up within ``timeout_seconds``. ``name_servers``: addresses
    with an optional port (``192.0.2.1``, ``[2001:db8::1]:5353``); empty: those of the host.
    """

    def __init__(self, name_servers: Sequence[str] = (), *, timeout_seconds: float) -> None:
        """Initialize the resolver. ``name_servers``: addresses, with or without a port; empty: the name
        servers of ``/etc/resolv.conf``. Raises :class:`ValueError` for a name server that is no address,
        and :class:`dns.resolver.NoResolverConfiguration` if that file has none.
        """
        self._resolver = dns.asyncresolver.Resolver(configure=not name_servers)
        if name_servers:
            pairs = [address_and_port(each) for each in name_servers]
            self._resolver.nameservers = [address for address, _ in pairs]
            self._resolver.nameserver_ports = dict(pairs)
        self._resolver.lifetime = timeout_seconds

    async def addresses(self, name: str) -> tuple[str, ...]:
        """Return the addresses in the A and AAAA records of the name, after CNAMEs, sorted, at most
        :data:`ADDRESSES_MAX`; empty if it has none. Raises :class:`DnsResolverUnavailable`.
        """
        found: list[str] = []
        for kind in ("A", "AAAA"):
            answer = await self._read_records(name, kind, f"{name} cannot be resolved")
            found += [str(ipaddress.ip_address(each.address)) for each in answer]
        return tuple(sorted(set(found))[:ADDRESSES_MAX])

    async def name_servers(self, zone: str) -> tuple[str, ...]:
        """Return the addresses of at most :data:`RECORDS_MAX` name servers in the zone's NS records; empty if
        it has none. Raises :class:`DnsResolverUnavailable`.
        """
        answer = await self._read_records(zone, "NS", f"the name servers of {zone} cannot be read")
        names = [each.target.to_text(omit_final_dot=True) for each in answer][:RECORDS_MAX]
        found = [await self.addresses(name) for name in names]
        return tuple(dict.fromkeys(address for addresses in found for address in addresses))

    async def caa(self, name: str) -> tuple[CaaRecord, ...]:
        """Return the CAA records of the name, after CNAMEs, at most :data:`RECORDS_MAX`; empty if it has
        none. Raises :class:`DnsResolverUnavailable`.
        """
        answer = await self._read_records(name, "CAA", f"the CAA records of {name} cannot be read")
        found = [CaaRecord(each.flags, _ascii_text(each.tag), _ascii_text(each.value)) for each in answer]
        return tuple(found[:RECORDS_MAX])

    async def _read_records(self, name: str, kind: str, failure: str) -> Iterable[Any]:
        """Return the name's records of this type, after CNAMEs; empty if it has none. Raises
        :class:`DnsResolverUnavailable`, whose text begins with ``failure``.
        """
        try:
            return await self._resolver.resolve(f"{name}.", kind, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except (dns.exception.DNSException, OSError) as error:
            raise DnsResolverUnavailable(f"{failure}: {error}"[:500]) from error


def _ascii_text(content: bytes) -> str:
    return content.decode("ascii", "replace")


def address_and_port(text: str) -> tuple[str, int]:
    """Parse address and port of a name server (``192.0.2.1``, ``[2001:db8::1]:5353``); the port is 53 if none
    is given. Raises :class:`ValueError` for a text that has no address or another port than 1 to 65535.
    """
    bare = text.removeprefix("[").partition("]")[0] if text.startswith("[") else text
    rest = text.partition("]")[2] if text.startswith("[") else ""
    if not text.startswith("[") and text.count(":") == 1:
        bare, _, number = text.partition(":")
        rest = f":{number}"
    address, port = str(ipaddress.ip_address(bare)), rest.removeprefix(":") or "53"
    if not port.isdigit() or not 1 <= int(port) <= 65_535:
        raise ValueError(f"{text!r}: a port of 1 to 65535 is allowed")
    return address, int(port)
