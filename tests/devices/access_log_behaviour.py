"""Access logs of tenants, whatever the device: the tests of each driver run this unchanged."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.devices.enhanced_behaviour import EnhancedClients, EnhancedSite
from tests.devices.haproxy.test_hostile_strings import HOSTILE
from tests.devices.service_behaviour import VIP, Server, members
from tests.devices.services import listener, pool, service
from tests.listening import StreamServer
from tests.waiting import eventually

HEADER = re.compile(rb"<141>1 \S+ \S+ \S+ \S+ - - ")
"""The start of a line: facility local1, severity notice (RFC 5424)."""
SHARED_FIELDS = (
    "time", "load_balancer", "listener", "client_address", "client_port", "protocol", "tls_version", "path", "method",
    "host", "http_version", "user_agent", "referer", "status", "duration_ms", "member",
)  # fmt: skip
"""What every device logs; some log more."""
BYTES = ("request_bytes", "response_bytes")
OF_REQUESTS = ("path", "method", "host", "http_version", "user_agent", "referer", "status")
HOSTILE_BYTES = (
    b'a"b', b"a\\", b"\\", b'"', b'\\"', b'","status":999,"x":"', b"}\\n{", b"'", b"%[src]", b"%ci", b"$HOME",
    b"[exit]",
    b"${x}", b"{", b"}", b"]", b"[", b";", b"a\tb", b"\x01", b"\x1b[2J", b"\x7f", b"\xff\xfe", b"\xc3\xa4",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80", b"\xc3", b"<141>1 - - - - - - {}", b"&", b"\\0", b"\\u0000", b"\\x00", b"x" * 3000,
    b'"' * 3000, b"\x01" * 3000, b"a,b", b"#", b"//", b"/*", b"\\\\", b"$(id)", b"`id`", b"%00", b"%0a", b"%22",
    b"if TRUE", b"{ always_true }", b"|", b"-", b"--",
)  # fmt: skip
LOGGED_BYTES = tuple(
    # a request with one of the others ends before it
    dict.fromkeys((*HOSTILE_BYTES, *(text.encode() for text in HOSTILE if not set(text) & set("\0\r\n"))))
)


class LogServer:
    """A syslog server for UDP and TCP; keeps whole messages."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.port = 0
        self._tcp: StreamServer | None = None
        self._udp: asyncio.DatagramTransport | None = None

    async def start(self) -> None:
        self._tcp = await StreamServer.start(self._read)
        self.port = self._tcp.port
        server = self

        class Protocol(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: Any) -> None:
                server.messages.append(data)

        # roomy, so that a burst in a busy moment is not lost
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        sock.bind(("127.0.0.1", self.port))
        sock.setblocking(False)
        self._udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(Protocol, sock=sock)

    async def stop(self) -> None:
        if self._tcp is not None and self._udp is not None:
            self._tcp.close()
            self._udp.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.messages.append(line)
        writer.close()

    def lines(self) -> list[dict[str, Any]]:
        """Every message, which must be one line of JSON and nothing else."""
        found = []
        for message in self.messages:
            head = HEADER.match(message)
            assert head is not None, message
            text = message[head.end() :].removesuffix(b"\n")
            assert re.fullmatch(rb"[ -~]+", text), message
            found.append(json.loads(text))
        return found

    async def line(self, **expected: Any) -> dict[str, Any]:
        """The first line with these values, once it is there."""

        def found() -> dict[str, Any] | None:
            return next((one for one in self.lines() if expected.items() <= one.items()), None)

        line = await eventually(found)
        assert line is not None
        return line


async def send(where: tuple[str, int], request: bytes) -> bytes:
    """The whole answer to a request as it stands; nothing if there is none."""
    reader, writer = await asyncio.open_connection(*where)
    try:
        writer.write(request)
        async with asyncio.timeout(60.0):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


