"""What clients and members get to see of TLS, whatever the device: each driver's tests run this unchanged.

A driver's tests subclass :class:`TlsBehaviour` and give a fixture ``site``: a device with a data plane.
"""

import asyncio
import contextlib
import socket
import ssl
import warnings
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from evenkeel.core.devices.device import Observation, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.tls.certificates import CertificateContent
from tests.canary import planted_key
from tests.certificates import authority, by_sha256, certificate, put_files, referring, revocations
from tests.devices.services import listener, member, monitor, policy, pool, rule, service
from tests.key_managers.authority import INTERMEDIATE, ROOT, STRANGER, Issued, ec_key, rsa_key
from tests.listening import StreamServer
from tests.waiting import eventually

LIMIT_SECONDS = 60.0
PORT, CLEAR_PORT = 443, 80
SUITES = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
OLDER = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
HANDSHAKE_BYTE = b"\x16"
"""What TLS begins with, and HTTP never does."""

WWW = Issued("www", INTERMEDIATE, planted_key(), names=("www.example.org",))
WWW_RSA = Issued("www-rsa", ROOT, rsa_key(), names=("www.example.org",))
ANY = Issued("any", ROOT, ec_key(), names=("*.any.example.org",))
SHOP = Issued("shop", ROOT, ec_key(), names=("shop.example.org", "store.example.org"))
RENEWED = Issued("renewed", ROOT, ec_key(), names=("www.example.org",))
CLIENT = Issued("client", ROOT, ec_key())
REVOKED = Issued("revoked", ROOT, ec_key())
UNKNOWN = Issued("unknown", STRANGER, ec_key())
MEMBER = Issued("member", ROOT, ec_key(), names=("www.example.org",))
REVOKED_MEMBER = Issued("revoked-member", ROOT, ec_key(), names=("www.example.org",))
UNKNOWN_MEMBER = Issued("unknown-member", STRANGER, ec_key(), names=("www.example.org",))
BALANCER = Issued("balancer", ROOT, planted_key())

NAMED: dict[str, CertificateContent] = {
    "www": certificate(WWW, INTERMEDIATE),
    "www-rsa": certificate(WWW_RSA),
    "any": certificate(ANY),
    "shop": certificate(SHOP),
    "balancer": certificate(BALANCER),
    "root": authority(ROOT),
    "revoked": revocations(ROOT, REVOKED, REVOKED_MEMBER),
}
"""What references name."""


