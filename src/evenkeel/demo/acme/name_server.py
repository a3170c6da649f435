"""An authoritative DNS server for a few names, over UDP."""

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

TTL_SECONDS = 1


class NameServer(asyncio.DatagramProtocol):
    """Answers DNS queries over UDP. ``addresses``: IPv4 and IPv6 addresses by name, in lower case without a
    final dot. ``port`` 0: a free one.
    """

    def __init__(self, addresses: Mapping[str, Sequence[str]], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.addresses = dict(addresses)
        """Addresses by name; they may be changed while the server runs."""
        self.records: dict[tuple[str, str], set[str]] = {}
        """Values of records other than addresses, by name and type, as in zone files; they may be changed, too."""
        self._place = host, port
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> str:
        """Begin to answer; returns ``address:port``. Raises :class:`OSError` if the port cannot be bound."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=self._place)
        return self.address

    def close(self) -> None:
        """Stop answering."""
        if self._transport is not None:
            self._transport.close()

    @property
    def address(self) -> str:
        """The server's ``address:port``. Raises :class:`RuntimeError` before the start."""
        if self._transport is None:
            raise RuntimeError("the name server was not started")
        host, port = self._transport.get_extra_info("sockname")[:2]
        return f"{host}:{port}"

    def values(self, name: str, kind: str) -> set[str]:
        """Return the values of a name's records of the type ``kind``, as in zone files; empty if it has none."""
        if kind not in ("A", "AAAA"):
            return self.records.get((name, kind), set())
        version = 4 if kind == "A" else 6
        return {each for each in self.addresses.get(name, ()) if ipaddress.ip_address(each).version == version}

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a query; other datagrams are ignored."""
        try:
            response = self.response_to(dns.message.from_wire(data))
        except (dns.exception.DNSException, ValueError):
            return
        if self._transport is not None:
            self._transport.sendto(response.to_wire(), addr)

    def response_to(self, query: dns.message.Message) -> dns.message.Message:
        """Build the response to a query: NXDOMAIN for a name without records. Raises :class:`ValueError`
        unless the query has one question.
        """
        (question,) = query.question
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA | dns.flags.RA
        found = self.values(name, kind)
        if found:
            response.answer.append(dns.rrset.from_text(question.name, TTL_SECONDS, "IN", kind, *sorted(found)))
        elif not self._has_records(name):
            response.set_rcode(dns.rcode.NXDOMAIN)
        return response

    def _has_records(self, name: str) -> bool:
        """Whether the name has records of any type."""
        return name in self.addresses or any(owner == name and found for (owner, _), found in self.records.items())