class AccessLogBehaviour:
    """Unchanged for every driver; with the fixtures of :class:`tests.devices.enhanced_behaviour`."""

    @pytest.fixture
    def clients(self, site: EnhancedSite) -> EnhancedClients:
        return EnhancedClients(site)

    @pytest.fixture
    async def logs(self) -> AsyncIterator[LogServer]:
        server = LogServer()
        await server.start()
        yield server
        await server.stop()

    @pytest.fixture
    async def server(self) -> AsyncIterator[Server]:
        made = Server("member-1-1")
        await made.start()
        yield made
        await made.stop()

    @pytest.mark.parametrize("protocol", ["udp", "tcp"])
    async def test_each_request_is_one_line_of_json(
        self, clients: EnhancedClients, server: Server, logs: LogServer, protocol: str
    ) -> None:
        target = {"target": f"127.0.0.1:{logs.port}", "protocol": protocol}
        await clients.offer(logged={"access_log": target}, whole={"access_log": {**target, "query": True}})
        await clients.serve((server,), "logged")
        where = clients.site.place(VIP, 80)
        head = b"Host: shop.example\r\nUser-Agent: test, 1\r\nReferer: http://a/\r\nConnection: close\r\n\r\n"
        assert (await send(where, b"GET /one?secret=1 HTTP/1.1\r\n" + head)).startswith(b"HTTP/1.1 200")
        line = await logs.line(path="/one")
        assert set(SHARED_FIELDS) <= line.keys()
        shown = {name: line[name] for name in ("listener", "client_address", "protocol", "method", "host", "status")}
        assert shown == {
            "listener": "listener-1", "client_address": "127.0.0.1", "protocol": "http", "method": "GET",
            "host": "shop.example", "status": 200,
        }  # fmt: skip
        assert (line["user_agent"], line["referer"]) == ("test, 1", "http://a/")
        assert line["member"] == f"127.0.0.1:{server.port}"
        await clients.serve((server,), "whole")
        await send(where, b"GET /two?a=1 HTTP/1.1\r\n" + head)
        assert (await logs.line(path="/two?a=1"))["status"] == 200

    async def test_each_connection_of_a_tcp_listener_is_one_line_when_it_ends(
        self, clients: EnhancedClients, server: Server, logs: LogServer
    ) -> None:
        await clients.offer(logged={"access_log": {"target": f"127.0.0.1:{logs.port}", "protocol": "tcp"}})
        await clients.serve((server,), "logged", protocol="TCP")
        request = b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        response = await send(clients.site.place(VIP, 80), request)
        line = await logs.line(listener="listener-1")
        assert line.keys() == {*SHARED_FIELDS, *BYTES} - {*OF_REQUESTS} | ({"termination"} & line.keys())
        shown = {name: line[name] for name in ("client_address", "protocol", "tls_version", "member", *BYTES)}
        assert shown == {
            "client_address": "127.0.0.1", "protocol": "tcp", "tls_version": "-", "member": f"127.0.0.1:{server.port}",
            "request_bytes": len(request), "response_bytes": len(response),
        }  # fmt: skip
        assert 0 <= line["duration_ms"] < 60_000

    async def test_hostile_values_stay_inside_their_line_and_value(
        self, clients: EnhancedClients, server: Server, logs: LogServer
    ) -> None:
        await clients.offer(logged={"access_log": {"target": f"127.0.0.1:{logs.port}", "query": True}})
        await clients.serve((server,), "logged")
        where = clients.site.place(VIP, 80)
        answered = 0
        for number, value in enumerate(LOGGED_BYTES):
            path = b"/%d/%s" % (number, value.replace(b" ", b"").replace(b"\t", b""))
            for request in (
                b"GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % path,
                b"GET /%d HTTP/1.1\r\nHost: h\r\nUser-Agent: %s\r\nConnection: close\r\n\r\n" % (number, value),
                b"GET /%d HTTP/1.1\r\nHost: h\r\nReferer: x%s\r\nConnection: close\r\n\r\n" % (number, value),
                b"GET /%d HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (number, value),
            ):
                answered += (await send(where, request)).startswith(b"HTTP/1.1 200")
        assert answered >= 2 * len(LOGGED_BYTES)

        def lines_of_answered() -> list[dict[str, Any]]:
            found = [line for line in logs.lines() if line["status"] == 200]
            return found if len(found) == answered else []

        lines = await eventually(lines_of_answered)
        assert {line["listener"] for line in lines} == {"listener-1"}
        assert {line["member"] for line in lines} == {f"127.0.0.1:{server.port}"}

    async def test_lines_of_a_second_are_limited_and_bad_requests_are_none(
        self, clients: EnhancedClients, server: Server, logs: LogServer
    ) -> None:
        target = f"127.0.0.1:{logs.port}"
        await clients.offer(few={"access_log": {"target": target, "lines_per_second": 1}})
        await clients.serve((server,), "few")
        where = clients.site.place(VIP, 80)
        start = asyncio.get_running_loop().time()
        for _ in range(60):
            await send(where, b"no HTTP at all\r\n\r\n")
            await clients.ask()
        seconds = asyncio.get_running_loop().time() - start
        await clients.offer(few={"access_log": {"target": target}})
        await clients.serve((server,), "few")
        await send(where, b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await logs.line(path="/last")
        # twice as many may pass around the end of a window
        assert 1 <= len(logs.lines()) - 1 <= 2 * (seconds + 2)

    async def test_a_listeners_lines_go_to_its_own_target(
        self, clients: EnhancedClients, server: Server, logs: LogServer
    ) -> None:
        other = LogServer()
        await other.start()
        try:
            await clients.offer(
                one={"access_log": {"target": f"127.0.0.1:{logs.port}"}},
                two={"access_log": {"target": f"127.0.0.1:{other.port}"}},
            )
            listeners = (
                listener(1, enhanced_services=("one",)),
                listener(2, enhanced_services=("two",), protocol_port=81, default_pool_id="pool-1"),
                listener(3, protocol_port=82, default_pool_id="pool-1"),
            )
            await clients.apply(service(listeners=listeners, pools=(pool(members=members((server,)), monitor=None),)))
            for port in (80, 81, 82):
                await clients.ask(port=port)
            await logs.line()
            await other.line()
            assert [one["listener"] for one in logs.lines()] == ["listener-1"]
            assert [one["listener"] for one in other.lines()] == ["listener-2"]
        finally:
            await other.stop()

    async def test_target_outside_the_allowed_networks_is_refused_when_it_is_loaded(self, site: EnhancedSite) -> None:
        content = {
            "bad": {"access_log": {"target": "192.0.2.1:514"}},
            "good": {"access_log": {"target": "127.1.1.1:1"}},
        }
        (site.esd_dir / "test.json").write_text(json.dumps(content))
        problems = await site.refresh()
        assert problems["good"] == ""
        assert (
            "access_log: target '192.0.2.1:514': it is in no network of the agent's access_log_networks; allowed: "
            in (problems["bad"])
        )
