"""A little name server of our own, which can be told to fail."""

from typing import Any, Self

import dns.message
import dns.rcode

from evenkeel.demo.acme import name_server as demo


class NameServer(demo.NameServer):
    """Answers as long as its context lasts."""

    rcode = dns.rcode.NOERROR
    silent = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a query, or do not."""
        if not self.silent:
            super().datagram_received(data, addr)

    def response_to(self, query: dns.message.Message) -> dns.message.Message:
        response = super().response_to(query)
        if self.rcode != dns.rcode.NOERROR:
            response.set_rcode(self.rcode)
        return response
