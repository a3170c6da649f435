"""Certificates, load balancers where TLS ends, and clients that look at what they are shown."""

import asyncio
import datetime
import functools
import ssl
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from evenkeel.haproxyd import wire
from tests.canary import planted_key
from tests.haproxyd.world import VIP_PORT, Member, load_balancer
from tests.key_managers.authority import key_usage

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_DAY = datetime.timedelta(days=1)


@functools.cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def certificate(
    name: str, *names: str, serial: int = 1, key: Key | None = None, ca: bool = False, issuer: str | None = None
) -> str:
    """A certificate for these names, with its key; PEM. ``key``: the planted one unless another is given. ``issuer``:
    PEM of an authority with the same key; without it the certificate is signed by itself."""
    key = key or planted_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer = x509.load_pem_x509_certificate(issuer.encode()).subject if issuer else subject
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(signer, subject, key.public_key(), serial, now - _DAY, now + 30 * _DAY)
    builder = builder.add_extension(x509.SubjectAlternativeName(map(x509.DNSName, (name, *names))), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if ca:
        builder = builder.add_extension(key_usage(key_cert_sign=True, crl_sign=True, digital_signature=True), True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made = builder.sign(key, hashes.SHA256())
    return (made.public_bytes(serialization.Encoding.PEM) + private).decode()


def without_key(pem: str) -> str:
    """The certificate alone, as authorities are given."""
    return pem[: pem.index("-----BEGIN PRIVATE")]


def revocation_list(pem: str, *serials: int, number: int = 1) -> str:
    """Of the authority that :func:`certificate` made with the planted key; PEM."""
    issuer = x509.load_pem_x509_certificate(pem.encode())
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateRevocationListBuilder(issuer.subject, now - _DAY, now + _DAY)
    builder = builder.add_extension(x509.CRLNumber(number), critical=False)
    for serial in serials:
        revoked = x509.RevokedCertificateBuilder(serial, now - _DAY).build()
        builder = builder.add_revoked_certificate(revoked)
    return builder.sign(planted_key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def file(name: str, content: str, sha256: str = "", kind: str = "certificate") -> wire.File:
    return wire.File(name=name, kind=kind, content=content, sha256=sha256 or f"of-{hash(content):x}".replace("-", "n"))


def unsent(one: wire.File) -> wire.File:
    """The same, as it is sent later."""
    return wire.File(name=one.name, kind=one.kind, content="", sha256=one.sha256)


def tls(
    name: str,
    vip: str,
    member: Member,
    *certificates: wire.File,
    revision: int = 1,
    others: Sequence[wire.File] = (),
    arguments: Iterable[str] = (),
    **fields: object,
) -> wire.LoadBalancerConfig:
    """A load balancer with one listener where TLS ends, with these certificates, the default one first."""
    listed = wire.File(name=f"{name}.list", kind="crt_list", content="".join(f"{one.name}\n" for one in certificates))
    made = load_balancer(name, vip, member, revision=revision, files=(*certificates, listed, *others), **fields)
    (frontend,) = made.frontends
    bound = wire.Frontend(
        name=frontend.name,
        binds=frontend.binds,
        bind_arguments=("ssl", "crt-list", listed.name, *arguments),
        lines=frontend.lines,
    )
    return wire.LoadBalancerConfig(
        id=name, revision=revision, frontends=(bound,), backends=made.backends, files=made.files
    )


class TlsClient:
    """One connection. Use as an async context manager."""

    def __init__(self, vip: str, name: str = "", *, context: ssl.SSLContext | None = None) -> None:
        self._vip = vip
        self._name = name
        self._context = context or anything()

    async def __aenter__(self) -> "TlsClient":
        self._reader, self._writer = await asyncio.open_connection(
            self._vip, VIP_PORT, ssl=self._context, server_hostname=self._name or None
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    @property
    def shown(self) -> tuple[str, int]:
        """Name and serial number of what the server showed."""
        found = x509.load_der_x509_certificate(self._writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        (name,) = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(name.value), found.serial_number

    async def get(self) -> str:
        """The body of one answer; the connection is kept."""
        self._writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        return (await self._reader.readexactly(length)).decode()


def anything() -> ssl.SSLContext:
    """Of a client that takes whatever it is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def shown(vip: str, name: str = "", *, context: ssl.SSLContext | None = None) -> tuple[str, int] | None:
    """Name and serial number of the certificate that a new client is shown; None: it is let in nowhere."""
    try:
        async with asyncio.timeout(30), TlsClient(vip, name, context=context) as client:
            await client.get()
            return client.shown
    except TimeoutError:  # an OSError, too
        raise
    except (OSError, asyncio.IncompleteReadError):
        return None
