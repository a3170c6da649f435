"""The demo's authority with the controllers' own client and resolver: what it issues, and whom it refuses."""

import asyncio
import hashlib
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509

from evenkeel.acme_client.authority import AcmeAuthority
from evenkeel.acme_client.resolver import DnsResolver
from evenkeel.acme_client.rfc2136 import Rfc2136Zone, TsigKey
from evenkeel.core.kit.errors import AcmeOrderUnknown, AcmeRequestRefused
from evenkeel.core.tls.acme.values import AuthorityOrder, OrderStatus
from evenkeel.core.tls.acme.zones import challenge_record
from evenkeel.core.tls.certificates import Secret
from evenkeel.demo.acme.name_server import NameServer
from evenkeel.demo.acme.server import AcmeServer, dns_challenge_method, http_challenge_method
from evenkeel.demo.acme.zone_server import ZoneServer
from evenkeel.demo.authority import CertificateAuthority
from tests.acme_client.test_key_pairs import private
from tests.key_managers.authority import ec_key
from tests.listening import StreamServer

NAME = "www.example.org"
ADDRESS = "127.0.0.1"


@asynccontextmanager
async def website(answers: dict[str, str]) -> AsyncIterator[int]:
    """A web server with an answer for each path, on the port that it yields."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        body = answers.get(path, "")
        status = "200 OK" if body else "404 Not Found"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        writer.close()

    async with await StreamServer.start(answer, ADDRESS) as server:
        yield server.port


def client_of(server: AcmeServer, authority: CertificateAuthority, directory: Path) -> AcmeAuthority:
    file = directory / "root.pem"
    file.write_text(authority.root)
    return AcmeAuthority(server.directory_url, contact="a@example.org", ca_file=str(file), timeout_seconds=20.0)


class Place:
    """An authority that looks at ``answers``, with a client of it."""

    def __init__(self, directory: Path, http_port: int, answers: dict[str, str]) -> None:
        self.authority = CertificateAuthority()
        self.answers = answers
        self.server = AcmeServer(self.authority, http_challenge_method({NAME: ADDRESS}, port=http_port))
        self.server.start()
        self.client = client_of(self.server, self.authority, directory)
        self.account = private(ec_key())

    async def ordered(self, *, answer: str | None = None) -> AuthorityOrder:
        """An order whose challenge was answered, by ``answer`` if one is given, and validated."""
        made = await self.client.order(self.account, [NAME])
        (one,) = (await self.client.read(self.account, made.url)).authorizations
        self.answers[f"/.well-known/acme-challenge/{one.token}"] = one.key_authorization if answer is None else answer
        await self.client.answer(self.account, one)
        return await self.client.read(self.account, made.url)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    answers: dict[str, str] = {}
    async with website(answers) as port:
        made = Place(tmp_path, port, answers)
        yield made
        made.client.close()
        await asyncio.to_thread(made.server.close)


async def test_a_proven_name_gets_a_certificate_that_the_root_verifies(place: Place) -> None:
    order = await place.ordered()
    assert order.status is OrderStatus.READY
    key = private(ec_key())
    await place.client.finalize(place.account, order, key, [NAME])
    valid = await place.client.read(place.account, order.url)
    issued = await place.client.download(place.account, valid, key, [NAME])
    (leaf,) = x509.load_pem_x509_certificates(issued.chain)
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(place.authority.root.encode()))
    shown = hashlib.sha256(ssl.PEM_cert_to_DER_cert(issued.chain.decode())).hexdigest()
    assert place.authority.issued == [shown]
    await place.client.revoke(place.account, issued.chain.decode(), 4)


@pytest.mark.parametrize(("answer", "problem"), [("wrong", "answers 'wrong'"), ("", "HTTP status 404")])
async def test_a_name_that_answers_otherwise_gets_none(place: Place, answer: str, problem: str) -> None:
    order = await place.ordered(answer=answer)
    assert order.status is OrderStatus.INVALID
    assert problem in order.problem
    with pytest.raises(AcmeRequestRefused, match="the order is invalid"):
        await place.client.finalize(place.account, order, private(ec_key()), [NAME])
    assert place.authority.issued == []


async def test_a_certificate_request_for_other_names_is_refused(place: Place) -> None:
    order = await place.ordered()
    with pytest.raises(AcmeRequestRefused, match="other names"):
        await place.client.finalize(place.account, order, private(ec_key()), [NAME, "other.example.org"])
    assert place.authority.issued == []


async def test_an_order_is_shown_to_its_own_account_only(place: Place) -> None:
    order = await place.client.order(place.account, [NAME])
    with pytest.raises(AcmeOrderUnknown):
        await place.client.read(private(ec_key()), order.url)


def _posted(url: str, body: bytes, context: ssl.SSLContext) -> dict[str, object]:
    request = urllib.request.Request(url, body, {"Content-Type": "application/jose+json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)).open(
            request, timeout=60
        )
    with refused.value as answer:
        document: dict[str, object] = json.load(answer)
    return document


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b"[]", b'{"payload": "", "protected": "e30", "signature": ""}'])
async def test_a_request_without_a_signature_is_refused(place: Place, body: bytes) -> None:
    url = place.server.directory_url.replace("directory", "order")
    document = await asyncio.to_thread(_posted, url, body, place.authority.client_context())
    assert str(document["type"]).rpartition(":")[2] in ("malformed", "accountDoesNotExist")


async def test_a_name_is_proven_by_the_record_in_its_zone_that_the_controllers_set(tmp_path: Path) -> None:
    zone, authority = ZoneServer("example.org", {NAME: (ADDRESS,)}), CertificateAuthority()
    place = await zone.start()
    server = AcmeServer(authority, dns_challenge_method(place))
    server.start()
    client, account = client_of(server, authority, tmp_path), private(ec_key())
    key = TsigKey("evenkeel", "hmac-sha256", Secret(zone.secret.encode()))
    resolver = DnsResolver([place], timeout_seconds=20.0)
    updates = Rfc2136Zone("example.org", place, key, resolver, name_servers=[place], timeout_seconds=20.0)
    assert f'secret "{zone.secret}"' in zone.write_key(tmp_path / "key").read_text()
    try:
        for is_set in (False, True):
            url = (await client.order(account, [NAME])).url
            (one,) = (await client.read(account, url, dns_names={NAME})).authorizations
            if is_set:
                await updates.add([challenge_record(one, "example.org")])
            await client.answer(account, one)
            proven = await client.read(account, url, dns_names={NAME})
            assert proven.status is (OrderStatus.READY if is_set else OrderStatus.INVALID)
            assert is_set or f"{NAME} answers nothing" in proven.problem
    finally:
        client.close()
        await asyncio.to_thread(server.close)
        zone.close()


async def test_the_name_server_knows_its_names_alone() -> None:
    server = NameServer({NAME: ("127.0.3.10",)})
    resolver = DnsResolver([await server.start()], timeout_seconds=20.0)
    try:
        assert await resolver.addresses(NAME) == ("127.0.3.10",)
        assert await resolver.addresses("other.example.org") == ()
    finally:
        server.close()
