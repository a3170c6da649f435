"""Requests of clients to one site's load balancers, and what both sides saw of each."""

import asyncio
import re
import ssl
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from tests.certificates import put_files
from tests.devices.l7_behaviour import OTHERS, PATHS
from tests.devices.tls_behaviour import CLIENT, REVOKED, UNKNOWN, common_name
from tests.equivalence.http2 import exchange
from tests.equivalence.site import Site
from tests.equivalence.websites import NUMBER, Heard

LIMIT_SECONDS = 8.0
CONCURRENT = 8
SOURCES = tuple(f"127.0.0.{last}" for last in range(2, 10))
NAME = "www.example.org"
_SHOWS = {"client": CLIENT, "revoked": REVOKED, "unknown": UNKNOWN}
ADDRESSES_V4_DIGITS = 24
"""Hexadecimal digits of two IPv4 addresses and two ports."""
OVER_TLS = ("HTTPS", "TERMINATED_HTTPS")
METRICS = "/metrics"
"""What a listener for Prometheus serves."""
_DATED = re.compile(r"^(date|x-ssl-client-not-\w+):.*$", re.IGNORECASE | re.MULTILINE)


class Request(NamedTuple):
    """One request on a connection of its own. ``shows``: the client's certificate; ``name``: asked for by SNI."""

    listener: str
    address: str
    port: int
    over_tls: bool
    target: str = "/"
    headers: tuple[str, ...] = ()
    source: str = SOURCES[0]
    name: str | None = NAME
    shows: str = ""
    newest: str = "TLSv1.3"
    alpn: tuple[str, ...] = ()

    def __str__(self) -> str:
        plain = Request(self.listener, self.address, self.port, self.over_tls)
        told = [f"{field} {value!r}" for field, value in self._asdict().items() if value != getattr(plain, field)]
        return f"{self.listener}: {', '.join(told) or 'a plain request'}"


class Answer(NamedTuple):
    """What the client got, and what a member heard of it."""

    outcome: Any
    """Status and headers, or how it ended without an answer."""
    by: str
    """Who answered; empty if it was no member."""
    tls: tuple[str, str, str, str]
    """Certificate shown, version, cipher and protocol."""
    heard: tuple[Any, ...]


class Clients:
    """Clients of one site. ``folder``: for their certificates."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site = site
        self._folder = folder
        self._number = 0
        self._contexts: dict[tuple[str, str, tuple[str, ...]], ssl.SSLContext] = {}

    async def ask_all(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers, in order; some requests at a time."""
        turns = asyncio.Semaphore(CONCURRENT)

        async def ask(one: Request) -> Answer:
            async with turns:
                return await self.ask(one)

        return await asyncio.gather(*map(ask, requests))

    async def ask(self, request: Request) -> Answer:
        """One answer."""
        self._number += 1
        number = f"n{self._number}"
        outcome, by, tls = await self._exchange(request, number)
        return Answer(outcome, by, tls, tuple(self._heard(number)))

    async def _exchange(self, request: Request, number: str) -> tuple[Any, str, tuple[str, str, str, str]]:
        nothing = ("", "", "", "")
        address, port = self._site.real(request.address, request.port)
        over: dict[str, Any] = {}
        if request.over_tls:
            name = request.name or ""
            over = {"ssl": self._context(request), "server_hostname": name, "ssl_handshake_timeout": LIMIT_SECONDS}
        writer = None
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                reader, writer = await asyncio.open_connection(address, port, local_addr=(request.source, 0), **over)
                session = writer.get_extra_info("ssl_object")
                tls = nothing
                if session:
                    shown = common_name(session.getpeercert(True))
                    tls = (shown, session.version(), session.cipher()[0], session.selected_alpn_protocol() or "")
                head, body = await _asked(reader, writer, request, number)
                if request.target == METRICS:  # as long as its counters have digits
                    head, body = re.sub(r"(?i)^(content-length: )\d+", r"\1", head, flags=re.M), body and "counters"
                return (*self._seen(head, body), tls)
        except TimeoutError:
            return "no answer", "", nothing
        except ssl.SSLError as error:
            return f"no TLS: {error.reason}", "", nothing
        except ConnectionRefusedError:
            return "refused", "", nothing
        except OSError:
            return "closed", "", nothing
        finally:
            if writer is not None:
                writer.transport.abort()

    def _seen(self, head: str, body: str) -> tuple[Any, str]:
        if not head:
            return "closed", ""
        first, *lines = head.split("\r\n")
        by = body if re.fullmatch(r"w\d", body) else ""
        texts = (_DATED.sub(r"\1", self._site.named(line)) for line in lines)
        if not by:
            return (first, *sorted(texts), len(body)), ""
        # cookies name the member, and the length is that of its name
        return (first, *sorted(re.sub(r"^(set-cookie: [^=]*=)[^;]*", r"\1", text, flags=re.I) for text in texts)), by

    def _heard(self, number: str) -> Iterator[Any]:
        for website in self._site.websites.values():
            for one in website.heard:
                if f"{NUMBER.lower()}: {number}\r\n" in one.head.lower():
                    yield heard_as(self._site, one, number)

    def _context(self, request: Request) -> ssl.SSLContext:
        key = (request.shows, request.newest, request.alpn)
        if key not in self._contexts:
            self._contexts[key] = self._new_context(*key)
        return self._contexts[key]

    def _new_context(self, shows: str, newest: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        made.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of old versions
            made.minimum_version = ssl.TLSVersion.TLSv1
            made.maximum_version = getattr(ssl.TLSVersion, newest.replace(".", "_"))
        if alpn:
            made.set_alpn_protocols(alpn)
        if shows:
            issued = _SHOWS[shows]
            made.load_cert_chain(*put_files(self._folder, f"client-{issued.certificate.serial_number}", issued))
        return made


async def _asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request, number: str
) -> tuple[str, str]:
    """Head and body of the answer, over the protocol that was negotiated."""
    headers = [f"{NUMBER}: {number}", *request.headers]
    headers += [] if any(one.startswith("Host:") for one in headers) else [f"Host: {NAME}"]
    session = writer.get_extra_info("ssl_object")
    if session and session.selected_alpn_protocol() == "h2":
        pairs = [(name, value) for name, _, value in (one.partition(": ") for one in headers)]
        return await exchange(reader, writer, request.target, pairs)
    lines = (f"GET {request.target} HTTP/1.1", "Connection: close", *headers, "", "")
    writer.write("\r\n".join(lines).encode())
    head, _, body = (await reader.read()).decode("latin-1").partition("\r\n\r\n")
    return head, body


