"""A name server of some IPv4 addresses, over UDP."""

import asyncio
from collections.abc import Mapping
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

TTL_SECONDS = 1


class NameServer(asyncio.DatagramProtocol):
    """Listens on a free port of 127.0.0.1. ``addresses``: the address of each name, in lower case."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = dict(addresses)
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> str:
        """Begin to answer; returns address and port."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return f"127.0.0.1:{self._transport.get_extra_info('sockname')[1]}"

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a query; what is none is ignored."""
        try:
            response = answer_to(dns.message.from_wire(data), self._addresses)
        except (dns.exception.DNSException, ValueError):
            return
        if self._transport is not None:
            self._transport.sendto(response.to_wire(), addr)


def answer_to(query: dns.message.Message, addresses: Mapping[str, str]) -> dns.message.Message:
    """The response to a query of one question. Raises :class:`ValueError` for another one. Pure."""
    (question,) = query.question
    response = dns.message.make_response(query)
    response.flags |= dns.flags.AA | dns.flags.RA
    address = addresses.get(question.name.to_text(omit_final_dot=True).lower())
    if address is None:
        response.set_rcode(dns.rcode.NXDOMAIN)
    elif question.rdtype == dns.rdatatype.A:
        response.answer.append(dns.rrset.from_text(question.name, TTL_SECONDS, "IN", "A", address))
    return response
