"""A little name server of our own, with dnspython: A, AAAA, CAA and other records of some names, over UDP."""

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Self

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


class NameServer(asyncio.DatagramProtocol):
    """Answers on ``host``; ``records``: addresses by name, which may be changed while it runs."""

    def __init__(self, records: Mapping[str, Sequence[str]], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.records = dict(records)
        self.authorizations: dict[str, Sequence[str]] = {}
        """CAA records by name, as in zone files."""
        self.others: dict[tuple[str, str], set[str]] = {}
        """Values of other records by name and type, as in zone files."""
        self.rcode = dns.rcode.NOERROR
        self.silent = False
        self._place = host, port
        self._transport: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=self._place)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def address(self) -> str:
        """Address with port."""
        assert self._transport is not None
        host, port = self._transport.get_extra_info("sockname")[:2]
        return f"{host}:{port}"

    def values(self, name: str, kind: str) -> set[str]:
        """Values of other records of a name."""
        return self.others.get((name, kind), set())

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a query."""
        if self._transport is None or self.silent:
            return
        response = dns.message.make_response(dns.message.from_wire(data))
        response.flags |= dns.flags.AA | dns.flags.RA
        (question,) = response.question
        name = question.name.to_text(omit_final_dot=True).lower()
        found = self.records.get(name)
        kind = dns.rdatatype.to_text(question.rdtype)
        others = self.values(name, kind)
        is_absent = found is None and not others and not self.rcode
        response.set_rcode(dns.rcode.NXDOMAIN if is_absent else self.rcode)
        if others:
            response.answer.append(dns.rrset.from_text(question.name, 1, "IN", kind, *sorted(others)))
        for value in self.authorizations.get(name, ()):
            if question.rdtype == dns.rdatatype.CAA:
                response.answer.append(dns.rrset.from_text(question.name, 1, "IN", "CAA", value))
        for address in found or ():
            kind = "A" if ipaddress.ip_address(address).version == 4 else "AAAA"
            if question.rdtype == dns.rdatatype.from_text(kind):
                response.answer.append(dns.rrset.from_text(question.name, 1, "IN", kind, address))
        self._transport.sendto(response.to_wire(), addr)