def heard_as(site: Site, one: Heard, number: str = "") -> Any:
    """What a member heard, without what differs between connections and sites."""
    head = site.named(one.head.replace(f": {number}\r\n", ": \r\n") if number else one.head)
    lines = head.strip().split("\r\n")
    return (_proxy(site, one.proxy), one.tls, lines[0], *sorted(_DATED.sub(r"\1", line) for line in lines[1:]))


def _proxy(site: Site, header: str) -> Any:
    if header.startswith("PROXY "):
        words = site.named(header).split(" ")
        return tuple(words[:4] + words[5:])  # not the client's port
    if not header:
        return ""
    signature, rest = header[:32], header[32:]
    if len(rest) < ADDRESSES_V4_DIGITS:
        return (signature, rest)
    target = site.named(".".join(str(int(rest[place : place + 2], 16)) for place in range(8, 16, 2)))
    return (signature, rest[:8], target, rest[20:])


# -- which requests


def requests_to(tree: ServiceDefinition, listener: ServiceListener, spread: int) -> list[Request]:
    """Everything that some setting of the listener may treat in another way than the rest, and as many plain requests
    as ``spread`` says."""
    over_tls = listener.protocol in OVER_TLS
    plain = Request(listener.id, tree.vip.address, listener.protocol_port, over_tls)
    found = [plain._replace(source=SOURCES[place % len(SOURCES)]) for place in range(spread)]
    found += [plain._replace(address=vip.address) for vip in tree.additional_vips]
    if listener.protocol == "PROMETHEUS":
        return [plain, plain._replace(target=METRICS)]
    if listener.protocol == "TERMINATED_HTTPS":
        found += _handshakes(plain)
    if listener.protocol in ("HTTP", "TERMINATED_HTTPS"):
        found += _for_rules(plain, listener)
        found += [plain._replace(headers=(f"Cookie: SESSION=w{place}",)) for place in (1, 2, 5)]
        forged = ("X-Forwarded-For: 192.0.2.9", "X-Forwarded-Proto: forged", "X-SSL-Client-CN: forged")
        found.append(plain._replace(headers=forged))
    return found


def _handshakes(plain: Request) -> Iterator[Request]:
    yield from (plain._replace(name=name) for name in (None, "shop.example.org", "x.any.example.org", "else.test"))
    yield from (plain._replace(shows=shows) for shows in _SHOWS)
    yield from (plain._replace(newest=newest) for newest in ("TLSv1", "TLSv1.1", "TLSv1.2"))
    yield from (plain._replace(alpn=alpn) for alpn in (("h2", "http/1.1"), ("http/1.1",)))


def _for_rules(plain: Request, listener: ServiceListener) -> Iterator[Request]:
    """The requests of the cases whose rule one of the listener's policies has."""
    rules = [rule for policy in listener.l7policies for rule in policy.rules]
    texts = {(rule.type, rule.compare_type, rule.value) for rule in rules}
    for rule, target, headers, _ in (*PATHS, *OTHERS):
        if (rule.type, rule.compare_type, rule.value) in texts:
            yield plain._replace(target=target, headers=headers)
    if any(rule.type.startswith("SSL_") for rule in rules) and plain.over_tls:
        yield plain._replace(target="/ssl", shows="client")
