"""What clients and members get to see of the parts of enhanced services, whatever the device: the tests of each driver
run this unchanged.

A driver's tests subclass :class:`EnhancedServiceBehaviour` and give a fixture ``site``: a device with a data plane and
a directory of definitions. What its table of capabilities lacks is skipped.
"""

import asyncio
import contextlib
import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import pytest

from evenkeel.config.esd.parse import parse_all
from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.esd.support import check_supported_parts
from tests.certificates import by_sha256, referring
from tests.devices import tls_behaviour
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Clients, Server, Site, members, sticky
from tests.devices.services import listener, pool, service
from tests.equivalence import http2
from tests.waiting import eventually

PAGE = '<h1>back at {noon}, 100 % sure; it\'s "fine" # $HOME \\</h1>\n<p>second line</p>\n'
UPGRADE = (
    b"GET /chat HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
HOSTILE = "a'b\"c\\d%[src]$HOME#e;f,g(h) {{i}}"
"""As template: the text that members must get, with single braces."""


EVERY_PART: Mapping[str, Any] = MappingProxyType(
    {
        "allow": ["127.0.0.0/8"],
        "deny": ["127.0.0.9/32"],
        "connection_limit_per_source": 50,
        "rate_limit": {"requests": 3, "interval": 3600, "cookie": "session"},
        "request_headers": {"set": {"X-From": "{client_address}"}},
        "response_headers": {"set": {"X-Host": "{host}"}},
        "security_headers": "basic",
        "error_pages": {"429": {"body": "slower"}},
        "compression": {},
        "timeouts": {"request": 5, "keep_alive": 6, "tunnel": 3600},
        "member_connection_limit": {"connections": 50},
        "drain": 60,
        "cookie_encryption": {"cookies": ["SESSION"]},
        "haproxy_lines": ["http-request set-header X-Operator yes"],
    }
)
"""Parts that can work together; what a device type lacks is left out (:meth:`EnhancedClients.possible`)."""


class EnhancedSite(Site, Protocol):
    """A device under test whose agent reads definitions from a directory."""

    esd_dir: Path

    async def apply(
        self, service: ServiceDefinition, contents: Mapping[str, CertificateContent] = ...
    ) -> PartitionOutcome:
        """Make the load balancer so. ``contents``: certificates that the batch brings, by identity."""
        ...

    async def refresh(self) -> Mapping[str, str]:
        """Have the agent read the files; problems by name of the enhanced services."""
        ...


class EnhancedClients(Clients):
    """Clients of one load balancer whose listener has enhanced services."""

    site: EnhancedSite

    async def offer(self, **definitions: Mapping[str, Any]) -> None:
        """Define these enhanced services, and no others; skip where the device type cannot render them."""
        content = json.dumps(definitions)
        for definition in parse_all({"test.json": content.encode()}).definitions.values():
            assert not definition.problem
            if problem := check_supported_parts(definition, self.site.table).problem:
                pytest.skip(problem)
        (self.site.esd_dir / "test.json").write_text(content)
        assert not any((await self.site.refresh()).values())

    def possible(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the parts, and of their settings, that the device type has."""
        table = self.site.table
        found = {part: value for part, value in parts.items() if part in table.service_parts}
        for part, settings in table.service_settings.items():
            if part in found:
                found[part] = {name: value for name, value in found[part].items() if name in settings}
        return found

    async def serve(self, servers: tuple[Server, ...], *names: str, **changes: Any) -> None:
        """A listener with these enhanced services before the servers."""
        pools = (pool(members=members(servers), monitor=None, protocol=changes.get("protocol", "HTTP")),)
        await self.apply(service(listeners=(listener(enhanced_services=names, **changes),), pools=pools))

    async def raw(self, *headers: str) -> tuple[bytes, bytes]:
        """Head and body of one answer, as bytes."""
        reader, writer = await asyncio.open_connection(*self.site.place(VIP, 80))
        lines = ("GET / HTTP/1.1", "Host: test", "Connection: close", *headers, "", "")
        writer.write("\r\n".join(lines).encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return head, body

    async def statuses_of(self, count: int, *headers: str, source: str | None = None) -> Counter[str]:
        """Status codes of requests one after another, on connections of their own; empty: refused."""
        found: Counter[str] = Counter()
        for _ in range(count):
            head, _ = await ask(self.site.place(VIP, 80), "/", *headers, source=source)
            found[_status(head)] += 1
        return found


def _status(head: str) -> str:
    return head.split(" ")[1] if head else ""


def guide() -> dict[str, Any]:
    """The definitions of the guide for operators, by name."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "offer-enhanced-services.md").read_text()
    found: dict[str, Any] = json.loads(text.partition("```json\n")[2].partition("```")[0])
    return found


def header(head: str | bytes, name: str) -> list[str]:
    """Values of a header, in order."""
    text = head.decode() if isinstance(head, bytes) else head
    return re.findall(rf"(?im)^{name}:[ \t]*(.*?)\r?$", text)


class _AtVip:
    """A site as :mod:`tests.devices.tls_behaviour` has it: its places are ports of one VIP."""

    def __init__(self, site: EnhancedSite) -> None:
        self.apply, self.observe = site.apply, site.observe
        self._site = site

    def place(self, port: int) -> tuple[str, int]:
        return self._site.place(VIP, port)


class EnhancedServiceBehaviour:
    """Unchanged for every driver."""

    @pytest.fixture
    def clients(self, site: EnhancedSite) -> EnhancedClients:
        return EnhancedClients(site)

    @pytest.fixture
    async def servers(self) -> AsyncIterator[tuple[Server, ...]]:
        made = (Server("member-1-1"),)
        for server in made:
            await server.start()
        yield made
        for server in made:
            await server.stop()

    async def test_requests_without_tls_are_redirected_to_the_same_host_and_path(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        await clients.offer(web={"https_redirect": {"code": 308, "port": 8443}})
        await clients.serve(servers, "web")
        where = clients.site.place(VIP, 80)
        head, _ = await ask(where, "/a?b=c&d=%20", host="shop.example:8080")
        assert (_status(head), header(head, "Location")) == ("308", ["https://shop.example:8443/a?b=c&d=%20"])
        head, _ = await ask(where, "/", host="[2001:db8::1]:80")
        assert header(head, "Location") == ["https://[2001:db8::1]:8443/"]
        for code in (301, 302, 307):
            await clients.offer(web={"https_redirect": {"code": code}})
            await clients.serve(servers, "web")
            head, _ = await ask(where, "/a?b=c", host="shop.example")
            assert (_status(head), header(head, "Location")) == (str(code), ["https://shop.example/a?b=c"])
        assert servers[0].heard == []

    async def test_headers_are_removed_set_and_added_with_variables(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        changes = {"remove": ["X-Secret"], "set": {"X-Real-IP": "{client_address}"}, "add": {"X-Tag": HOSTILE}}
        told = {"set": {"X-Request": "{request_id} {host}"}, "remove": ["Set-Cookie"]}
        known = {"set": {"X-Request": "{request_id} {host} {protocol}{tls_version}{sni}", "X-Port": "{client_port}"}}
        await clients.offer(
            web={"request_headers": changes, "response_headers": told}, other={"request_headers": known}
        )
        await clients.serve(servers, "web", "other")
        head, _ = await clients.ask("X-Secret: 1", "X-Real-IP: 192.0.2.1", "X-Tag: own")
        (heard,) = servers[0].heard
        assert header(heard, "X-Secret") == [] and header(heard, "X-Real-IP") == ["127.0.0.1"]
        assert header(heard, "X-Tag") == ["own", HOSTILE.replace("{{", "{").replace("}}", "}")]
        assert re.fullmatch(r"[0-9a-f-]{36} test", *header(head, "X-Request"))
        assert header(head, "Set-Cookie") == []
        # the first service that has a part decides it
        assert header(heard, "X-Request") == []
        await clients.serve(servers, "other", "web")
        head, _ = await clients.ask()
        (asked,) = header(servers[0].heard[-1], "X-Request")
        assert asked.split(" ")[1:] == ["test", "http"]
        assert re.fullmatch("[0-9]+", *header(servers[0].heard[-1], "X-Port"))
        assert header(head, "X-Request") == [" ".join(asked.split(" ")[:2])]

    async def test_requests_beyond_the_rate_of_one_source_are_refused(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        await clients.offer(api={"rate_limit": {"requests": 20, "interval": 3600}})
        await clients.serve(servers, "api")
        assert await clients.statuses_of(30) == {"200": 20, "429": 10}
        head, _ = await clients.ask()
        assert header(head, "Retry-After") == ["3600"]
        assert await clients.statuses_of(5, source="127.0.0.9") == {"200": 5}
        assert len(servers[0].heard) == 25

    async def test_parameters_of_a_tag_replace_numbers_of_the_definition(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        declared = {"requests": {"sets": "rate_limit.requests", "minimum": 1, "maximum": 20}}
        await clients.offer(api={"rate_limit": {"requests": 20, "interval": 3600}, "parameters": declared})
        await clients.serve(servers, "api", service_parameters={"api": {"requests": 3}})
        assert await clients.statuses_of(5) == {"200": 3, "429": 2}

    async def test_rates_are_counted_by_a_header_or_a_cookie(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        by_header = {"rate_limit": {"requests": 3, "interval": 3600, "header": "X-Api-Key", "status": 503}}
        await clients.offer(api=by_header)
        await clients.serve(servers, "api")
        assert await clients.statuses_of(5, "X-Api-Key: one") == {"200": 3, "503": 2}
        assert await clients.statuses_of(5) == {"200": 5}
        long = "x" * 300
        assert await clients.statuses_of(2, f"X-Api-Key: {long}1") == {"200": 2}
        assert await clients.statuses_of(4, f"X-Api-Key: {long}2") == {"200": 3, "503": 1}
        await clients.offer(api={"rate_limit": {"requests": 2, "interval": 3600, "cookie": "session"}})
        await clients.serve(servers, "api")
        assert await clients.statuses_of(3, "Cookie: a=b; session=s1") == {"200": 2, "429": 1}
        assert await clients.statuses_of(1, "Cookie: session=s2") == {"200": 1}

    async def test_connections_of_one_source_beyond_the_limit_are_refused(self, clients: EnhancedClients) -> None:
        kept = Keeping("member-1-1")
        await clients.offer(web={"connection_limit_per_source": 2})
        await kept.start()
        await clients.serve((kept,), "web", protocol="TCP")
        held = [await asyncio.open_connection(*clients.site.place(VIP, 80)) for _ in range(2)]
        try:
            for reader, writer in held:
                writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
                assert (await reader.readexactly(12)) == b"HTTP/1.1 200"
            assert await clients.statuses_of(1) == {"": 1}
            assert await clients.statuses_of(1, source="127.0.0.9") == {"200": 1}
            held.pop()[1].transport.abort()

            async def another_is_served() -> bool:
                return await clients.statuses_of(1) == {"200": 1}

            await eventually(another_is_served)
        finally:
            for _, writer in held:
                writer.transport.abort()
            await kept.stop()

    async def test_networks_are_denied_and_allowed(self, clients: EnhancedClients, servers: tuple[Server, ...]) -> None:
        await clients.offer(web={"deny": ["127.0.0.8/29"], "allow": ["127.0.0.0/28", "2001:db8::/32"]})
        await clients.serve(servers, "web")
        assert await clients.statuses_of(1) == {"200": 1}
        assert await clients.statuses_of(1, source="127.0.0.9") == {"": 1}
        assert await clients.statuses_of(1, source="127.0.0.17") == {"": 1}
        await clients.offer(web={"deny": ["127.0.0.0/30"]})
        await clients.serve(servers, "web")
        assert await clients.statuses_of(1) == {"": 1}
        assert await clients.statuses_of(1, source="127.0.0.17") == {"200": 1}

    async def test_maintenance_answers_all_requests(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        page = {"body": PAGE, "content_type": "text/html; charset=utf-8", "retry_after": 120}
        await clients.offer(down={"maintenance": page})
        await clients.serve(servers, "down")
        head, body = await clients.ask()
        assert (_status(head), body) == ("503", PAGE)
        assert header(head, "Content-Type") == ["text/html; charset=utf-8"] and header(head, "Retry-After") == ["120"]
        assert servers[0].heard == []
        await clients.serve(servers)
        assert await clients.statuses_of(1) == {"200": 1}

    async def test_error_pages_replace_the_devices_own(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        pages = {"503": {"body": PAGE}, "400": {"body": '{"error": "bad"}', "content_type": "application/json"}}
        await clients.offer(web={"error_pages": pages, "security_headers": "strict"})
        await clients.serve((), "web")
        head, body = await clients.ask()
        assert (_status(head), body, header(head, "Content-Type")) == ("503", PAGE, ["text/html; charset=utf-8"])
        # the device's own responses have them too
        assert header(head, "X-Frame-Options") == ["DENY"]
        pages["503"] = {"body": "other"}
        await clients.offer(web={"error_pages": pages})
        await clients.serve((), "web")
        assert (await clients.ask())[1] == "other"

    async def test_responses_are_compressed_for_clients_that_accept_it(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        texts = Texts("member-1-1")
        await texts.start()
        try:
            await clients.offer(web={"compression": {"types": ["text/plain"]}, "security_headers": "basic"})
            await clients.serve((texts,), "web")
            head, body = await clients.ask()
            assert header(head, "Content-Encoding") == [] and body == Texts.BODY
            assert header(head, "X-Content-Type-Options") == ["nosniff"]
            head_bytes, packed = await clients.raw("Accept-Encoding: gzip")
            assert header(head_bytes, "Content-Encoding") == ["gzip"]
            assert len(packed) < len(Texts.BODY)
        finally:
            await texts.stop()

    async def test_responses_below_the_minimum_size_are_not_compressed(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        texts = Texts("member-1-1")
        sizes = [{"compression": {"types": ["text/plain"], "minimum_size": len(Texts.BODY) + more}} for more in (0, 1)]
        await clients.offer(web=sizes[0])
        await texts.start()
        try:
            encodings = []
            for definition in sizes:
                await clients.offer(web=definition)
                await clients.serve((texts,), "web")
                head, _ = await clients.raw("Accept-Encoding: gzip")
                encodings.append(header(head, "Content-Encoding"))
            assert encodings == [["gzip"], []]
        finally:
            await texts.stop()

    async def test_members_behind_tls_get_what_the_client_negotiated(
        self, clients: EnhancedClients, tmp_path: Path
    ) -> None:
        told = "{protocol} {tls_version} {sni} {client_certificate_cn}"
        await clients.offer(web={"request_headers": {"set": {"X-Client": told}}, "https_redirect": {}})
        over_tls = tls_behaviour.Clients(_AtVip(clients.site), tmp_path)
        async with tls_behaviour.running(over_tls.member("plain")) as member:
            wanted = tls_behaviour.tls_listener(
                enhanced_services=("web",), **tls_behaviour.verified(client_authentication="OPTIONAL")
            )
            definition = service(listeners=(wanted,), pools=(tls_behaviour.pool_of(member),))
            outcome = await clients.site.apply(
                referring(definition, tls_behaviour.NAMED), by_sha256(tls_behaviour.NAMED)
            )
            assert [one.error for one in outcome.outcomes if one.error] == []
            context = over_tls.context(tls_behaviour.CLIENT)
            assert (await over_tls.ask(tls=context)).status == 200
            assert (await over_tls.ask()).status == 200
            shown, anonymous = ((header(one, "X-Client") or [""])[0].split(" ") for one in member.heard)
        version = shown[1]
        assert version in ("TLSv1.2", "TLSv1.3")
        assert shown == ["https", version, "www.example.org", "client"]
        assert anonymous[:3] == ["https", version, "www.example.org"] and "client" not in anonymous

    async def test_parts_are_the_same_over_http2(self, clients: EnhancedClients, tmp_path: Path) -> None:
        await clients.offer(
            web={
                "rate_limit": {"requests": 2, "interval": 3600, "header": "X-Api-Key"},
                "request_headers": {"set": {"X-Forwarded-Host": "{host}", "X-Real-IP": "{client_address}"}},
                "response_headers": {"set": {"X-Served": "{protocol} {host}"}},
                "security_headers": "strict",
            }
        )
        over_tls = tls_behaviour.Clients(_AtVip(clients.site), tmp_path)
        async with tls_behaviour.running(over_tls.member("plain")) as member:
            wanted = tls_behaviour.tls_listener(enhanced_services=("web",))
            definition = service(listeners=(wanted,), pools=(tls_behaviour.pool_of(member),))
            named = referring(definition, tls_behaviour.NAMED)
            outcome = await clients.site.apply(named, by_sha256(tls_behaviour.NAMED))
            assert [one.error for one in outcome.outcomes if one.error] == []
            context = over_tls.context(alpn=["h2"])
            where = clients.site.place(VIP, tls_behaviour.PORT)
            forged = [("host", "shop.example"), ("x-api-key", "one"), ("x-forwarded-host", "forged.example")]
            heads = [await _ask_over_http2(where, context, forged) for _ in range(3)]
        assert [head.split("\r\n")[0] for head in heads] == ["HTTP/2 200", "HTTP/2 200", "HTTP/2 429"]
        assert header(heads[0], "X-Served") == ["https shop.example"]
        assert header(heads[0], "X-Frame-Options") == ["DENY"]
        assert header(heads[2], "Retry-After") == ["3600"]
        assert len(member.heard) == 2
        assert header(member.heard[0], "X-Forwarded-Host") == ["shop.example"]
        assert header(member.heard[0], "X-Real-IP") == ["127.0.0.1"]

    async def test_50_of_500_http2_streams_of_one_connection_pass(
        self, clients: EnhancedClients, tmp_path: Path
    ) -> None:
        await clients.offer(api={"rate_limit": {"requests": 50, "interval": 3600}})
        over_tls = tls_behaviour.Clients(_AtVip(clients.site), tmp_path)
        kept = Keeping("member-1-1")
        await kept.start()
        try:
            wanted = tls_behaviour.tls_listener(enhanced_services=("api",))
            definition = service(listeners=(wanted,), pools=(pool(members=members((kept,)), monitor=None),))
            named = referring(definition, tls_behaviour.NAMED)
            outcome = await clients.site.apply(named, by_sha256(tls_behaviour.NAMED))
            assert [one.error for one in outcome.outcomes if one.error] == []
            where = clients.site.place(VIP, tls_behaviour.PORT)
            reader, writer = await _http2_connection(where, over_tls.context(alpn=["h2"]))
            found = await http2.statuses(reader, writer, "/", [("host", "shop.example")], 500)
            writer.transport.abort()
        finally:
            await kept.stop()
        assert found.keys() == {"200", "429"} and found.total() == 500
        assert 50 <= found["200"] <= 52

    @pytest.mark.parametrize(
        ("protocol", "times"), [("TCP", {}), ("HTTP", {"timeout_client_data": 1000, "timeout_member_data": 1000})]
    )
    async def test_connection_without_data_ends_after_the_time_of_tunnels(
        self, clients: EnhancedClients, protocol: str, times: Mapping[str, int]
    ) -> None:
        await clients.offer(ws={"timeouts": {"tunnel": 1}})
        echo = Echo("member-1-1")
        await echo.start()
        # with TCP the listener's own times are 50 s; with HTTP a BIG-IP has none that is longer than that of tunnels
        await clients.serve((echo,), "ws", protocol=protocol, **times)
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            writer.write(UPGRADE)
            assert _status((await reader.readuntil(b"\r\n\r\n")).decode()) == "101"
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 30.0) == b""
        finally:
            writer.transport.abort()
            await echo.stop()

    async def test_request_whose_headers_are_not_complete_in_time_ends(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        await clients.offer(web={"timeouts": {"request": 1}})
        await clients.serve(servers, "web")
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: te")
            answer = await asyncio.wait_for(reader.read(), 30.0)
            assert answer == b"" or _status(answer.decode()) == "408"
            assert servers[0].heard == []
        finally:
            writer.transport.abort()

    async def test_connection_without_another_request_ends_after_the_keep_alive_time(
        self, clients: EnhancedClients
    ) -> None:
        await clients.offer(web={"timeouts": {"keep_alive": 1}})
        kept = Keeping("member-1-1")
        await kept.start()
        await clients.serve((kept,), "web")
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            assert [await _status_on(reader, writer) for _ in range(2)] == ["200", "200"]
            assert await asyncio.wait_for(reader.read(), 30.0) == b""
        finally:
            writer.transport.abort()
            await kept.stop()

    async def test_definitions_of_the_guide_do_what_they_say(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        await clients.offer(**guide())
        await clients.serve(servers, "secure-web")
        head, _ = await clients.ask()
        assert (_status(head), header(head, "Location")) == ("308", ["https://test/"])
        await clients.serve(servers, "api")
        assert await clients.statuses_of(52, "X-Api-Key: one") == {"200": 50, "429": 2}
        assert await clients.statuses_of(1, "X-Api-Key: two") == {"200": 1}
        await clients.serve(servers, "legacy")
        await clients.ask("X-Powered-By: client", "X-Real-IP: 192.0.2.1")
        heard = servers[0].heard[-1]
        assert header(heard, "X-Powered-By") == [] and header(heard, "X-Real-IP") == ["127.0.0.1"]
        assert header(heard, "X-Forwarded-Host") == ["test"]
        await clients.serve(servers, "websocket")
        assert await clients.statuses_of(1) == {"200": 1}
        await clients.serve(servers, "maintenance")
        head, body = await clients.ask()
        assert (_status(head), body, header(head, "Retry-After")) == ("503", "<h1>Back at noon</h1>", ["3600"])

    async def test_websocket_is_upgraded_with_all_parts_that_the_device_has(self, clients: EnhancedClients) -> None:
        every = {**EVERY_PART, "connection_limit_per_source": 2, "rate_limit": {"requests": 1, "interval": 3600}}
        await clients.offer(ws=clients.possible(every))
        echo = Echo("member-1-1")
        await echo.start()
        await clients.serve((echo,), "ws")
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            writer.write(UPGRADE)
            head = await reader.readuntil(b"\r\n\r\n")
            assert _status(head.decode()) == "101"
            assert header(head, "X-Host") == ["test"] and header(head, "Upgrade") == ["websocket"]
            assert header(echo.heard[0], "X-From") == ["127.0.0.1"]
            for frame in (b"\x81\x05hello", bytes(range(256)), b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"):
                writer.write(frame)
                assert await reader.readexactly(len(frame)) == frame
            assert await clients.statuses_of(1) == {"429": 1}
        finally:
            writer.transport.abort()
            await echo.stop()

    async def test_open_connections_of_a_removed_member_end_when_it_is_drained(self, clients: EnhancedClients) -> None:
        await clients.offer(ws={"drain": 1})
        echo = Echo("member-1-1")
        await echo.start()
        await clients.serve((echo,), "ws")
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        try:
            writer.write(UPGRADE)
            assert _status((await reader.readuntil(b"\r\n\r\n")).decode()) == "101"
            await clients.serve((), "ws")
            assert await asyncio.wait_for(reader.read(), 30.0) == b""
        finally:
            writer.transport.abort()
            await echo.stop()

    async def test_clients_see_encrypted_cookies_and_members_plain_ones(self, clients: EnhancedClients) -> None:
        await clients.offer(web={"cookie_encryption": {"cookies": ["SESSION"]}})
        servers = (Server("member-1-1"), Server("member-1-2"))
        for server in servers:
            await server.start()
        wanted = pool(members=members(servers), monitor=None, session_persistence=sticky("HTTP_COOKIE", "SRV"))
        try:
            await clients.apply(service(listeners=(listener(enhanced_services=("web",)),), pools=(wanted,)))
            head, first = await clients.ask()
            cookies = dict(one.partition(";")[0].split("=", 1) for one in header(head, "Set-Cookie"))
            assert cookies.keys() == {"SESSION", "SRV"}
            assert first not in cookies["SESSION"]
            # a plain one names the member's address and port
            assert re.fullmatch(r"![A-Za-z0-9+/]+=*", cookies["SRV"])
            sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
            for _ in range(4):
                assert (await clients.ask(f"Cookie: {sent}"))[1] == first
            heard = next(server for server in servers if server.name == first).heard[-1]
            assert f"SESSION={first}" in "".join(header(heard, "Cookie"))
        finally:
            for server in servers:
                await server.stop()

    async def test_requests_of_one_connection_are_counted_each(self, clients: EnhancedClients) -> None:
        kept = Keeping("member-1-1")
        await clients.offer(api={"rate_limit": {"requests": 2, "interval": 3600}})
        await kept.start()
        await clients.serve((kept,), "api")
        reader, writer = await asyncio.open_connection(*clients.site.place(VIP, 80))
        found = [await _status_on(reader, writer) for _ in range(3)]
        writer.close()
        await kept.stop()
        assert found == ["200", "200", "429"]

    async def test_requests_beyond_a_members_limit_wait_for_their_turn_or_get_503(
        self, clients: EnhancedClients
    ) -> None:
        slow = Holding("member-1-1")
        await clients.offer(web={"member_connection_limit": {"connections": 3, "queue": 2, "wait": 600}})
        await slow.start()
        await clients.serve((slow,), "web")
        asking = [asyncio.create_task(clients.ask()) for _ in range(12)]
        try:
            # the member has three, two wait
            early = await eventually(lambda: _answered(asking, 7))
            assert early == {"503": 7}
            slow.release.set()
            assert await eventually(lambda: _answered(asking, 12)) == {"200": 5, "503": 7}
            assert slow.most == 3  # settled: everything was answered
        finally:
            slow.release.set()
            await slow.stop()

    async def test_request_waits_no_longer_for_a_member_than_it_may(self, clients: EnhancedClients) -> None:
        slow = Holding("member-1-1")
        await clients.offer(web={"member_connection_limit": {"connections": 1, "wait": 1}})
        await slow.start()
        await clients.serve((slow,), "web")
        asking = [asyncio.create_task(clients.ask()) for _ in range(2)]
        try:
            early = await eventually(lambda: _answered(asking, 1))
            assert early == {"503": 1}
            slow.release.set()
            assert await eventually(lambda: _answered(asking, 2)) == {"200": 1, "503": 1}
        finally:
            slow.release.set()
            await slow.stop()

    async def test_all_parts_work_together_behind_one_listener(
        self, clients: EnhancedClients, servers: tuple[Server, ...]
    ) -> None:
        await clients.offer(all=clients.possible(EVERY_PART))
        await clients.serve(servers, "all")
        assert await clients.statuses_of(4, "Cookie: session=one") == {"200": 3, "429": 1}
        head, body = await clients.ask("Cookie: session=one")
        assert (_status(head), body) == ("429", "slower")
        head, _ = await clients.ask()
        assert header(head, "X-Frame-Options") == ["SAMEORIGIN"]
        assert (header(head, "X-Host"), header(servers[0].heard[-1], "X-From")) == (["test"], ["127.0.0.1"])
        assert await clients.statuses_of(1, source="127.0.0.9") == {"": 1}

    @pytest.mark.parametrize("protocols", [["h2"], ["http/1.1"]])
    async def test_all_parts_work_together_over_tls_on_one_connection(
        self, clients: EnhancedClients, tmp_path: Path, protocols: list[str]
    ) -> None:
        await clients.offer(all=clients.possible(EVERY_PART))
        over_tls = tls_behaviour.Clients(_AtVip(clients.site), tmp_path)
        kept = Keeping("member-1-1")
        await kept.start()
        wanted = tls_behaviour.tls_listener(enhanced_services=("all",))
        pools = (pool(members=members((kept,)), monitor=None),)
        named = referring(service(listeners=(wanted,), pools=pools), tls_behaviour.NAMED)
        outcome = await clients.site.apply(named, by_sha256(tls_behaviour.NAMED))
        assert [one.error for one in outcome.outcomes if one.error] == []
        where = clients.site.place(VIP, tls_behaviour.PORT)
        context = over_tls.context(alpn=protocols)
        reader, writer = await asyncio.open_connection(*where, ssl=context, server_hostname="www.example.org")
        try:
            if protocols == ["h2"]:
                cookie = [("host", "test"), ("cookie", "session=one")]
                found = await http2.statuses(reader, writer, "/", cookie, 5)
            else:
                found = Counter([await _status_on(reader, writer, "Cookie: session=one") for _ in range(5)])
            assert found == {"200": 3, "429": 2}
        finally:
            writer.transport.abort()
            await kept.stop()


async def _status_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *headers: str) -> str:
    """Status of the answer to one more request on the connection."""
    writer.write("\r\n".join(("GET / HTTP/1.1", "Host: test", *headers, "", "")).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(*header(head, "Content-Length")))
    return _status(head.decode())


def _answered(asking: Sequence[asyncio.Task[tuple[str, str]]], count: int) -> Counter[str]:
    """Statuses of the answers that are there; none while they are not as many as ``count``."""
    found = Counter(_status(task.result()[0]) for task in asking if task.done())
    return found if found.total() == count else Counter()


async def _ask_over_http2(where: tuple[str, int], context: ssl.SSLContext, headers: Sequence[tuple[str, str]]) -> str:
    """Head of the answer to one request on a connection of its own."""
    reader, writer = await _http2_connection(where, context)
    try:
        head, _ = await http2.exchange(reader, writer, "/", headers)
        return head
    finally:
        writer.transport.abort()


async def _http2_connection(
    where: tuple[str, int], context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(*where, ssl=context, server_hostname="www.example.org")
    assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
    return reader, writer


class Echo(Server):
    """Upgrades a connection, and then returns every byte."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._open = 0

    async def stop(self) -> None:
        """Stop once all connections have ended."""
        await super().stop()
        await eventually(lambda: not self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        # HAProxy checks the answer to the key (RFC 6455, 1.3)
        accepted = b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n%s\r\n\r\n"
        with contextlib.suppress(OSError):
            self.heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(head % accepted)
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        self._open -= 1


class Texts(Server):
    """Answers with a text that compresses well."""

    BODY = "all work and no play " * 500

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(self.BODY)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n{self.BODY}".encode())
        await writer.drain()
        writer.close()


class Holding(Server):
    """Answers when ``release`` is set; counts the connections that it has at once."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.release = asyncio.Event()
        self.most = 0
        self._current = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._current += 1
        self.most = max(self.most, self._current)
        try:
            await self.release.wait()
            await super()._serve(reader, writer)
        finally:
            self._current -= 1


class Keeping(Server):
    """Answers many requests of a connection, until one asks for its end."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = b""
            while b"Connection: close" not in request:
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()