class Site(Protocol):
    """A device under test, with a data plane."""

    async def apply(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> PartitionOutcome:
        """Make the load balancer so. ``contents``: what the batch brings, by identity."""
        ...

    async def observe(self) -> Observation:
        """Statuses, as the device tells them."""
        ...

    def place(self, port: int) -> tuple[str, int]:
        """Where clients find a port of the first load balancer's VIP."""
        ...


# -- who answers, and who asks


class Answer:
    """What a client got. ``status`` 0: it was not served, for the reason ``error`` if its connection failed."""

    def __init__(self, head: str = "", body: str = "", session: Any = None, error: OSError | None = None) -> None:
        self.head, self.body, self.error = head, body, error
        self.status = int(head.split()[1]) if head else 0
        self.version = session.version() if session else ""
        self.cipher = session.cipher()[0] if session else ""
        self.protocol = session.selected_alpn_protocol() if session else ""
        self.shown = common_name(session.getpeercert(True)) if session else ""
        """Of the certificate that the device showed."""

    def __repr__(self) -> str:
        return f"Answer({self.head.partition(chr(13))[0]!r}, {self.version!r}, {self.error!r})"

    def header(self, name: str) -> list[str]:
        """All values of a header."""
        return values(self.head, name)


def values(head: str, name: str) -> list[str]:
    """All values of a header, without the double quotes that a device may put around texts."""
    lines = (line.partition(":") for line in head.split("\r\n")[1:])
    return [value.strip().strip('"') for found, _, value in lines if found.lower() == name.lower()]


def common_name(der: bytes | None) -> str:
    """Whose certificate it is; nothing if there is none."""
    if not der:
        return ""
    (name,) = x509.load_der_x509_certificate(der).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


class Member:
    """Answers every request with its name, in the clear or over TLS, and remembers what it heard."""

    def __init__(self, name: str, tls: ssl.SSLContext | None = None) -> None:
        self.name = name
        self.port = 0
        self.heard: list[str] = []
        self.asked_for: list[str] = []
        """Names (SNI); empty for none."""
        self.shown: list[str] = []
        """Whose certificates it was shown."""
        self._tls = tls
        if tls is not None:
            tls.sni_callback = lambda _socket, name, _context: self.asked_for.append(name or "")

    async def start(self) -> None:
        self._server = await StreamServer.start(self._serve, ssl=self._tls)
        self.port = self._server.port

    async def stop(self) -> None:
        self._server.close()  # with connections whose peer does not answer the end of TLS

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a request; one that wants TLS of a member in the clear is refused at once, as by a real server."""
        begun = await reader.readexactly(1)
        if begun == HANDSHAKE_BYTE:
            return
        head = (begun + await reader.readuntil(b"\r\n\r\n")).decode()
        if session := writer.get_extra_info("ssl_object"):
            self.shown.append(common_name(session.getpeercert(True)))
        self.heard.append(head)
        answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.name)}\r\nConnection: close\r\n\r\n{self.name}"
        writer.write(answer.encode())
        await writer.drain()

    @property
    def last(self) -> str:
        """The request that clients sent last; those of health checks go to another path."""
        return [head for head in self.heard if " /check" not in head][-1]


class Clients:
    """Makes clients and members, whose certificates lie in ``folder``."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site = site
        self._folder = folder

    def context(self, shows: Issued | None = None, **settings: Any) -> ssl.SSLContext:
        """A client's, that takes any certificate. ``settings``: attributes of the context, ``ciphers``, ``alpn``."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        made.set_ciphers(settings.pop("ciphers", "ALL:@SECLEVEL=0"))
        if alpn := settings.pop("alpn", None):
            made.set_alpn_protocols(alpn)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of old versions, which tests try
            for name, value in settings.items():
                setattr(made, name, value)
        if shows is not None:
            made.load_cert_chain(*put_files(self._folder, f"client-{shows.certificate.serial_number}", shows))
        return made

    def member(self, name: str, shows: Issued | None = None, *, asks: Issued | None = None) -> Member:
        """A server that speaks TLS if it has a certificate to show. ``asks``: for a certificate of that authority."""
        if shows is None:
            return Member(name)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*put_files(self._folder, f"member-{shows.certificate.serial_number}", shows))
        if asks is not None:
            tls.verify_mode = ssl.CERT_OPTIONAL
            tls.load_verify_locations(cadata=asks.pem.decode())
        return Member(name, tls)

    async def ask(
        self,
        *headers: str,
        name: str | None = "www.example.org",
        path: str = "/",
        port: int = PORT,
        tls: ssl.SSLContext | None = None,
    ) -> Answer:
        """One request on a connection of its own. ``name``: what the client asks for; None: for no name."""
        host, real_port = self._site.place(port)
        over_tls: dict[str, Any] = {}
        if port != CLEAR_PORT:
            over_tls = {"ssl": tls or self.context(), "server_hostname": host if name is None else name}
        writer = None
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                reader, writer = await asyncio.open_connection(host, real_port, **over_tls)
                start = (f"GET {path} HTTP/1.1", f"Host: {name or 'test'}", "Connection: close")
                writer.write("\r\n".join((*start, *headers, "", "")).encode())
                session = writer.get_extra_info("ssl_object")
                head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
                return Answer(head, body, session if head else None)
        except TimeoutError:  # an OSError, too
            raise
        except OSError as error:
            return Answer(error=error)
        finally:
            if writer is not None:
                writer.transport.abort()

    async def command(self, *words: str) -> str:
        """What a program says on both outputs."""
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        return output.decode(errors="replace")


# -- definitions


def tls_listener(**changes: Any) -> ServiceListener:
    settings = {
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": PORT,
        "default_tls_container_ref": "www",
        "tls_versions": ("TLSv1.2", "TLSv1.3"),
        "tls_ciphers": f"{SUITES}:{OLDER}",
        "alpn_protocols": ("h2", "http/1.1"),
    }
    return listener(**{**settings, **changes})


def pool_of(*members: Member, **changes: Any) -> ServicePool:
    each = tuple(
        member(place=place, address="127.0.0.1", protocol_port=one.port) for place, one in enumerate(members, 1)
    )
    return pool(**{"members": each, "monitor": None, **changes})


def tls_pool_of(*members: Member, **changes: Any) -> ServicePool:
    settings = {
        "tls_enabled": True,
        "tls_versions": ("TLSv1.2", "TLSv1.3"),
        "tls_ciphers": f"{SUITES}:{OLDER}",
        "alpn_protocols": ("http/1.1",),
    }
    return pool_of(*members, **{**settings, **changes})


def verified(**changes: Any) -> dict[str, Any]:
    """Of a listener: clients show certificates."""
    return {
        "client_authentication": "MANDATORY",
        "client_ca_tls_container_ref": "root",
        "client_crl_container_ref": "revoked",
        **changes,
    }


def resumed(
    place: tuple[str, int], tls: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[int, ssl.SSLSession | None]:
    """Status of a request in a session, 0 if it was not served, and the session to go on with. Blocks."""
    try:
        with (
            socket.create_connection(place, LIMIT_SECONDS) as plain,
            tls.wrap_socket(plain, server_hostname="www.example.org", session=session) as over_tls,
        ):
            over_tls.sendall(b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            head = b""
            while part := over_tls.recv(4096):
                head += part
            return int(head.split(b" ")[1]) if head else 0, over_tls.session
    except OSError:
        return 0, None


def problems(outcome: PartitionOutcome) -> list[str]:
    return [one.error for one in outcome.outcomes if one.error]


class TlsBehaviour:
    """The promises of Octavia's API about TLS."""

    @pytest.fixture
    def clients(self, site: Site, tmp_path: Path) -> Clients:
        return Clients(site, tmp_path)

    @pytest.fixture
    async def plain(self, clients: Clients) -> AsyncIterator[Member]:
        """A member that is spoken to in the clear."""
        async with running(clients.member("plain")) as made:
            yield made

    async def serve(self, site: Site, *listeners: ServiceListener, pools: tuple[ServicePool, ...]) -> None:
        outcome = await site.apply(referring(service(listeners=listeners, pools=pools), NAMED), by_sha256(NAMED))
        assert problems(outcome) == [] and outcome.lacking == ()

    # -- certificates

    async def test_clients_are_shown_the_certificate_with_the_name_they_request(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        wanted = tls_listener(default_tls_container_ref="www", sni_container_refs=("any", "shop"))
        await self.serve(site, wanted, pools=(pool_of(plain),))
        expected = {
            "www.example.org": "www",
            "WWW.example.org": "www",
            "one.any.example.org": "any",
            "two.any.example.org": "any",
            "shop.example.org": "shop",
            "store.example.org": "shop",
            # the default one, for names that no certificate has, and for none
            "deep.er.any.example.org": "www",
            "any.example.org": "www",
            "elsewhere.org": "www",
            None: "www",
        }
        assert {name: (await clients.ask(name=name)).shown for name in expected} == expected
        assert (await clients.ask()).body == "plain"

    async def test_without_a_default_certificate_the_first_one_is_it(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        wanted = tls_listener(default_tls_container_ref=None, sni_container_refs=("shop", "www"))
        await self.serve(site, wanted, pools=(pool_of(plain),))
        names = (None, "elsewhere.org", "www.example.org")
        assert [(await clients.ask(name=name)).shown for name in names] == ["shop", "shop", "www"]

    @pytest.mark.parametrize("order", [("www", "www-rsa"), ("www-rsa", "www")])
    async def test_of_an_rsa_and_an_ecdsa_certificate_clients_get_what_they_can_use(
        self, site: Site, clients: Clients, plain: Member, order: tuple[str, str]
    ) -> None:
        wanted = tls_listener(default_tls_container_ref=order[0], sni_container_refs=order[1:])
        await self.serve(site, wanted, pools=(pool_of(plain),))
        older = {"maximum_version": ssl.TLSVersion.TLSv1_2}
        rsa = await clients.ask(tls=clients.context(ciphers="ECDHE-RSA-AES128-GCM-SHA256", **older))
        ecdsa = await clients.ask(tls=clients.context(ciphers="ECDHE-ECDSA-AES128-GCM-SHA256", **older))
        assert (rsa.shown, ecdsa.shown) == ("www-rsa", "www")

    async def test_intermediates_are_sent(self, site: Site, clients: Clients, plain: Member, tmp_path: Path) -> None:
        await self.serve(site, tls_listener(), pools=(pool_of(plain),))
        tls = ssl.create_default_context(cadata=ROOT.pem.decode())
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # default since Python 3.13: wants key identifiers
        assert (await clients.ask(tls=tls)).status == 200
        host, port = site.place(PORT)
        root = tmp_path / "root.pem"
        root.write_bytes(ROOT.pem)
        connect = f"{host}:{port}"
        said = await clients.command(
            "openssl", "s_client", "-connect", connect, "-servername", "www.example.org", "-CAfile", str(root)
        )
        assert "Verify return code: 0 (ok)" in said

    # -- how it is spoken

    @pytest.mark.parametrize(
        ("spoken", "accepted"),
        [(("TLSv1.2",), {"TLSv1.2"}), (("TLSv1.3",), {"TLSv1.3"}), (("TLSv1.3", "TLSv1.2"), {"TLSv1.2", "TLSv1.3"})],
    )
    async def test_versions_are_those_that_are_wanted(
        self, site: Site, clients: Clients, plain: Member, spoken: tuple[str, ...], accepted: set[str]
    ) -> None:
        await self.serve(site, tls_listener(tls_versions=spoken), pools=(pool_of(plain),))
        versions = [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
        contexts = [clients.context(minimum_version=each, maximum_version=each) for each in versions]
        assert {(await clients.ask(tls=tls)).version for tls in contexts} - {""} == accepted

    async def test_ciphers_are_those_that_are_wanted(self, site: Site, clients: Clients, plain: Member) -> None:
        wanted = tls_listener(tls_ciphers="TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES256-GCM-SHA384")
        await self.serve(site, wanted, pools=(pool_of(plain),))
        older = {"maximum_version": ssl.TLSVersion.TLSv1_2}

        async def chosen(**settings: Any) -> str:
            return (await clients.ask(tls=clients.context(**settings))).cipher

        assert await chosen() == "TLS_AES_256_GCM_SHA384"
        assert await chosen(**older) == "ECDHE-ECDSA-AES256-GCM-SHA384"
        assert await chosen(ciphers="ECDHE-ECDSA-AES128-GCM-SHA256", **older) == ""

    async def test_http_2_is_spoken_with_clients_that_can(self, site: Site, clients: Clients, plain: Member) -> None:
        await self.serve(site, tls_listener(), pools=(pool_of(plain),))
        host, port = site.place(PORT)
        curl = ("curl", "--silent", "--insecure", "--write-out", " %{http_version}", f"https://{host}:{port}/")
        assert await clients.command(*curl, "--http2") == "plain 2"
        assert await clients.command(*curl, "--http1.1") == "plain 1.1"
        assert plain.last.startswith("GET / HTTP/1.1")

    async def test_http_2_is_not_offered_unless_it_is_wanted(self, site: Site, clients: Clients, plain: Member) -> None:
        await self.serve(site, tls_listener(alpn_protocols=("http/1.1",)), pools=(pool_of(plain),))
        assert (await clients.ask(tls=clients.context(alpn=["h2", "http/1.1"]))).protocol == "http/1.1"

    async def test_browsers_are_ordered_to_come_over_tls(self, site: Site, clients: Clients, plain: Member) -> None:
        wanted = tls_listener(hsts_max_age=31_536_000, hsts_include_subdomains=True, hsts_preload=True)
        await self.serve(site, wanted, pools=(pool_of(plain),))
        told = (await clients.ask()).header("Strict-Transport-Security")
        assert [text.lower().split("; ") for text in told] == [["max-age=31536000", "includesubdomains", "preload"]]
        await self.serve(site, tls_listener(), pools=(pool_of(plain),))
        assert (await clients.ask()).header("Strict-Transport-Security") == []

    # -- clients' certificates

    async def test_clients_that_must_show_a_certificate(self, site: Site, clients: Clients, plain: Member) -> None:
        await self.serve(site, tls_listener(**verified()), pools=(pool_of(plain),))
        shown = {"valid": CLIENT, "absent": None, "revoked": REVOKED, "another authority's": UNKNOWN}
        served = {what: (await clients.ask(tls=clients.context(one))).status for what, one in shown.items()}
        assert served == {"valid": 200, "absent": 0, "revoked": 0, "another authority's": 0}
        older = clients.context(REVOKED, maximum_version=ssl.TLSVersion.TLSv1_2)
        assert (await clients.ask(tls=older)).status == 0

    async def test_without_a_list_of_what_is_revoked_nothing_is(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        await self.serve(site, tls_listener(**verified(client_crl_container_ref=None)), pools=(pool_of(plain),))
        assert (await clients.ask(tls=clients.context(REVOKED))).status == 200
        assert (await clients.ask(tls=clients.context(UNKNOWN))).status == 0

    async def test_clients_that_may_show_a_certificate(self, site: Site, clients: Clients, plain: Member) -> None:
        await self.serve(site, tls_listener(**verified(client_authentication="OPTIONAL")), pools=(pool_of(plain),))
        shown = {"valid": CLIENT, "absent": None, "revoked": REVOKED, "another authority's": UNKNOWN}
        served = {what: (await clients.ask(tls=clients.context(one))).status for what, one in shown.items()}
        assert served == {"valid": 200, "absent": 200, "revoked": 0, "another authority's": 0}

    async def test_clients_are_not_requested_to_send_a_certificate(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        await self.serve(site, tls_listener(**verified(client_authentication="NONE")), pools=(pool_of(plain),))
        assert (await clients.ask(tls=clients.context(UNKNOWN))).status == 200

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    async def test_a_session_opens_no_other_listener_and_ends_with_a_revocation(
        self, site: Site, clients: Clients, plain: Member, version: ssl.TLSVersion
    ) -> None:
        """A resumed session is not verified again: who began it elsewhere, or was revoked since, must begin anew."""
        strict = {"id": "listener-2", "protocol_port": PORT + 1}
        listeners = (tls_listener(), tls_listener(**strict, **verified()))
        await self.serve(site, *listeners, pools=(pool_of(plain),))
        only = {"minimum_version": version, "maximum_version": version}
        nobody, client = clients.context(**only), clients.context(CLIENT, **only)

        _, session = await asyncio.to_thread(resumed, site.place(PORT), nobody)
        assert session is not None
        assert (await asyncio.to_thread(resumed, site.place(PORT + 1), nobody, session))[0] == 0
        status, session = await asyncio.to_thread(resumed, site.place(PORT + 1), client)
        assert status == 200

        named = NAMED | {"revoked": revocations(ROOT, CLIENT)}
        changed = service(listeners=listeners, pools=(pool_of(plain),), revision=2)
        assert problems(await site.apply(referring(changed, named), by_sha256(named))) == []
        assert (await asyncio.to_thread(resumed, site.place(PORT + 1), client, session))[0] == 0

    # -- what members are told

    CLIENT_HEADERS = (
        "X-SSL-Client-Verify",
        "X-SSL-Client-Has-Cert",
        "X-SSL-Client-DN",
        "X-SSL-Client-CN",
        "X-SSL-Issuer",
        "X-SSL-Client-SHA1",
        "X-SSL-Client-Not-Before",
        "X-SSL-Client-Not-After",
    )

    async def test_clients_are_reported_to_members_and_cannot_be_forged(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        forwarded = ("X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto")
        headers = dict.fromkeys((*forwarded, *self.CLIENT_HEADERS), "true")
        wanted = tls_listener(**verified(client_authentication="OPTIONAL"), insert_headers=headers)
        await self.serve(site, wanted, pools=(pool_of(plain),))
        forged = [f"{name}: forged" for name in headers]
        forged += [f"{name.replace('-', '_')}: forged" for name in headers]
        forged += ["X-Forwarded_Proto: forged", "X_Forwarded-For: forged"]

        assert (await clients.ask(*forged, tls=clients.context(CLIENT))).status == 200
        heard = plain.last
        told = {name: values(heard, name) for name in self.CLIENT_HEADERS}
        digest = CLIENT.certificate.fingerprint(hashes.SHA1()).hex()  # noqa: S303
        assert told["X-SSL-Client-Verify"] == ["0"] and told["X-SSL-Client-Has-Cert"] == ["1"]
        assert told["X-SSL-Client-CN"] == ["client"] and told["X-SSL-Client-DN"] in (["/CN=client"], ["CN=client"])
        assert told["X-SSL-Issuer"] in (["/CN=root"], ["CN=root"])
        assert [text.lower() for text in told["X-SSL-Client-SHA1"]] == [digest]
        assert all(len(told[name]) == 1 and told[name][0] for name in self.CLIENT_HEADERS[-2:])
        assert values(heard, "X-Forwarded-Proto") == ["https"]
        assert values(heard, "X-Forwarded-Port") == [str(PORT)]
        assert values(heard, "X-Forwarded-For")[-1].startswith("127.")
        assert heard.count("forged") == 1 and values(heard, "X-Forwarded-For")[0] == "forged"

        assert (await clients.ask(*forged)).status == 200
        told = {name: values(plain.last, name) for name in self.CLIENT_HEADERS}
        assert told["X-SSL-Client-Has-Cert"] == ["0"]
        assert all(told[name] in ([], [""]) for name in self.CLIENT_HEADERS[2:])
        assert plain.last.count("forged") == 1

    async def test_a_listener_in_the_clear_is_no_way_round(self, site: Site, clients: Clients, plain: Member) -> None:
        headers = {"X-SSL-Client-CN": "true", "X-Forwarded-Proto": "true"}
        wanted = tls_listener(**verified(), insert_headers=headers)
        beside = listener(2, default_pool_id="pool-1", protocol_port=CLEAR_PORT)
        await self.serve(site, wanted, beside, pools=(pool_of(plain),))
        forged = ("X-SSL-Client-CN: forged", "X-SSL-Client-Verify: 0", "X-Forwarded-Proto: https", "X-Other: kept")
        assert (await clients.ask(*forged, port=CLEAR_PORT)).status == 200
        kept = [values(plain.last, name.partition(":")[0]) for name in forged]
        assert kept == [[], [], [], ["kept"]]

    # -- rules

    async def test_rules_look_at_clients_certificates(self, site: Site, clients: Clients, plain: Member) -> None:
        async with running(clients.member("special")) as special:
            has_none = rule(1, type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="true", invert=True)
            is_valid = rule(2, type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0")
            is_client = rule(3, type="SSL_DN_FIELD", key="CN", compare_type="STARTS_WITH", value="cli")
            policies = (
                policy(1, has_none, rule(4, value="/private")),
                policy(2, is_valid, is_client, action="REDIRECT_TO_POOL", redirect_pool_id="pool-2"),
            )
            wanted = tls_listener(
                **verified(client_authentication="OPTIONAL", client_crl_container_ref=None), l7policies=policies
            )
            pools = (pool_of(plain), pool_of(special, id="pool-2"))
            await self.serve(site, wanted, pools=pools)
            client, other = clients.context(CLIENT), clients.context(REVOKED)
            answers = [
                await clients.ask(path="/private"),
                await clients.ask(),
                await clients.ask(path="/private", tls=client),
                await clients.ask(path="/private", tls=other),
            ]
        assert [answer.status for answer in answers] == [403, 200, 200, 200]
        assert [answer.body for answer in answers[1:]] == ["plain", "special", "plain"]

    async def test_clients_in_the_clear_are_sent_to_tls(self, site: Site, clients: Clients, plain: Member) -> None:
        there = "https://www.example.org"
        to_tls = policy(1, rule(value="/"), action="REDIRECT_PREFIX", redirect_prefix=there, redirect_http_code=301)
        in_the_clear = listener(2, protocol_port=CLEAR_PORT, default_pool_id="pool-1", l7policies=(to_tls,))
        await self.serve(site, tls_listener(), in_the_clear, pools=(pool_of(plain),))
        answer = await clients.ask(port=CLEAR_PORT, path="/a?b=c")
        assert (answer.status, answer.header("Location")) == (301, ["https://www.example.org/a?b=c"])
        assert (await clients.ask(path="/a?b=c")).body == "plain"

    # -- members

    @pytest.mark.parametrize(
        ("shows", "settings", "served"),
        [
            (MEMBER, {"ca_tls_container_ref": "root", "crl_container_ref": "revoked"}, True),
            (REVOKED_MEMBER, {"ca_tls_container_ref": "root"}, True),
            (REVOKED_MEMBER, {"ca_tls_container_ref": "root", "crl_container_ref": "revoked"}, False),
            (UNKNOWN_MEMBER, {"ca_tls_container_ref": "root"}, False),
            (UNKNOWN_MEMBER, {}, True),
        ],
    )
    async def test_members_are_verified_if_there_is_an_authority(
        self, site: Site, clients: Clients, shows: Issued, settings: dict[str, str], served: bool
    ) -> None:
        async with running(clients.member("secret", shows)) as made:
            await self.serve(site, tls_listener(), pools=(tls_pool_of(made, **settings),))
            answer = await clients.ask()
        assert (answer.body == "secret", answer.status == 200, bool(made.heard)) == (served, served, served)

    async def test_members_get_the_clients_server_name_and_a_certificate(self, site: Site, clients: Clients) -> None:
        async with running(clients.member("secret", MEMBER, asks=ROOT)) as made:
            wanted = tls_pool_of(made, tls_container_ref="balancer", ca_tls_container_ref="root")
            await self.serve(site, tls_listener(), pools=(wanted,))
            assert (await clients.ask()).body == "secret"
        assert made.asked_for[-1] == "www.example.org" and made.shown[-1] == "balancer"

    async def test_tls_that_is_enabled_and_disabled_later_is_used_with_the_members_that_a_pool_has(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        async with running(clients.member("secret", MEMBER)) as over_tls:
            verified_pool = tls_pool_of(plain, over_tls, ca_tls_container_ref="root")
            bodies = []
            for pools in ((pool_of(plain, over_tls),), (verified_pool,), (pool_of(plain, over_tls),)):
                await self.serve(site, tls_listener(), pools=pools)
                bodies.append({(await clients.ask()).body for _ in range(6)} & {"plain", "secret"})
        assert bodies == [{"plain"}, {"secret"}, {"plain"}]

    @pytest.mark.parametrize("type_", ["HTTPS", "TLS-HELLO"])
    async def test_monitors_verify_members_as_clients_requests_do(
        self, site: Site, clients: Clients, type_: Any
    ) -> None:
        asked = {"url_path": "/check", "http_method": "GET"} if type_ == "HTTPS" else {}
        check = monitor(type=type_, delay=1, timeout=10, max_retries=1, max_retries_down=1, **asked)
        good, bad = clients.member("good", MEMBER), clients.member("bad", REVOKED_MEMBER)
        async with running(good), running(bad):
            settings = {"ca_tls_container_ref": "root", "crl_container_ref": "revoked"}
            await self.serve(site, tls_listener(), pools=(tls_pool_of(good, bad, monitor=check, **settings),))

            async def told() -> bool:
                found = {one.id: one.status.value for one in (await site.observe()).statuses}
                return (found.get("member-1-1"), found.get("member-1-2")) == ("ONLINE", "ERROR")

            await eventually(told)
            # settled: traffic follows the status that is shown
            assert {(await clients.ask()).body for _ in range(4)} == {"good"}

    # -- contents on demand

    async def test_contents_are_requested_once(self, site: Site, clients: Clients, plain: Member) -> None:
        wanted = tls_listener(**verified(), sni_container_refs=("shop",))
        first = referring(service(listeners=(wanted,), pools=(pool_of(plain),)), NAMED)
        outcome = await site.apply(first, {})
        lacking = {NAMED[name].sha256 for name in ("www", "shop", "root", "revoked")}
        assert set(outcome.lacking) == lacking and problems(outcome)
        assert (await clients.ask(tls=clients.context(CLIENT))).status == 0

        outcome = await site.apply(first, {one: by_sha256(NAMED)[one] for one in lacking})
        assert problems(outcome) == [] and outcome.lacking == ()
        assert (await clients.ask(tls=clients.context(CLIENT))).shown == "www"

        renamed = tls_listener(**verified(), sni_container_refs=("shop",), timeout_client_data=60_000)
        outcome = await site.apply(
            referring(service(listeners=(renamed,), pools=(pool_of(plain),), revision=2), NAMED), {}
        )
        assert problems(outcome) == [] and outcome.lacking == ()
        assert (await clients.ask(tls=clients.context(CLIENT))).shown == "www"

    async def test_a_renewed_certificate_is_shown_and_connections_stay(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        await self.serve(site, tls_listener(sni_container_refs=("shop",)), pools=(pool_of(plain),))
        named = NAMED | {"www": certificate(RENEWED)}
        renewed = service(listeners=(tls_listener(sni_container_refs=("shop",)),), pools=(pool_of(plain),), revision=2)
        outcome = await site.apply(referring(renewed, named), {})
        assert outcome.lacking == (named["www"].sha256,)
        assert (await clients.ask()).shown == "www"  # meanwhile, the one before
        outcome = await site.apply(referring(renewed, named), {named["www"].sha256: named["www"]})
        assert problems(outcome) == [] and outcome.lacking == ()
        assert (await clients.ask()).shown == "renewed"
        assert (await clients.ask(name="shop.example.org")).shown == "shop"

    async def test_load_balancer_without_its_certificates_holds_up_no_other(
        self, site: Site, clients: Clients, plain: Member
    ) -> None:
        in_the_clear = listener(1, protocol_port=CLEAR_PORT)
        await self.serve(site, in_the_clear, pools=(pool_of(plain),))
        wanted = service(listeners=(in_the_clear, tls_listener(id="listener-2")), pools=(pool_of(plain),), revision=2)
        outcome = await site.apply(referring(wanted, NAMED), {})
        assert outcome.lacking == (NAMED["www"].sha256,) and len(problems(outcome)) == 1
        assert (await clients.ask(port=CLEAR_PORT)).body == "plain"


@contextlib.asynccontextmanager
async def running(member: Member) -> AsyncIterator[Member]:
    """While it answers."""
    await member.start()
    try:
        yield member
    finally:
        await member.stop()
