"""Hostile texts in definitions of enhanced services, whatever the device: members and clients get them as they are, or
the definition is refused. The tests of each driver run this unchanged.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.config.esd.parts import HEADERS_MAX
from tests.devices.access_log_behaviour import HOSTILE_BYTES
from tests.devices.enhanced_behaviour import EnhancedClients, EnhancedSite, header
from tests.devices.haproxy.test_hostile_strings import HOSTILE
from tests.devices.service_behaviour import Server

TEXTS = tuple(dict.fromkeys((*HOSTILE, *(value.decode("latin-1") for value in HOSTILE_BYTES))))


def template(text: str) -> str:
    """The header value that stands for a text."""
    return text.replace("{", "{{").replace("}", "}}")


def possible(text: str) -> bool:
    """Whether a header may have this text: printable ASCII of at most 1024 characters."""
    return re.fullmatch("[ -~]{1,1024}", template(text)) is not None


class HostileTextBehaviour:
    """Unchanged for every driver."""

    @pytest.fixture
    def clients(self, site: EnhancedSite) -> EnhancedClients:
        return EnhancedClients(site)

    @pytest.fixture
    async def server(self) -> AsyncIterator[Server]:
        made = Server("member-1-1")
        await made.start()
        yield made
        await made.stop()

    async def test_hostile_header_values_reach_members_and_clients_as_they_are(
        self, clients: EnhancedClients, server: Server
    ) -> None:
        texts = list(filter(possible, TEXTS))
        for begin in range(0, len(texts), HEADERS_MAX):
            some = texts[begin : begin + HEADERS_MAX]
            expected = {f"X-Text-{number}": text for number, text in enumerate(some)}
            values: dict[str, Any] = {"set": {name: template(text) for name, text in expected.items()}}
            await clients.offer(web={"request_headers": values, "response_headers": values})
            await clients.serve((server,), "web")
            head, _ = await clients.ask()
            for seen in (server.heard[-1], head):
                assert {name: header(seen, name) for name in expected} == {
                    name: [text] for name, text in expected.items()
                }

    async def test_a_page_of_hostile_texts_is_sent_as_it_is(self, clients: EnhancedClients, server: Server) -> None:
        page = "\n".join(text for text in TEXTS if "\0" not in text)
        await clients.offer(closed={"maintenance": {"body": page}})
        await clients.serve((server,), "closed")
        _, body = await clients.ask()
        assert body == page
